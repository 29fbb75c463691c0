//! Events to what is written: blocks one after the other, whatever turns they came in, and none before it may leave.
//!
//! Rules. (1) Each choice is a lane: its blocks leave in the order in which they began. Only the first of a lane is written; the others wait with
//! what they have. (2) A call is closed when nothing can follow: its format said so, or its arguments are one whole JSON value and another
//! block has begun, or its choice has finished. (3) What was closed is never written again: more of it is an error. (4) A gate lets no byte of a call out
//! before its verdict, and then only what was judged. (5) After an error nothing is written. (6) A stream that was cut is never made to look whole.

use std::collections::VecDeque;

use crate::event::{BlockKind, Part};
use crate::failure::{Failure, FailureKind};
use crate::wire::encode::{Answer, Encoder};
use crate::wire::ids::Ids;
use crate::wire::output::Output;
use crate::wire::{Protocol, Target};

mod gate;
mod hearing;
mod lane;
mod writing;

use gate::Judged;
pub use gate::{Ask, CallView, DOUBTS, Verdict};
use lane::{Entry, Lane};

/// How a stream that was cut is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnInterrupt {
    /// With the target's own error, and nothing after it.
    Error,
    /// As if the answer had reached its limit. No call is written before it is whole, so that an unfinished one is never seen.
    Close,
}

/// Where text goes that comes behind a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOrder {
    /// Where it came.
    AsItCame,
    /// Before the calls, which wait for the finish.
    BeforeCalls,
}

/// What a gate holds back until it is judged. Calls, results and blocks of kinds that nobody knows always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// Whether text is given to the policy, and only what that gives back is written.
    pub asks_text: bool,
    /// Whether reasoning waits for a verdict as well.
    pub asks_thinking: bool,
    /// Whether nothing at all leaves before everything is judged.
    pub is_buffered: bool,
}

/// How an answer is written.
#[derive(Clone, Debug)]
pub struct OutletOptions {
    /// The format to write.
    pub target: Target,
    /// How a cut is told.
    pub on_interrupt: OnInterrupt,
    /// Where text behind calls goes.
    pub text_order: TextOrder,
    /// Whether deltas of one block that came in one read may share an event.
    pub coalesces: bool,
    /// The gate, if there is one.
    pub gate: Option<Gate>,
    /// How much may wait.
    pub held_bytes: usize,
    /// The model to name; none to name the source's.
    pub model: Option<String>,
    /// The id of an answer whose source gives none.
    pub id: String,
    /// The time of an answer whose source gives none, in seconds.
    pub created: u64,
}

impl OutletOptions {
    fn asks_text(&self) -> bool {
        self.gate.is_some_and(|gate| gate.asks_text)
    }

    fn is_buffered(&self) -> bool {
        self.gate.is_some_and(|gate| gate.is_buffered)
    }

    /// Whether a block of that kind waits for a verdict.
    fn judges(&self, kind: BlockKind) -> bool {
        self.gate.is_some_and(|gate| match kind {
            BlockKind::FunctionCall
            | BlockKind::CustomCall
            | BlockKind::BuiltinCall
            | BlockKind::ServerCall
            | BlockKind::ToolResult
            | BlockKind::Unknown => true,
            BlockKind::Thinking => gate.asks_thinking,
            BlockKind::Text | BlockKind::Refusal => false,
        })
    }
}

/// Writes one answer.
#[derive(Debug)]
pub struct Outlet {
    options: OutletOptions,
    answer: Answer,
    encoder: Encoder,
    out: Output,
    lanes: Vec<Lane>,
    /// The lane of each block; none for those that are not written.
    places: Vec<Option<usize>>,
    ids: Ids,
    losses: Vec<(&'static str, u64)>,
    asks: Vec<Ask>,
    asked_text: String,
    /// How many bytes wait, or have waited in blocks that are not closed.
    held: usize,
    /// Whether the input is over, and whether it was cut.
    ended: Option<bool>,
    is_over: bool,
    failure: Option<Failure>,
}

impl Outlet {
    /// An outlet for one answer.
    pub fn new(options: OutletOptions) -> Self {
        let answer = Answer {
            source: None,
            target: options.target,
            id: options.id.clone(),
            has_id: false,
            model: options.model.clone().unwrap_or_default(),
            created: options.created,
            usage: crate::usage::Usage::default(),
            notes: Vec::new(),
        };
        Self {
            encoder: Encoder::new(options.target),
            out: Output::new(options.coalesces),
            answer,
            options,
            lanes: Vec::new(),
            places: Vec::new(),
            ids: Ids::default(),
            losses: Vec::new(),
            asks: Vec::new(),
            asked_text: String::new(),
            held: 0,
            ended: None,
            is_over: false,
            failure: None,
        }
    }

    /// Hands out what may be written by now.
    pub fn take<R>(&mut self, read: impl FnOnce(&str) -> R) -> R {
        self.out.take(read)
    }

