//! The wire formats, a folder each, and which of them a stream speaks.

use serde::{Deserialize, Deserializer};

use crate::delta::Located;
use crate::error::Malformed;
use crate::sse::Frame;

pub mod anthropic_messages;
pub mod json;
pub mod openai_chat;
pub mod openai_responses;
pub mod progress;

use json::{Str, wire_object};

/// The data of an event that ends a stream; `OpenAI`'s chat has it, and some gateways add it to other formats.
pub const TERMINATOR: &[u8] = b"[DONE]";

/// The deltas of one chunk.
pub type Decoded<'a> = Vec<Located<'a>>;

/// A wire format, spelt the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Chat completions, as `OpenAI` and most others stream them.
    OpenaiChat,
    /// Anthropic's Messages.
    AnthropicMessages,
    /// `OpenAI`'s Responses.
    OpenaiResponses,
}

impl Protocol {
    /// The name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::AnthropicMessages => "anthropic_messages",
            Self::OpenaiResponses => "openai_responses",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::OpenaiChat, Self::AnthropicMessages, Self::OpenaiResponses]
            .into_iter()
            .find(|known| known.name() == name)
    }
}

wire_object! {
    /// As much of a chunk as tells the formats apart.
    Probe {
        "type" => kind: Str<'a>,
        "object" => object: Str<'a>,
        "choices" => choices: serde::de::IgnoredAny,
        "message" => message: serde::de::IgnoredAny,
        "error" => error: serde::de::IgnoredAny,
    }
}

impl Probe<'_> {
    /// The format that only this can be; none while it may be any.
    fn protocol(&self) -> Option<Protocol> {
        let kind = self.kind.as_ref().map_or("", |kind| kind.0.as_ref());
        let object = self.object.as_ref().map_or("", |object| object.0.as_ref());
        match kind {
            _ if self.choices.is_some() || object.starts_with("chat.completion") => Some(Protocol::OpenaiChat),
            _ if kind.starts_with("response.") || object == "response" => Some(Protocol::OpenaiResponses),
            "message_start"
            | "message_delta"
            | "message_stop"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "ping"
            | "message" => Some(Protocol::AnthropicMessages),
            // Both name an error so; only one has a body for it.
            "error" if self.error.is_some() => Some(Protocol::AnthropicMessages),
            "error" if self.message.is_some() => Some(Protocol::OpenaiResponses),
            _ => None,
        }
    }
}

/// Chunks to deltas, in the format that was named or that the first event that can be told shows.
#[derive(Debug)]
pub struct Decoder {
    protocol: Option<Protocol>,
    chat: openai_chat::Decoder,
    messages: anthropic_messages::Decoder,
    responses: openai_responses::Decoder,
}

impl Decoder {
    /// A decoder of the format, or of the one that it finds.
    pub fn new(protocol: Option<Protocol>) -> Self {
        Self {
            protocol,
            chat: openai_chat::Decoder::default(),
            messages: anthropic_messages::Decoder::default(),
            responses: openai_responses::Decoder::default(),
        }
    }

    /// The format, if it was named or found.
    pub fn protocol(&self) -> Option<Protocol> {
        self.protocol
    }

    /// Looks at a chunk, unless the format is known.
    pub fn detect<'a, D: Deserializer<'a>>(&mut self, chunk: D) {
        if self.protocol.is_none() {
            self.protocol = Probe::deserialize(chunk).ok().and_then(|probe| probe.protocol());
        }
    }

    /// Reads a server-sent event.
    pub fn decode_frame<'a>(&mut self, frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if self.protocol.is_none()
            && let Ok(text) = str::from_utf8(frame.data)
        {
            self.detect(&mut serde_json::Deserializer::from_str(text));
        }
        match self.protocol.unwrap_or(Protocol::OpenaiChat) {
            Protocol::OpenaiChat => self.chat.decode_frame(frame, out),
            Protocol::AnthropicMessages => self.messages.decode_frame(frame, out),
            Protocol::OpenaiResponses => self.responses.decode_frame(frame, out),
        }
    }

    /// Reads a chunk from JSON text.
    pub fn decode_json<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        self.detect(&mut serde_json::Deserializer::from_str(text));
        match self.protocol.unwrap_or(Protocol::OpenaiChat) {
            Protocol::OpenaiChat => self.chat.decode_json(text, out),
            Protocol::AnthropicMessages => self.messages.decode_json(text, out),
            Protocol::OpenaiResponses => self.responses.decode_json(text, out),
        }
    }

    /// Reads a chunk from anything that serde can read, such as a Python object.
    pub fn decode_value<'a, D: Deserializer<'a>>(&mut self, value: D, out: &mut Decoded<'a>) -> Result<(), D::Error> {
        match self.protocol.unwrap_or(Protocol::OpenaiChat) {
            Protocol::OpenaiChat => self.chat.decode_value(value, out),
            Protocol::AnthropicMessages => self.messages.decode_value(value, out),
            Protocol::OpenaiResponses => self.responses.decode_value(value, out),
        }
    }
}
