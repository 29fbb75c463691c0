//! The blocks of one choice, in the order in which they leave.

use std::collections::VecDeque;

use super::gate::Judged;
use super::{OnInterrupt, OutletOptions, TextOrder, is_text};
use crate::event::{BlockKind, Part};
use crate::wire::encode::{Closing, OutBlock, Reason, Way, is_nothing};
use crate::wire::progress::JsonProgress;

/// What a note weighs besides its text: many of them may say next to nothing.
pub(super) const NOTE_BYTES: usize = 64;

/// One choice.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) choice: u32,
    pub(super) queue: VecDeque<Entry>,
    pub(super) is_finished: bool,
    /// Why it has finished, until that is written.
    pub(super) finish: Option<Reason>,
}

impl Lane {
    /// The chunk is over; true if any block began in it.
    pub(super) fn end_chunk(&mut self) -> bool {
        let mut has_new = false;
        for entry in &mut self.queue {
            has_new |= !std::mem::replace(&mut entry.has_begun, true);
        }
        has_new
    }

    /// Adds a block where it will leave.
    pub(super) fn add(&mut self, entry: Entry, order: TextOrder) {
        let waits = |other: &Entry| other.is_for_client() && !other.is_open;
        let goes_first = order == TextOrder::BeforeCalls && !entry.is_for_client();
        match self.queue.iter().position(waits).filter(|_| goes_first) {
            Some(position) => self.queue.insert(position, entry),
            None => self.queue.push_back(entry),
        }
    }
}

/// A block that has not been written to its end.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) block: OutBlock,
    pub(super) way: Way,
    /// Whether its beginning was written.
    pub(super) is_open: bool,
    /// Whether the chunk is over in which it began.
    pub(super) has_begun: bool,
    /// Whether the policy has given back all of its text.
    pub(super) is_released: bool,
    /// How much of one JSON value the arguments are, and what they begin with.
    progress: JsonProgress,
    first: Option<u8>,
    pub(super) judged: Judged,
}

impl Entry {
    pub(super) fn new(block: OutBlock, way: Way) -> Self {
        Self {
            block,
            way,
            is_open: false,
            has_begun: false,
            is_released: false,
            progress: JsonProgress::default(),
            first: None,
            judged: Judged::NotAsked,
        }
    }

    /// Looks at what comes, whether it is kept or written at once.
    pub(super) fn see(&mut self, part: Part, text: &str) {
        if part == Part::Arguments {
            self.progress.push(text);
            self.first = self.first.or_else(|| text.bytes().find(|byte| !byte.is_ascii_whitespace()));
        }
    }

    /// Keeps what cannot be written yet.
    pub(super) fn keep(&mut self, part: Part, text: &str) {
        let block = &mut self.block;
        match part {
            Part::Text | Part::Arguments => block.text.push_str(text),
            Part::Name => block.name.push_str(text),
            Part::Signature => block.signature.push_str(text),
            Part::Data => block.data.push_str(text),
            Part::Raw => block.raw.push(text.to_owned()),
        }
    }

    /// What was kept and can be written, now that its beginning is: it is not kept any longer, but for what tells what the block is.
    pub(super) fn kept(&mut self) -> Vec<(Part, String)> {
        if self.way != Way::Live {
            return Vec::new();
        }
        let is_call = self.block.kind.is_call();
        let body = if is_call { Part::Arguments } else { Part::Text };
        let says_anything = !is_call || self.says_anything();
        let block = &mut self.block;
        let is_sealed = block.is_sealed();
        let text = Some(std::mem::take(&mut block.text)).filter(|text| says_anything && !text.is_empty());
        let signature = Some(std::mem::take(&mut block.signature)).filter(|text| !text.is_empty());
        let data = if is_sealed { block.data.clone() } else { std::mem::take(&mut block.data) };
        let data = Some(data).filter(|text| !text.is_empty());
        let parts = [(body, text), (Part::Signature, signature), (Part::Data, data)];
        let raw = std::mem::take(&mut block.raw).into_iter().map(|json| (Part::Raw, json));
        parts.into_iter().filter_map(|(part, text)| Some((part, text?))).chain(raw).collect()
    }