    /// Whether the answer has been written to its end, or to its error.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Why the answer was ended with an error.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What was not written, and how often.
    pub fn losses(&self) -> &[(&'static str, u64)] {
        &self.losses
    }

    /// Which call id stands for which: as written, as it came.
    pub fn ids(&self) -> impl Iterator<Item = (&str, &str)> {
        self.ids.iter()
    }

    /// A sign of life, unless the answer is over.
    pub fn ping(&mut self) {
        if !self.is_over {
            self.encoder.format().ping(&mut self.out);
        }
    }

    /// A chunk is over: what has begun in it is known as far as its beginning goes.
    pub fn end_chunk(&mut self) {
        if self.is_over {
            return;
        }
        if self.answer.has_id && !self.answer.model.is_empty() && self.may_write() {
            self.encoder.format().begin(0, &self.answer, &mut self.out);
        }
        for at in 0..self.lanes.len() {
            if self.lanes.get_mut(at).is_some_and(Lane::end_chunk) {
                self.advance(at);
            }
        }
    }

    /// Ends the answer with an error, unless it is over.
    pub fn fail(&mut self, failure: Failure) {
        if self.is_over {
            return;
        }
        for at in 0..self.lanes.len() {
            self.cut_lane(at);
        }
        self.is_over = true;
        match self.options.on_interrupt {
            OnInterrupt::Error => self.encoder.format().fail(&failure, &self.answer, &mut self.out),
            OnInterrupt::Close => self.encoder.format().cut(&failure, &self.answer, &mut self.out),
        }
        self.failure = Some(failure);
        self.asks.clear();
    }

    fn lose(&mut self, what: &'static str) {
        match self.losses.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.losses.push((what, 1)),
        }
    }

    /// Whether the target has no room for a choice: it takes the first.
    fn is_left_out(&self, choice: u32) -> bool {
        choice > 0 && self.options.target != Target::OpenaiChat
    }

    fn lane(&mut self, choice: u32) -> usize {
        if let Some(at) = self.lanes.iter().position(|lane| lane.choice == choice) {
            return at;
        }
        self.lanes.push(Lane { choice, queue: VecDeque::new(), is_finished: false, finish: None });
        self.lanes.len() - 1
    }

    /// The lane of a block, and where in it the block stands; none if it is not written, or has been.
    fn place(&self, block: usize) -> Option<(usize, usize)> {
        let at = self.places.get(block).copied().flatten()?;
        let position = self.lanes.get(at)?.queue.iter().position(|entry| entry.block.number == block)?;
        Some((at, position))
    }

    /// Whether the source does not say where its blocks end.
    fn is_from_chat(&self) -> bool {
        self.answer.source.is_none_or(|source| source == Protocol::OpenaiChat)
    }

    fn is_written(&self, block: usize) -> bool {
        self.places.get(block).copied().flatten().is_some()
    }

    /// Counts what waits; false if that is too much, which ends the answer.
    fn hold(&mut self, bytes: usize) -> bool {
        self.held += bytes;
        if self.held > self.options.held_bytes {
            self.fail(Failure::new(FailureKind::Api, "the answer exceeds the limit held_bytes"));
        }
        !self.is_over
    }

    /// Takes the first block out of its lane.
    fn pop_front(&mut self, at: usize) -> Option<Entry> {
        let entry = self.lanes.get_mut(at)?.queue.pop_front()?;
        self.held = self.held.saturating_sub(entry.weight());
        Some(entry)
    }

    /// The input is over.
    fn end(&mut self, interrupted: bool) {
        self.ended = Some(interrupted);
        if interrupted {
            return self.fail(Failure::interrupted());
        }
        // An answer of several of which only some have finished cannot be told from one that was cut.
        let has_finished = |lane: &Lane| lane.is_finished;
        if self.lanes.iter().any(has_finished) && !self.lanes.iter().all(has_finished) {
            return self.fail(Failure::unexplained());
        }
        for lane in &mut self.lanes {
            lane.is_finished = true;
        }
        self.advance_all();
    }

    fn advance_all(&mut self) {
        for at in 0..self.lanes.len() {
            self.advance(at);
        }
        self.end_if_done();
    }

    /// Whether anything may be written by now.
    fn may_write(&self) -> bool {
        let is_undecided = |lane: &Lane| lane.queue.iter().any(|entry| !self.is_settled(entry));
        !self.options.is_buffered() || (self.ended == Some(false) && !self.lanes.iter().any(is_undecided))
    }

    /// Whether a policy has said all that it has to say of a block.
    fn is_settled(&self, entry: &Entry) -> bool {
        let is_judged = matches!(entry.judged, Judged::Decided(_)) || !self.options.judges(entry.block.kind);
        let is_released = entry.is_released || !self.options.asks_text() || !entry.asks_text(Part::Text);
        is_judged && is_released
    }

    /// Ends the answer once its input is over and nothing waits any more.
    fn end_if_done(&mut self) {
        let waits = self.lanes.iter().any(|lane| !lane.queue.is_empty());
        if self.is_over || self.ended != Some(false) || waits || !self.may_write() {
            return;
        }
        match self.encoder.format().end(&self.answer, &mut self.out) {
            Ok(()) => self.is_over = true,
            Err(failure) => self.fail(failure),
        }
    }
}

/// Whether a kind of block is text that a policy may rewrite.
fn is_text(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::Text | BlockKind::Refusal)
}
