//! Deltas to events: the life of every block.
//!
//! Rules. (1) Every transition is in this folder: what all blocks share here, blocks that the wire does not number in `grow`, those that
//! it does in `numbered`. (2) Each choice has at most one open block, its *current* one; a delta for another
//! block of the choice completes it. So a delta completes at most one block. (3) A delta for a complete block reopens it, and it
//! completes again. (4) After the finish of its choice nothing starts or grows. (5) This folder knows no provider, and keeps no text but
//! ids and names: what grows is handed on.

use std::borrow::Cow;

use crate::delta::Delta;
use crate::error::ErrorKind;
use crate::event::{BlockKind, Event, Part, Quirk, Sink};
use crate::limits::Limits;
use crate::wire::ids::numbered;

mod choice;
mod foresight;
mod grow;
mod notes;
mod numbered;
mod slots;

use choice::{Choice, Noted, Thinking};
use slots::Slots;

/// What the ids begin with that are made for calls.
const MADE: &str = "tc";

/// What became of a delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It counts.
    Taken,
    /// It was left out: what said it is to be left out of the chunk as well.
    Dropped,
}

/// All blocks of one stream, as far as their order and state go.
#[derive(Debug)]
pub struct BlockMachine {
    limits: Limits,
    choices: Vec<Choice>,
    blocks: Vec<BlockKind>,
    /// Which of them are open.
    open: Vec<bool>,
    /// The block that a delta was for last.
    touched: Option<usize>,
    calls: usize,
    /// Every id in use that one made for a call could be, so that it is not given twice.
    ids: Vec<String>,
    /// How many blocks have a name of this sort so far: `content`, `thinking`, `audio` …
    names: Vec<(String, usize)>,
    /// Which fields of the response have their value for good.
    identified: Vec<&'static str>,
    /// The role that the answer is given in.
    role: Option<String>,
    /// The response's other fields and their last values.
    noted: Noted,
    /// The blocks that the wire numbers itself.
    slots: Slots,
    open_slot_count: usize,
    is_terminated: bool,
    has_failed: bool,
}

