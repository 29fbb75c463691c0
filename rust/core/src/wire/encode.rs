//! Blocks to the wire: what the encoders of all formats share.
//!
//! Rules. (1) An encoder hears of one block at a time for each choice: opened, grown, closed. Who goes first is not its concern. (2) What it
//! writes comes from the block model alone. (3) It never takes anything back: what must not be seen is not told to it.

use super::output::Output;
use super::{Protocol, Target, anthropic_messages, openai_chat, openai_responses};
use crate::event::{BlockKind, Part};
use crate::failure::Failure;
use crate::usage::Usage;

/// What is known of an answer besides its blocks.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) source: Option<Protocol>,
    pub(crate) target: Target,
    /// The id that the source gave, or else the caller's.
    pub(crate) id: String,
    pub(crate) has_id: bool,
    /// The model that the caller wants to be named, or else the source's.
    pub(crate) model: String,
    /// When it was made, in seconds.
    pub(crate) created: u64,
    pub(crate) usage: Usage,
    /// What came with it and only its own format has words for.
    pub(crate) notes: Vec<(String, String)>,
}

impl Answer {
    /// Whether the source speaks the target's format, so that what only this format has can be written.
    pub(crate) fn is_native(&self) -> bool {
        self.source == Some(self.target.protocol())
    }

    /// The id as the target's answers have it.
    pub(crate) fn written_id(&self, prefix: &str) -> String {
        if self.is_native() && self.has_id { self.id.clone() } else { format!("{prefix}{}", self.stem()) }
    }

    /// The id without what its format puts before it.
    pub(crate) fn stem(&self) -> &str {
        let prefixes = ["chatcmpl-", "msg_", "resp_"];
        prefixes.iter().find_map(|prefix| self.id.strip_prefix(prefix)).unwrap_or(&self.id)
    }

    /// A note, if there is one and the format is the same.
    pub(crate) fn note(&self, name: &str) -> Option<&str> {
        let found = self.notes.iter().find(|(known, _)| known == name);
        found.filter(|_| self.is_native()).map(|(_, json)| json.as_str())
    }
}

/// A block as it is written: what is known of it, and what has not been written yet.
#[derive(Debug)]
pub(crate) struct OutBlock {
    pub(crate) number: usize,
    pub(crate) kind: BlockKind,
    pub(crate) choice: u32,
    /// Its number among the calls of its choice.
    pub(crate) call: usize,
    /// The id of a call, as the target has it.
    pub(crate) id: String,
    /// A tool's name, or the wire's name for the block.
    pub(crate) name: String,
    /// The call that a result is for.
    pub(crate) call_id: String,
    /// Text or arguments.
    pub(crate) text: String,
    pub(crate) signature: String,
    pub(crate) data: String,
    pub(crate) raw: Vec<String>,
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) is_complete: bool,
}

impl OutBlock {
    /// A block of that kind that has nothing yet.
    pub(crate) fn new(kind: BlockKind) -> Self {
        Self {
            number: 0,
            kind,
            choice: 0,
            call: 0,
            id: String::new(),
            name: String::new(),
            call_id: String::new(),
            text: String::new(),
            signature: String::new(),
            data: String::new(),
            raw: Vec::new(),
            notes: Vec::new(),
            is_complete: false,
        }
    }

    /// The first note of that name.
    pub(crate) fn note(&self, name: &str) -> Option<&str> {
        self.notes.iter().find(|(known, _)| known == name).map(|(_, json)| json.as_str())
    }

    /// Whether it is reasoning that only the provider can read.
    pub(crate) fn is_sealed(&self) -> bool {
        let says_anything = !(self.text.is_empty() && self.signature.is_empty());
        self.kind == BlockKind::Thinking && !says_anything && !self.data.is_empty()
    }
}

/// How a format takes a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As it grows.
    Live,
    /// Only when all of it is there.
    Whole,
    /// Not at all; the name of the loss.
    Never(&'static str),
}

