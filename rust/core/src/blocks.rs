//! Events to blocks: what every block has so far.

use crate::event::{BlockKind, Event, Part, Sink};
use crate::wire::progress::JsonProgress;

/// How much memory a text begins with: most have more than a word, and each doubling would copy them.
const FIRST_BYTES: usize = 128;

/// One block and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// Its id.
    pub id: String,
    /// The tool's name, or the wire's name for an unknown kind.
    pub name: String,
    /// The call that a result is for.
    pub call_id: String,
    /// The choice that it belongs to.
    pub choice: u32,
    /// Its ordinal among the calls of its choice.
    pub call: usize,
    /// Its text, or the arguments of a call.
    pub text: String,
    /// The signature over a thinking block.
    pub signature: String,
    /// Encrypted or redacted reasoning.
    pub data: String,
    /// The JSON values of an unknown block.
    pub raw: Vec<String>,
    /// What came with it and has no field of its own: name and JSON value, in order.
    pub notes: Vec<(String, String)>,
    /// Whether the stream has gone on or has finished.
    pub is_complete: bool,
    /// How long the text was before the last chunk.
    settled: usize,
    /// In which chunk it grew last.
    chunk: u64,
}

impl Block {
    /// Whether the arguments of a call are whole: one JSON value, or nothing at all once the block is complete.
    pub fn is_whole(&self) -> bool {
        match self.kind {
            BlockKind::FunctionCall if !self.text.is_empty() => JsonProgress::of(&self.text).is_whole(),
            BlockKind::FunctionCall
            | BlockKind::CustomCall
            | BlockKind::BuiltinCall
            | BlockKind::ServerCall
            | BlockKind::ToolResult
            | BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::Refusal
            | BlockKind::Unknown => self.is_complete,
        }
    }
}

/// The blocks of one stream.
#[derive(Debug, Default)]
pub struct Blocks {
    all: Vec<Block>,
    chunk: u64,
}

impl Blocks {
    /// One block, by its number.
    pub fn get(&self, block: usize) -> Option<&Block> {
        self.all.get(block)
    }

    /// All blocks, in the order in which they started.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.all.iter()
    }

    /// A chunk begins: what blocks grow by from here on is its delta.
    pub fn begin_chunk(&mut self) {
        self.chunk += 1;
    }

    /// What the last chunk added to a block's text or arguments.
    pub fn delta(&self, block: usize) -> &str {
        match self.all.get(block) {
            Some(block) if block.chunk == self.chunk => block.text.get(block.settled..).unwrap_or_default(),
            Some(_) | None => "",
        }
    }

    fn grow(&mut self, block: usize, part: Part, text: &str) {
        let chunk = self.chunk;
        let Some(block) = self.all.get_mut(block) else { return };
        match part {
            Part::Text | Part::Arguments => {
                if block.chunk != chunk {
                    block.settled = block.text.len();
                    block.chunk = chunk;
                }
                if block.text.is_empty() {
                    block.text.reserve(text.len().max(FIRST_BYTES));
                }
                block.text.push_str(text);
            }
            Part::Name => block.name.push_str(text),
            Part::Signature => block.signature.push_str(text),
            Part::Data => block.data.push_str(text),
            Part::Raw => block.raw.push(text.to_owned()),
        }
    }
}

impl Sink for Blocks {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::BlockStarted { block: _, kind, id, name, call_id, choice, call } => self.all.push(Block {
                kind,
                id: id.to_owned(),
                name: name.to_owned(),
                call_id: call_id.to_owned(),
                choice,
                call,
                text: String::new(),
                signature: String::new(),
                data: String::new(),
                raw: Vec::new(),
                notes: Vec::new(),
                is_complete: false,
                settled: 0,
                chunk: self.chunk,
            }),
            Event::BlockGrew { block, part, text } => self.grow(block, part, text),
            Event::BlockNoted { block, name, json } => {
                if let Some(block) = self.all.get_mut(block) {
                    block.notes.push((name.to_owned(), json.to_owned()));
                }
            }
            Event::BlockReopened { block } => {
                if let Some(block) = self.all.get_mut(block) {
                    block.is_complete = false;
                }
            }
            Event::BlockCompleted { block } => {
                if let Some(block) = self.all.get_mut(block) {
                    block.is_complete = true;
                }
            }
            Event::ResponseNoted { .. }
            | Event::ChoiceFinished { .. }
            | Event::UsageReported { .. }
            | Event::ErrorReported { .. }
            | Event::QuirkSeen(_)
            | Event::StreamEnded { .. } => {}
        }
    }
}