impl BlockMachine {
    /// A machine for one stream.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            choices: Vec::new(),
            blocks: Vec::new(),
            open: Vec::new(),
            touched: None,
            calls: 0,
            ids: Vec::new(),
            names: Vec::new(),
            identified: Vec::new(),
            role: None,
            noted: Noted::new(),
            slots: Slots::default(),
            open_slot_count: 0,
            is_terminated: false,
            has_failed: false,
        }
    }

    /// Whether the terminator has come.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// The block that the stream is writing.
    pub fn current_block(&self) -> Option<usize> {
        self.touched.filter(|&block| self.is_open(block))
    }

    fn is_open(&self, block: usize) -> bool {
        self.open.get(block).copied().unwrap_or_default()
    }

    fn complete(&mut self, block: usize, sink: &mut impl Sink) {
        if let Some(is_open) = self.open.get_mut(block) {
            *is_open = false;
        }
        sink.event(Event::BlockCompleted { block });
    }

    /// Whether the newest block of a choice is a tool call.
    fn is_in_tool_phase(&self, at: usize) -> bool {
        let newest = self.choices.get(at).and_then(|choice| choice.newest);
        newest.and_then(|block| self.blocks.get(block)).is_some_and(|kind| kind.is_call())
    }

    /// Takes one delta.
    pub fn step(&mut self, choice: u32, delta: Delta<'_>, sink: &mut impl Sink) -> Result<Outcome, ErrorKind> {
        match delta {
            Delta::Identity { name, value } => self.identify(name, &value, sink),
            Delta::ResponseNote { name, json } => self.note_response(&name, &json, sink),
            Delta::Usage { counts, json } => sink.event(Event::UsageReported { counts: *counts, json: &json }),
            Delta::Quirk(quirk) => sink.event(Event::QuirkSeen(quirk)),
            Delta::Refused(quirk) => return Ok(refuse(quirk, sink)),
            Delta::Error(json) => {
                self.has_failed = true;
                sink.event(Event::ErrorReported { json: &json });
            }
            Delta::End => self.terminate(sink),
            Delta::Announced => drop(self.choice(choice)?),
            Delta::Text(_)
            | Delta::Thinking(_)
            | Delta::Repeated
            | Delta::Signature(_)
            | Delta::ThinkingData(_)
            | Delta::Refusal(_)
            | Delta::Call(_)
            | Delta::Raw { .. }
            | Delta::Note { .. }
            | Delta::Open { .. }
            | Delta::Grow { .. }
            | Delta::NoteOn { .. }
            | Delta::Close { .. }
            | Delta::Stop { .. } => {
                let at = self.choice(choice)?;
                return self.step_choice(at, delta, sink);
            }
        }
        Ok(Outcome::Taken)
    }

    /// The input is over.
    pub fn finish(&mut self, sink: &mut impl Sink) {
        let interrupted = self.is_broken_off() || !(self.has_finished() || self.is_terminated);
        sink.event(Event::StreamEnded { interrupted });
    }

    fn has_finished(&self) -> bool {
        !self.choices.is_empty() && self.choices.iter().all(|choice| choice.is_finished)
    }

    /// Whether the upstream failed before it finished: what is open is not whole, whatever it says after that.
    pub fn is_broken_off(&self) -> bool {
        self.has_failed && !self.has_finished()
    }

    /// The choices that have an open block, and that block.
    pub fn open_blocks(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.choices.iter().filter_map(|choice| Some((choice.number, choice.current?)))
    }

    fn choice(&mut self, number: u32) -> Result<usize, ErrorKind> {
        if let Some(at) = self.choices.iter().position(|choice| choice.number == number) {
            return Ok(at);
        }
        let allowed = self.limits.choices;
        if self.choices.len() >= allowed || number as usize >= allowed {
            return Err(ErrorKind::Limit { name: "choices", allowed });
        }
        self.choices.push(Choice::new(number));
        Ok(self.choices.len() - 1)
    }

    fn step_choice(&mut self, at: usize, delta: Delta<'_>, sink: &mut impl Sink) -> Result<Outcome, ErrorKind> {
        let is_finished = self.choices.get(at).is_some_and(|choice| choice.is_finished);
        match delta {
            Delta::Text(text) if text.is_empty() => {
                return Ok(if self.is_in_tool_phase(at) { Outcome::Dropped } else { Outcome::Taken });
            }
            Delta::Repeated => return Ok(if is_finished { Outcome::Dropped } else { Outcome::Taken }),
            Delta::Note { name, json, repeats } => self.note(at, &name, &json, repeats, sink),
            Delta::Stop { reason, native } => return Ok(self.stop(at, &reason, &native, sink)),
            Delta::Open { head, .. } if is_finished && head.kind.is_call() => {
                return Ok(refuse(Quirk::LateToolCall, sink));
            }
            Delta::Call(_) if is_finished => return Ok(refuse(Quirk::LateToolCall, sink)),
            Delta::Text(_)
            | Delta::Thinking(_)
            | Delta::Refusal(_)
            | Delta::Raw { .. }
            | Delta::Signature(_)
            | Delta::ThinkingData(_)
            | Delta::Open { .. }
                if is_finished =>
            {
                return Ok(refuse(Quirk::LateText, sink));
            }
            Delta::Text(text) => self.grow_text(at, BlockKind::Text, "content", &text, sink)?,
            Delta::Thinking(text) => self.grow_text(at, BlockKind::Thinking, "thinking", &text, sink)?,
            Delta::Refusal(text) => self.grow_text(at, BlockKind::Refusal, "refusal", &text, sink)?,
            Delta::Signature(text) => self.grow_thinking(at, Part::Signature, &text, sink)?,
            Delta::ThinkingData(text) => self.grow_thinking(at, Part::Data, &text, sink)?,
            Delta::Raw { kind, json, whole } => self.grow_raw(at, &kind, &json, whole, sink)?,
            Delta::Call(call) => self.grow_call(at, &call, sink)?,
            Delta::Open { slot, head } => return self.open(at, slot, &head, sink),
            Delta::Grow { slot, part, text } => return self.grow_slot(slot, part, &text, sink),
            Delta::NoteOn { slot, name, json } => return Ok(self.note_slot(slot, &name, &json, sink)),
            Delta::Close { slot } => return Ok(self.close_slot(slot, sink)),
            Delta::Announced
            | Delta::Identity { .. }
            | Delta::ResponseNote { .. }
            | Delta::Quirk(_)
            | Delta::Refused(_)
            | Delta::Usage { .. }
            | Delta::Error(_)
            | Delta::End => {}
        }
        Ok(Outcome::Taken)
    }

    fn stop(&mut self, at: usize, reason: &str, native: &str, sink: &mut impl Sink) -> Outcome {
        let Some(choice) = self.choices.get_mut(at) else { return Outcome::Dropped };
        if choice.is_finished {
            sink.event(Event::QuirkSeen(Quirk::RepeatedFinish));
            return Outcome::Taken;
        }
        choice.is_finished = true;
        let number = choice.number;
        if let Some(block) = choice.current.take() {
            self.complete(block, sink);
        }
        sink.event(Event::ChoiceFinished { choice: number, reason, native });
        Outcome::Taken
    }

    /// Completes the open block of a choice.
    pub fn close(&mut self, number: u32, sink: &mut impl Sink) {
        let choice = self.choices.iter_mut().find(|choice| choice.number == number);
        if let Some(block) = choice.and_then(|choice| choice.current.take()) {
            self.complete(block, sink);
        }
    }

    /// The terminator came: completes every open block.
    pub fn terminate(&mut self, sink: &mut impl Sink) {
        self.is_terminated = true;
        if self.is_broken_off() {
            return;
        }
        let open: Vec<usize> = self.choices.iter_mut().filter_map(|choice| choice.current.take()).collect();
        for block in open {
            self.complete(block, sink);
        }
    }

    /// Makes `block` the current one of its choice: completes another that is, and reopens it if it was complete.
    fn enter(&mut self, at: usize, block: usize, sink: &mut impl Sink) {
        self.touched = Some(block);
        let Some(choice) = self.choices.get_mut(at) else { return };
        if choice.current == Some(block) {
            return;
        }
        choice.growing_raw = None;
        if let Some(other) = choice.current.replace(block) {
            self.complete(other, sink);
        }
        if let Some(is_open) = self.open.get_mut(block) {
            *is_open = true;
        }
        sink.event(Event::BlockReopened { block });
    }

    /// Starts a block as the current one of its choice.
    fn start(&mut self, at: usize, head: &Head<'_>, sink: &mut impl Sink) -> Result<usize, ErrorKind> {
        self.check_room(head.kind)?;
        let block = self.blocks.len();
        if let Some(other) = self.choices.get_mut(at).and_then(|choice| choice.current.replace(block)) {
            self.complete(other, sink);
        }
        self.announce(at, head, sink);
        Ok(block)
    }

    fn check_room(&self, kind: BlockKind) -> Result<(), ErrorKind> {
        if self.blocks.len() >= self.limits.blocks {
            return Err(ErrorKind::Limit { name: "blocks", allowed: self.limits.blocks });
        }
        if kind.is_call() && self.calls >= self.limits.calls {
            return Err(ErrorKind::Limit { name: "calls", allowed: self.limits.calls });
        }
        Ok(())
    }

    /// Adds a block to its choice as the newest.
    fn announce(&mut self, at: usize, head: &Head<'_>, sink: &mut impl Sink) {
        let block = self.blocks.len();
        let Some(choice) = self.choices.get_mut(at) else { return };
        choice.newest = Some(block);
        choice.growing_raw = None;
        choice.noted.clear();
        if head.kind == BlockKind::Thinking {
            choice.newest_thinking = Some(Thinking { block, has_signature: false, has_data: false });
        }
        let call = choice.call_count;
        if head.kind.is_call() {
            choice.call_count += 1;
            self.calls += 1;
        }
        self.blocks.push(head.kind);
        self.open.push(true);
        self.touched = Some(block);
        if head.id.starts_with(MADE) {
            self.ids.push(head.id.to_owned());
        }
        let &Head { kind, id, name, call_id } = head;
        sink.event(Event::BlockStarted { block, kind, id, name, call_id, choice: choice.number, call });
    }

    fn start_named(
        &mut self,
        at: usize,
        kind: BlockKind,
        family: &str,
        name: &str,
        sink: &mut impl Sink,
    ) -> Result<usize, ErrorKind> {
        let id = self.next_id(family);
        self.start(at, &Head { kind, id: &id, name, call_id: "" }, sink)
    }

    /// `content`, `content_1`, `content_2` …
    fn next_id<'f>(&mut self, family: &'f str) -> Cow<'f, str> {
        let Some((_, count)) = self.names.iter_mut().find(|(known, _)| known == family) else {
            self.names.push((family.to_owned(), 1));
            return Cow::Borrowed(family);
        };
        let number = *count as u64;
        *count += 1;
        Cow::Owned(numbered(family, number))
    }

    /// `tc_0`, or `tc_0_1` where that is taken …
    fn made_id(&self, number: u64) -> String {
        let stem = numbered(MADE, number);
        let suffixed = (1..).map(|number| numbered(&stem, number));
        let is_free = |id: &String| !self.ids.contains(id);
        std::iter::once(stem.clone()).chain(suffixed).find(is_free).unwrap_or(stem)
    }
}

/// How a block is announced.
struct Head<'a> {
    kind: BlockKind,
    id: &'a str,
    name: &'a str,
    call_id: &'a str,
}

fn refuse(quirk: Quirk, sink: &mut impl Sink) -> Outcome {
    sink.event(Event::QuirkSeen(quirk));
    Outcome::Dropped
}