/// Why a choice has finished.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    /// In the one vocabulary.
    pub(crate) word: String,
    /// The wire's own word.
    pub(crate) native: String,
}

/// What a block was when it was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// All of it is there; of a call, one JSON object or nothing.
    Whole,
    /// The model stopped before the end of a call, or wrote something that is not JSON.
    Partial,
    /// The stream stopped.
    Cut,
}

/// What every format's writer does.
pub(crate) trait Encode {
    /// How the format takes such a block.
    fn way(&self, kind: BlockKind, name: &str, is_native: bool) -> Way;
    /// What is lost of such a block though all of its text is written: the format has no block of that sort.
    fn changes(&self, _kind: BlockKind) -> Option<&'static str> {
        None
    }
    /// The answer begins, if it has not: says that a choice is there.
    fn begin(&mut self, choice: u32, answer: &Answer, out: &mut Output);
    /// A block begins. What it has is told by `grow` and `note`, but for what its beginning must say.
    fn open(&mut self, block: &OutBlock, answer: &Answer, out: &mut Output);
    /// A part of the open block grows.
    fn grow(&mut self, block: &OutBlock, part: Part, text: &str, out: &mut Output);
    /// The open block is given something that only the source's format has words for; false if nothing can be written of it.
    fn note(&mut self, block: &OutBlock, name: &str, json: &str, out: &mut Output) -> bool;
    /// The same, for a block that has ended.
    fn note_closed(&mut self, _block: usize, _name: &str, _json: &str) -> bool {
        false
    }
    /// Why the format cannot take a block that ends so, if it cannot. Asked before anything of the block's end is written.
    fn refuses(&self, _block: &OutBlock, _closing: Closing) -> Option<Failure> {
        None
    }
    /// The open block ends.
    fn close(&mut self, block: &OutBlock, closing: Closing, answer: &Answer, out: &mut Output) -> Result<(), Failure>;
    /// A choice has finished.
    fn finish(&mut self, choice: u32, reason: &Reason, answer: &Answer, out: &mut Output) -> Result<(), Failure>;
    /// The answer ends as it should.
    fn end(&mut self, answer: &Answer, out: &mut Output) -> Result<(), Failure>;
    /// The answer ends with an error.
    fn fail(&mut self, failure: &Failure, answer: &Answer, out: &mut Output);
    /// The answer ends as if it had been cut by a limit, for clients that take no error.
    fn cut(&mut self, failure: &Failure, answer: &Answer, out: &mut Output);
    /// A sign of life.
    fn ping(&mut self, out: &mut Output);
}

/// The writer of one format.
#[derive(Debug)]
pub(crate) enum Encoder {
    Chat(openai_chat::Encoder),
    Messages(anthropic_messages::Encoder),
    Responses(Box<openai_responses::Encoder>),
}

impl Encoder {
    pub(crate) fn new(target: Target) -> Self {
        match target {
            Target::OpenaiChat => Self::Chat(openai_chat::Encoder::default()),
            Target::AnthropicMessages => Self::Messages(anthropic_messages::Encoder::default()),
            Target::OpenaiResponses => Self::Responses(Box::default()),
        }
    }

    pub(crate) fn format(&mut self) -> &mut dyn Encode {
        match self {
            Self::Chat(encoder) => encoder,
            Self::Messages(encoder) => encoder,
            Self::Responses(encoder) => encoder.as_mut(),
        }
    }
}

/// What the loss of a block is called that is kept raw, by the wire's name for it.
pub(crate) fn loss_of_raw(name: &str) -> &'static str {
    match name {
        "audio" => "audio",
        "image" => "image",
        _ => "unknown",
    }
}

/// Arguments as every target takes them: nothing and null are an object without members.
pub(crate) fn is_nothing(arguments: &str) -> bool {
    matches!(arguments.trim_ascii(), "" | "null")
}
