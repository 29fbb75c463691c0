//! The shape of events, items, parts and whole responses, as the vendor documents them and as providers bend them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::wire::json::{Raw, Str, wire_object};
use crate::wire::room::Paid;

wire_object! {
    /// One event of any type. A whole body is read as one, too, as far as it tells that it is one.
    Event {
        "type" => kind: Str<'a>,
        "object" => object: Str<'a>,
        "output_index" => output_index: u32,
        "content_index" => content_index: u32,
        "summary_index" => summary_index: u32,
        "command_index" => command_index: u32,
        "item_id" => item_id: Words<'a>,
        "delta" => delta: Words<'a>,
        "text" => text: Words<'a>,
        "refusal" => refusal: Words<'a>,
        "arguments" => arguments: Words<'a>,
        "input" => input: Words<'a>,
        "code" => code: Words<'a>,
        "command" => command: Words<'a>,
        "diff" => diff: Words<'a>,
        "name" => name: Words<'a>,
        "logprobs" => logprobs: Vec<Raw<'a>>,
        "annotation" => annotation: Raw<'a>,
        "item" => item: Raw<'a>,
        "part" => part: Raw<'a>,
        "response" => response: Box<Response<'a>>,
        "error" => error: Raw<'a>,
        "message" => message: Words<'a>,
        "param" => param: Words<'a>,
    }
    ignored: "sequence_number", "obfuscation"
}

wire_object! {
    /// The response as a whole. What only repeats the request is skipped.
    Response {
        "id" => id: Str<'a>,
        "model" => model: Str<'a>,
        "created_at" => created_at: Raw<'a>,
        "status" => status: Words<'a>,
        "output" => output: Vec<Raw<'a>>,
        "usage" => usage: Raw<'a>,
        "error" => error: Raw<'a>,
        "incomplete_details" => incomplete_details: Raw<'a>,
    }
    ignored: "object", "output_text", "background", "frequency_penalty", "include", "input", "instructions", "max_output_tokens",
        "max_tool_calls", "metadata", "parallel_tool_calls", "presence_penalty", "previous_response_id", "prompt", "prompt_cache_key",
        "prompt_cache_options", "prompt_cache_retention", "reasoning", "safety_identifier", "store", "stream", "stream_options",
        "temperature", "text", "tool_choice", "tools", "top_logprobs", "top_p", "truncation", "user"
}

wire_object! {
    /// One output item, of any type.
    Item {
        "type" => kind: Str<'a>,
        "id" => id: Words<'a>,
        "call_id" => call_id: Words<'a>,
        "name" => name: Words<'a>,
        "role" => role: Words<'a>,
        "status" => status: Words<'a>,
        "arguments" => arguments: Words<'a>,
        "input" => input: Words<'a>,
        "code" => code: Words<'a>,
        "content" => content: Raw<'a>,
        "summary" => summary: Raw<'a>,
        "encrypted_content" => encrypted_content: Words<'a>,
        "action" => action: Raw<'a>,
        "actions" => actions: Raw<'a>,
        "operation" => operation: Raw<'a>,
        "queries" => queries: Raw<'a>,
        "output" => output: Words<'a>,
        "result" => result: Words<'a>,
    }
}

wire_object! {
    /// One part of a message or of reasoning.
    Part {
        "type" => kind: Str<'a>,
        "text" => text: Words<'a>,
        "refusal" => refusal: Words<'a>,
        "annotations" => annotations: Vec<Raw<'a>>,
        "logprobs" => logprobs: Vec<Raw<'a>>,
        "signature" => signature: Words<'a>,
    }
}

wire_object! {
    /// What a call of a shell or an editor is to do, as far as it is streamed as well.
    Operation {
        "commands" => commands: Vec<Str<'a>>,
        "diff" => diff: Str<'a>,
    }
}

wire_object! {
    /// Why a response is incomplete.
    Incomplete {
        "reason" => reason: Str<'a>,
    }
}

/// A string by the book. Anything else is kept as JSON.
#[derive(Debug)]
pub(crate) enum Words<'a> {
    Text(Cow<'a, str>),
    Json(String),
}

impl<'a> Words<'a> {
    /// The string, or the JSON.
    pub(crate) fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => text,
            Self::Json(json) => Cow::Owned(json),
        }
    }

    /// The string; none if it is something else.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json(_) => None,
        }
    }
}

/// The string of a field; empty if there is none.
pub(crate) fn text_of<'s>(field: Option<&'s Words<'_>>) -> &'s str {
    field.and_then(Words::as_str).unwrap_or_default()
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Words::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Words::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Words::Json(value.to_string()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Words::Json(value.to_string()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Words::Json(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Words::Json(serde_json::Value::from(value).to_string()))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, elements: S) -> Result<Self::Value, S::Error> {
        let value = Paid::deserialize(de::value::SeqAccessDeserializer::new(elements))?.0;
        Ok(Words::Json(value.to_string()))
    }

    fn visit_map<M: MapAccess<'de>>(self, members: M) -> Result<Self::Value, M::Error> {
        let value = Paid::deserialize(de::value::MapAccessDeserializer::new(members))?.0;
        Ok(Words::Json(value.to_string()))
    }
}