    /// How many bytes it keeps.
    pub(super) fn weight(&self) -> usize {
        let OutBlock { id, name, text, signature, data, raw, notes, .. } = &self.block;
        let texts = [id, name, text, signature, data].into_iter().map(String::len).sum::<usize>();
        let notes = notes.iter().map(|(name, json)| name.len() + json.len() + NOTE_BYTES).sum::<usize>();
        texts + notes + raw.iter().map(String::len).sum::<usize>()
    }

    /// Looks at the arguments again, which are others.
    pub(super) fn restart(&mut self) {
        self.progress = JsonProgress::of(&self.block.text);
        self.first = self.block.text.bytes().find(|byte| !byte.is_ascii_whitespace());
    }

    /// Whether it is a call that the client answers. One that the provider answers stands with its result.
    pub(super) fn is_for_client(&self) -> bool {
        match self.block.kind {
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall => true,
            BlockKind::ServerCall
            | BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::ToolResult
            | BlockKind::Refusal
            | BlockKind::Unknown => false,
        }
    }

    /// Whether its text is for the policy to see first.
    pub(super) fn asks_text(&self, part: Part) -> bool {
        part == Part::Text && is_text(self.block.kind)
    }

    /// Whether arguments say anything: nothing and null do not.
    pub(super) fn says_anything(&self) -> bool {
        self.block.kind == BlockKind::CustomCall || !is_nothing(&self.block.text)
    }

    /// Whether nothing can follow. In chat a call goes on in turns with others, until it is whole or its choice has finished. Free text is
    /// never known to be whole, which matters to whoever judges it.
    pub(super) fn is_closable(&self, is_chat: bool, is_finished: bool, is_judged: bool) -> bool {
        let kind = self.block.kind;
        if is_finished {
            return true;
        }
        let may_go_on = match kind {
            BlockKind::FunctionCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                !self.progress.is_whole() || (is_judged && self.block.name.is_empty())
            }
            BlockKind::CustomCall => is_judged,
            BlockKind::Text | BlockKind::Thinking | BlockKind::ToolResult | BlockKind::Refusal | BlockKind::Unknown => {
                false
            }
        };
        self.block.is_complete && !(is_chat && may_go_on)
    }

    /// Whether its beginning can be written before it is complete.
    pub(super) fn may_open(&self, options: &OutletOptions) -> bool {
        if self.way != Way::Live {
            return false;
        }
        if !self.block.kind.is_call() {
            // Reasoning that begins with sealed data may still be given a text: which of the two it is must be known.
            return !self.block.text.is_empty() || (self.has_begun && self.block.data.is_empty());
        }
        let is_live = options.on_interrupt == OnInterrupt::Error
            && options.gate.is_none()
            && options.text_order == TextOrder::AsItCame;
        // A name may come in pieces until the arguments begin. Only of an object is it known that it is one. What else the beginning must say
        // may stand behind the arguments, as far as its chunk goes.
        let has_arguments = match self.block.kind {
            BlockKind::CustomCall => !self.block.text.is_empty(),
            BlockKind::FunctionCall
            | BlockKind::BuiltinCall
            | BlockKind::ServerCall
            | BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::ToolResult
            | BlockKind::Refusal
            | BlockKind::Unknown => self.first == Some(b'{'),
        };
        is_live && self.has_begun && has_arguments && !self.block.name.is_empty()
    }

    /// What it is when it ends where it is now.
    pub(super) fn closing(&self) -> Closing {
        if self.is_sound() { Closing::Whole } else { Closing::Partial }
    }

    /// Whether a call has one JSON object or nothing; anything else is sound.
    pub(super) fn is_sound(&self) -> bool {
        match self.block.kind {
            BlockKind::FunctionCall | BlockKind::BuiltinCall | BlockKind::ServerCall => match self.first {
                None => true,
                Some(b'{') => self.progress.is_whole(),
                // Null is no object, but says the same as one without members.
                Some(first) => first == b'n' && self.progress.is_whole(),
            },
            BlockKind::CustomCall
            | BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::ToolResult
            | BlockKind::Refusal
            | BlockKind::Unknown => true,
        }
    }
}
