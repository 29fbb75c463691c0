//! The wire formats, a folder each.

pub mod json;
pub mod openai_chat;

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
