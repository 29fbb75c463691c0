//! The wire formats, a folder each, and which of them a stream speaks.

use crate::delta::Located;
use crate::error::Malformed;
use crate::sse::Frame;

pub mod anthropic_messages;
pub(crate) mod encode;
pub(crate) mod ids;
pub mod json;
pub mod openai_chat;
pub mod openai_responses;
pub(crate) mod output;
pub mod plain;
pub mod progress;
pub(crate) mod room;
pub(crate) mod strict;
mod template;
pub(crate) mod text;

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
    /// No wire format: text alone. It is never found, only named.
    Text,
}

impl Protocol {
    /// The name, as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai_chat",
            Self::AnthropicMessages => "anthropic_messages",
            Self::OpenaiResponses => "openai_responses",
            Self::Text => "text",
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::OpenaiChat, Self::AnthropicMessages, Self::OpenaiResponses, Self::Text]
            .into_iter()
            .find(|known| known.name() == name)
    }
}

/// A format that answers can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Chat completions.
    OpenaiChat,
    /// Anthropic's Messages.
    AnthropicMessages,
    /// `OpenAI`'s Responses.
    OpenaiResponses,
}

impl Target {
    /// The format, as one that is read.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::OpenaiChat => Protocol::OpenaiChat,
            Self::AnthropicMessages => Protocol::AnthropicMessages,
            Self::OpenaiResponses => Protocol::OpenaiResponses,
        }
    }

    /// The format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::OpenaiChat, Self::AnthropicMessages, Self::OpenaiResponses];
        all.into_iter().find(|known| known.protocol().name() == name)
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
        let by_type = protocol_of_type(kind);
        match kind {
            _ if by_type.is_some() => by_type,
            _ if self.choices.is_some() || object.starts_with("chat.completion") => Some(Protocol::OpenaiChat),
            _ if object == "response" => Some(Protocol::OpenaiResponses),
            "ping" | "message" => Some(Protocol::AnthropicMessages),
            // Both name an error so; only one has a body for it.
            "error" if self.error.is_some() => Some(Protocol::AnthropicMessages),
            "error" if self.message.is_some() => Some(Protocol::OpenaiResponses),
            _ => None,
        }
    }
}

/// The format that alone has this type of events; none if several have it, or none has.
fn protocol_of_type(kind: &str) -> Option<Protocol> {
    match kind {
        "message_start" | "message_delta" | "message_stop" => Some(Protocol::AnthropicMessages),
        _ if kind.starts_with("content_block_") => Some(Protocol::AnthropicMessages),
        _ if kind.starts_with("response.") => Some(Protocol::OpenaiResponses),
        _ => None,
    }
}

/// The type of an event that says it before anything else, as nearly all do.
fn leading_type(event: &str) -> Option<&str> {
    let rest = event.strip_prefix("{\"type\":")?.trim_start().strip_prefix('"')?;
    rest.split_once('"').map(|(kind, _)| kind)
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

    /// Whether it is known which response this is, so that a chunk need not say so again.
    pub fn is_identified(&self) -> bool {
        match self.protocol {
            Some(Protocol::OpenaiChat) => self.chat.is_identified(),
            // Here each event says something of its own.
            Some(Protocol::AnthropicMessages | Protocol::OpenaiResponses | Protocol::Text) | None => false,
        }
    }

    /// Looks at a chunk, unless the format is known.
    fn detect(&mut self, chunk: &str) {
        if self.protocol.is_none() {
            let probed = || serde_json::from_str::<Probe<'_>>(chunk).ok().and_then(|probe| probe.protocol());
            self.protocol = leading_type(chunk).and_then(protocol_of_type).or_else(probed);
        }
    }

    /// Reads a server-sent event.
    pub fn decode_frame<'a>(&mut self, frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if self.protocol.is_none()
            && let Ok(text) = str::from_utf8(frame.data)
        {
            self.detect(text);
        }
        room::within(frame.data.len(), || match self.protocol.unwrap_or(Protocol::OpenaiChat) {
            Protocol::OpenaiChat => self.chat.decode_frame(frame, out),
            Protocol::AnthropicMessages => self.messages.decode_frame(frame, out),
            Protocol::OpenaiResponses => self.responses.decode_frame(frame, out),
            Protocol::Text => {
                text::decode(str::from_utf8(frame.data).map_err(|_| Malformed::InvalidUtf8)?, out);
                Ok(())
            }
        })
    }

    /// Reads a chunk from JSON text, or text that is nothing more.
    pub fn decode_json<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        self.detect(text);
        room::within(text.len(), || match self.protocol.unwrap_or(Protocol::OpenaiChat) {
            Protocol::OpenaiChat => self.chat.decode_json(text, out),
            Protocol::AnthropicMessages => self.messages.decode_json(text, out),
            Protocol::OpenaiResponses => self.responses.decode_json(text, out),
            Protocol::Text => {
                text::decode(text, out);
                Ok(())
            }
        })
    }

    /// Reads a chunk that the caller has as an object, written as JSON.
    pub fn decode_object<'a>(&mut self, json: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        match self.protocol {
            Some(Protocol::Text) => Err(Malformed::WrongShape("an object, expected text".to_owned())),
            Some(Protocol::OpenaiChat | Protocol::AnthropicMessages | Protocol::OpenaiResponses) | None => {
                self.decode_json(json, out)
            }
        }
    }
}
