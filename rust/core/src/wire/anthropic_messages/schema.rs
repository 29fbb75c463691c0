//! The shape of an event, as the vendor documents it.
//!
//! What comes once per token is typed; what comes once per block or message is kept as JSON text until it is known what it is.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error as _};

use crate::error::Malformed;
use crate::wire::json::{Fields, Raw, RawObject, Str, wire_object};
use crate::wire::output::push_string;

wire_object! {
    /// One event, of any type, or a whole body.
    Event {
        "type" => kind: Str<'a>,
        "index" => index: u64,
        "delta" => delta: Box<Delta<'a>>,
        "content_block" => content_block: Box<Block<'a>>,
        "message" => message: Box<Message<'a>>,
        "usage" => usage: Fields<'a>,
        "error" => error: Raw<'a>,
    }
}

wire_object! {
    /// What a `content_block_delta` adds to its block, or a `message_delta` to the message.
    Delta {
        "type" => kind: Str<'a>,
        "text" => text: Str<'a>,
        "partial_json" => partial_json: Str<'a>,
        "thinking" => thinking: Str<'a>,
        "signature" => signature: Str<'a>,
        "citation" => citation: Raw<'a>,
        "stop_reason" => stop_reason: Str<'a>,
    }
}

wire_object! {
    /// A message: what a stream starts with, and what a body is.
    Message {
        "id" => id: Str<'a>,
        "model" => model: Str<'a>,
        "role" => role: Str<'a>,
        "content" => content: Vec<RawObject<'a>>,
        "stop_reason" => stop_reason: Str<'a>,
        "usage" => usage: Fields<'a>,
    }
    ignored: "type"
}

wire_object! {
    /// A block, as it starts or as it stands in a body: its type, and its fields by name.
    Block {
        "type" => kind: Str<'a>,
    }
}

wire_object! {
    /// The start of a block that is kept as it came.
    RawStart {
        "content_block" => content_block: RawObject<'a>,
    }
}

wire_object! {
    /// A part of a tool's result that is text. Another one cannot be read as this.
    TextPart {
        "type" => kind: TextKind,
        "text" => text: Str<'a>,
    }
}

/// The type of a text part. Any other is an error at once: what follows it may be long.
#[derive(Debug)]
pub(super) struct TextKind;

impl<'de> Deserialize<'de> for TextKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Str(kind) = Str::deserialize(deserializer)?;
        if kind == "text" { Ok(Self) } else { Err(D::Error::custom("expected the type text")) }
    }
}

impl<'a> Block<'a> {
    /// Takes a field out: what is left in the end has no meaning of its own.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, Malformed> {
        let Some(at) = self.extras.iter().position(|(known, _)| known == name) else { return Ok(None) };
        let (_, json) = self.extras.remove(at);
        if self.extras.iter().any(|(known, _)| known == name) {
            // Readers differ in which of the two they take.
            return Err(Malformed::WrongShape(format!("duplicate field `{name}`")));
        }
        Ok(Some(json))
    }

    /// Takes a string out; an empty one says as little as an absent one.
    pub(super) fn take_text(&mut self, name: &str) -> Result<Option<Cow<'a, str>>, Malformed> {
        let text = match self.take(name)? {
            Some(Cow::Borrowed(json)) => serde_json::from_str::<Str<'a>>(json)?.0,
            Some(Cow::Owned(json)) => Cow::Owned(serde_json::from_str::<Str<'_>>(&json)?.0.into_owned()),
            None => return Ok(None),
        };
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
}

impl Delta<'_> {
    /// The delta as JSON again, for types that have no meaning here.
    pub(super) fn to_json(&self) -> String {
        let mut object = Object::default();
        object.text("type", self.kind.as_ref());
        object.text("text", self.text.as_ref());
        object.text("partial_json", self.partial_json.as_ref());
        object.text("thinking", self.thinking.as_ref());
        object.text("signature", self.signature.as_ref());
        object.json("citation", self.citation.as_ref().map(|citation| citation.0));
        object.text("stop_reason", self.stop_reason.as_ref());
        object.finish(&self.extras)
    }
}

/// A JSON object that is being written. Its names may be the peer's own.
#[derive(Default)]
struct Object(String);

impl Object {
    fn name(&mut self, name: &str) -> &mut String {
        if !self.0.is_empty() {
            self.0.push(',');
        }
        push_string(&mut self.0, name);
        self.0.push(':');
        &mut self.0
    }

    fn json(&mut self, name: &str, json: Option<&str>) {
        if let Some(json) = json {
            self.name(name).push_str(json);
        }
    }

    fn text(&mut self, name: &str, text: Option<&Str<'_>>) {
        if let Some(Str(text)) = text {
            push_string(self.name(name), text);
        }
    }

    fn finish(mut self, extras: &[(Cow<'_, str>, Cow<'_, str>)]) -> String {
        for (name, json) in extras {
            self.json(name, Some(json));
        }
        format!("{{{}}}", self.0)
    }
}
