//! The shape of a chat chunk, as vendors document it and as providers bend it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::wire::json::{Raw, RawObject, Str, wire_object};
use crate::wire::room::Paid;

wire_object! {
    /// One chunk.
    Chunk {
        "id" => id: Str<'a>,
        "object" => object: Raw<'a>,
        "created" => created: Raw<'a>,
        "model" => model: Str<'a>,
        "choices" => choices: Vec<Choice<'a>>,
        "usage" => usage: RawObject<'a>,
        "error" => error: Raw<'a>,
        "x_groq" => x_groq: Raw<'a>,
    }
    ignored: "obfuscation"
}

wire_object! {
    /// An error that comes by itself.
    Failure {
        "error" => error: Raw<'a>,
    }
}

wire_object! {
    /// Where one provider puts the usage.
    Groq {
        "usage" => usage: RawObject<'a>,
    }
}

wire_object! {
    /// One of the answers side by side.
    Choice {
        "index" => index: u32,
        "delta" => delta: Box<Delta<'a>>,
        "finish_reason" => finish_reason: Str<'a>,
        "logprobs" => logprobs: Raw<'a>,
        "message" => message: Raw<'a>,
        "text" => text: Raw<'a>,
    }
    ignored: "obfuscation"
}

wire_object! {
    /// What a chunk adds to a choice.
    Delta {
        "role" => role: Str<'a>,
        "content" => content: Content<'a>,
        "refusal" => refusal: Str<'a>,
        "reasoning_content" => reasoning_content: Str<'a>,
        "reasoning" => reasoning: Str<'a>,
        "reasoning_details" => reasoning_details: Vec<ReasoningDetail<'a>>,
        "thinking_blocks" => thinking_blocks: Vec<ThinkingBlock<'a>>,
        "tool_calls" => tool_calls: Vec<ToolCall<'a>>,
        "function_call" => function_call: Function<'a>,
        "audio" => audio: Raw<'a>,
        "images" => images: Vec<Raw<'a>>,
        "annotations" => annotations: Vec<Raw<'a>>,
    }
    ignored: "obfuscation"
}

wire_object! {
    /// A piece of a tool call.
    ToolCall {
        "index" => index: u64,
        "id" => id: Str<'a>,
        "type" => kind: Str<'a>,
        "function" => function: Function<'a>,
        "custom" => custom: Custom<'a>,
    }
    ignored: "obfuscation"
}

wire_object! {
    /// The function of a tool call, or the legacy `function_call`.
    Function {
        "name" => name: Str<'a>,
        "arguments" => arguments: Arguments<'a>,
    }
    ignored: "obfuscation"
}

wire_object! {
    /// The custom tool of a tool call.
    Custom {
        "name" => name: Str<'a>,
        "input" => input: Str<'a>,
    }
}

wire_object! {
    /// One element of `reasoning_details`.
    ReasoningDetail {
        "type" => kind: Str<'a>,
        "text" => text: Str<'a>,
        "summary" => summary: Str<'a>,
        "signature" => signature: Str<'a>,
        "data" => data: Str<'a>,
    }
}

wire_object! {
    /// One element of `thinking_blocks`.
    ThinkingBlock {
        "thinking" => thinking: Str<'a>,
        "signature" => signature: Str<'a>,
        "data" => data: Str<'a>,
    }
}

wire_object! {
    /// One element of `content`, where that is a list.
    ContentPart {
        "type" => kind: Str<'a>,
        "text" => text: Str<'a>,
        "thinking" => thinking: Content<'a>,
        "refusal" => refusal: Str<'a>,
    }
}

impl Delta<'_> {
    /// Whether any field of reasoning is there.
    pub(crate) fn has_thinking(&self) -> bool {
        self.thinking_blocks.is_some()
            || self.reasoning_details.is_some()
            || self.reasoning_content.is_some()
            || self.reasoning.is_some()
    }
}

/// Text, or a list of parts, which are few and kept raw until somebody reads them.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Raw<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of parts")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut parts: S) -> Result<Self::Value, S::Error> {
        let mut all = Vec::new();
        while let Some(part) = parts.next_element()? {
            all.push(part);
        }
        Ok(Content::Parts(all))
    }
}

/// Arguments: a string by the book, but some send the object itself.
#[derive(Debug)]
pub(crate) enum Arguments<'a> {
    Text(Cow<'a, str>),
    Json(String),
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or an object")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Arguments::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Arguments::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        let value = Paid::deserialize(de::value::MapAccessDeserializer::new(map))?.0;
        Ok(Arguments::Json(value.to_string()))
    }
}

/// The text of a field, unless it is empty, which says as little as an absent one.
pub(crate) fn given(field: Option<Str<'_>>) -> Option<Cow<'_, str>> {
    field.map(|text| text.0).filter(|text| !text.is_empty())
}
