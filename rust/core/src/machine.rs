//! Deltas to events: the life of every block.
//!
//! Rules. (1) Every transition is in this file. (2) Each choice has at most one open block, its *current* one; a delta for another
//! block of the choice completes it. So a delta completes at most one block. (3) A delta for a complete block reopens it, and it
//! completes again. (4) After the finish of its choice nothing starts or grows. (5) This file knows no provider, and keeps no text but
//! ids and names: what grows is handed on.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::delta::{CallDelta, CallSort, Delta, Identity};
use crate::error::ErrorKind;
use crate::event::{BlockKind, Event, Part, Quirk, Sink};
use crate::limits::Limits;
use crate::wire::json::JsonProgress;

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
    calls: usize,
    /// Every id in use, so that a made one is not given twice.
    ids: Vec<String>,
    /// How many blocks have a name of this sort so far: `content`, `thinking`, `audio` …
    names: Vec<(String, usize)>,
    /// Which fields of the response have their value for good.
    identified: Vec<&'static str>,
    /// The response's other fields and their last values.
    noted: Noted,
    is_terminated: bool,
    has_failed: bool,
}

/// Fields and their last values. A peer chooses the names, so they are hashed with a seed.
type Noted = HashMap<String, String>;

/// One of the answers side by side.
#[derive(Debug)]
struct Choice {
    number: u32,
    current: Option<usize>,
    newest: Option<usize>,
    newest_thinking: Option<Thinking>,
    calls: Vec<Call>,
    is_finished: bool,
    /// The kind of the current block, if that is one that grows raw.
    growing_raw: Option<String>,
    /// The last note of each name on the newest block, to tell repetitions.
    noted: Noted,
}

/// A thinking block, and what it has had of what comes once.
#[derive(Clone, Copy, Debug)]
struct Thinking {
    block: usize,
    has_signature: bool,
    has_data: bool,
}

impl Thinking {
    fn has(&self, part: Part) -> bool {
        match part {
            Part::Signature => self.has_signature,
            Part::Data => self.has_data,
            Part::Text | Part::Name | Part::Arguments | Part::Raw => false,
        }
    }
}

/// A tool call as far as it can be told from others.
#[derive(Debug)]
struct Call {
    block: usize,
    index: Option<u64>,
    wire_id: Option<String>,
    name: String,
    sort: CallSort,
    argument_bytes: usize,
    progress: JsonProgress,
}

/// Which call a delta means.
enum Target {
    Known(usize),
    New,
}

impl Choice {
    fn new(number: u32) -> Self {
        Self {
            number,
            current: None,
            newest: None,
            newest_thinking: None,
            calls: Vec::new(),
            is_finished: false,
            growing_raw: None,
            noted: Noted::new(),
        }
    }

    /// Whether a block is a thinking block whose signature has come: text behind it belongs to the next.
    fn is_signed(&self, block: usize) -> bool {
        self.newest_thinking.is_some_and(|thinking| thinking.block == block && thinking.has_signature)
    }

    /// Whether the current block is a raw one of this kind that more values belong to.
    fn grows(&self, kind: &str) -> bool {
        self.growing_raw.as_deref() == Some(kind)
    }

    fn newest_call(&self, matches: impl Fn(&Call) -> bool) -> Target {
        self.calls.iter().rposition(matches).map_or(Target::New, Target::Known)
    }

    /// The rule of index and id, row by row as the architecture's table has it.
    fn target(&self, delta: &CallDelta<'_>) -> Target {
        let is_legacy = delta.sort == CallSort::Legacy;
        match (delta.index, &delta.id) {
            (Some(index), None) => self.newest_call(|call| call.index == Some(index)),
            (Some(index), Some(id)) => match self.newest_call(|call| call.index == Some(index)) {
                Target::Known(at) if self.calls.get(at).is_some_and(|call| call.accepts_id(id)) => Target::Known(at),
                Target::Known(_) | Target::New => Target::New,
            },
            (None, Some(id)) => self.newest_call(|call| call.wire_id.as_deref() == Some(id)),
            (None, None) => match self.newest_call(|_| true) {
                Target::Known(at)
                    if self.calls.get(at).is_some_and(|call| {
                        (call.sort == CallSort::Legacy) == is_legacy
                            && !(delta.name.is_some() && call.progress.is_whole())
                    }) =>
                {
                    Target::Known(at)
                }
                Target::Known(_) | Target::New => Target::New,
            },
        }
    }
}

impl Call {
    fn accepts_id(&self, id: &str) -> bool {
        self.wire_id.as_deref().is_none_or(|known| known == id)
    }
}

impl BlockMachine {
    /// A machine for one stream.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            choices: Vec::new(),
            blocks: Vec::new(),
            calls: 0,
            ids: Vec::new(),
            names: Vec::new(),
            identified: Vec::new(),
            noted: Noted::new(),
            is_terminated: false,
            has_failed: false,
        }
    }

    /// Whether the terminator has come.
    pub fn is_terminated(&self) -> bool {
        self.is_terminated
    }

    /// Whether the newest block of a choice is a tool call.
    fn is_in_tool_phase(&self, at: usize) -> bool {
        let newest = self.choices.get(at).and_then(|choice| choice.newest);
        newest.and_then(|block| self.blocks.get(block)).is_some_and(|kind| kind.is_call())
    }

    /// Whether a delta would complete a block. Changes nothing.
    pub fn would_complete(&self, choice: u32, delta: &Delta<'_>) -> bool {
        let Some(choice) = self.choices.iter().find(|known| known.number == choice) else { return false };
        let Some(current) = choice.current else { return false };
        let other_than = |kind: BlockKind| self.blocks.get(current) != Some(&kind);
        match delta {
            Delta::Text(text) => !text.is_empty() && other_than(BlockKind::Text),
            Delta::Thinking(text) => !text.is_empty() && (other_than(BlockKind::Thinking) || choice.is_signed(current)),
            Delta::Refusal(text) => !text.is_empty() && other_than(BlockKind::Refusal),
            Delta::Raw { kind, whole, .. } => *whole || !choice.grows(kind),
            Delta::Signature(_) => self.starts_thinking(choice, Part::Signature),
            Delta::ThinkingData(_) => self.starts_thinking(choice, Part::Data),
            Delta::Call(call) => match choice.target(call) {
                Target::Known(at) => choice.calls.get(at).is_some_and(|call| call.block != current),
                Target::New => true,
            },
            Delta::Stop(_) => true,
            // The end completes every open block, in any choice: the session hands out one chunk for each.
            Delta::End
            | Delta::Announced
            | Delta::Repeated
            | Delta::Identity { .. }
            | Delta::ResponseNote { .. }
            | Delta::Note { .. }
            | Delta::Usage(_)
            | Delta::Error(_) => false,
        }
    }

    /// Takes one delta.
    pub fn step(&mut self, choice: u32, delta: Delta<'_>, sink: &mut impl Sink) -> Result<Outcome, ErrorKind> {
        match delta {
            Delta::Identity { name, value } => self.identify(name, &value, sink),
            Delta::ResponseNote { name, json } => self.note_response(&name, &json, sink),
            Delta::Usage(json) => sink.event(Event::UsageReported { json: &json }),
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
            | Delta::Stop(_) => {
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
            Delta::Stop(word) => return Ok(self.stop(at, &word, sink)),
            Delta::Call(_) if is_finished => return Ok(refuse(Quirk::LateToolCall, sink)),
            Delta::Text(_)
            | Delta::Thinking(_)
            | Delta::Refusal(_)
            | Delta::Raw { .. }
            | Delta::Signature(_)
            | Delta::ThinkingData(_)
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
            Delta::Announced
            | Delta::Identity { .. }
            | Delta::ResponseNote { .. }
            | Delta::Usage(_)
            | Delta::Error(_)
            | Delta::End => {}
        }
        Ok(Outcome::Taken)
    }

    fn identify(&mut self, name: &'static str, value: &Identity<'_>, sink: &mut impl Sink) {
        if self.identified.contains(&name) {
            return;
        }
        // Providers that have no value yet send an empty one.
        let json = match value {
            Identity::Text(text) if text.is_empty() => return,
            Identity::Json(json) if matches!(json.as_ref(), "0" | "0.0" | "false" | "\"\"" | "[]" | "{}") => return,
            Identity::Text(text) => Cow::Owned(serde_json::Value::from(text.as_ref()).to_string()),
            Identity::Json(json) => Cow::Borrowed(json.as_ref()),
        };
        self.identified.push(name);
        sink.event(Event::ResponseNoted { name, json: &json });
    }

    fn note_response(&mut self, name: &str, json: &str, sink: &mut impl Sink) {
        if remember(&mut self.noted, name, json) {
            sink.event(Event::ResponseNoted { name, json });
        }
    }

    fn note(&mut self, at: usize, name: &str, json: &str, repeats: bool, sink: &mut impl Sink) {
        let Some(choice) = self.choices.get_mut(at) else { return };
        let Some(block) = choice.newest else {
            return self.note_response(name, json, sink);
        };
        if repeats && !remember(&mut choice.noted, name, json) {
            return;
        }
        sink.event(Event::BlockNoted { block, name, json });
    }

    fn stop(&mut self, at: usize, word: &str, sink: &mut impl Sink) -> Outcome {
        let Some(choice) = self.choices.get_mut(at) else { return Outcome::Dropped };
        if choice.is_finished {
            sink.event(Event::QuirkSeen(Quirk::RepeatedFinish));
            return Outcome::Taken;
        }
        choice.is_finished = true;
        if let Some(block) = choice.current.take() {
            sink.event(Event::BlockCompleted { block });
        }
        sink.event(Event::ChoiceFinished { choice: choice.number, reason: finish_reason(word), native: word });
        Outcome::Taken
    }

    /// Completes the open block of a choice.
    pub fn close(&mut self, number: u32, sink: &mut impl Sink) {
        let choice = self.choices.iter_mut().find(|choice| choice.number == number);
        if let Some(block) = choice.and_then(|choice| choice.current.take()) {
            sink.event(Event::BlockCompleted { block });
        }
    }

    /// The terminator came: completes every open block.
    pub fn terminate(&mut self, sink: &mut impl Sink) {
        self.is_terminated = true;
        if self.is_broken_off() {
            return;
        }
        for choice in &mut self.choices {
            if let Some(block) = choice.current.take() {
                sink.event(Event::BlockCompleted { block });
            }
        }
    }

    /// Makes `block` the current one of its choice: completes another that is, and reopens it if it was complete.
    fn enter(&mut self, at: usize, block: usize, sink: &mut impl Sink) {
        let Some(choice) = self.choices.get_mut(at) else { return };
        if choice.current == Some(block) {
            return;
        }
        choice.growing_raw = None;
        if let Some(other) = choice.current.replace(block) {
            sink.event(Event::BlockCompleted { block: other });
        }
        sink.event(Event::BlockReopened { block });
    }

    /// Starts a block as the current one of its choice.
    fn start(&mut self, at: usize, head: &Head<'_>, sink: &mut impl Sink) -> Result<usize, ErrorKind> {
        let block = self.blocks.len();
        if block >= self.limits.blocks {
            return Err(ErrorKind::Limit { name: "blocks", allowed: self.limits.blocks });
        }
        let Some(choice) = self.choices.get_mut(at) else { return Ok(block) };
        if let Some(other) = choice.current.replace(block) {
            sink.event(Event::BlockCompleted { block: other });
        }
        choice.newest = Some(block);
        choice.growing_raw = None;
        choice.noted.clear();
        if head.kind == BlockKind::Thinking {
            choice.newest_thinking = Some(Thinking { block, has_signature: false, has_data: false });
        }
        self.blocks.push(head.kind);
        let &Head { kind, id, name, call } = head;
        sink.event(Event::BlockStarted { block, kind, id, name, choice: choice.number, call });
        Ok(block)
    }

    fn grow_text(
        &mut self,
        at: usize,
        kind: BlockKind,
        name: &str,
        text: &str,
        sink: &mut impl Sink,
    ) -> Result<(), ErrorKind> {
        if text.is_empty() {
            return Ok(());
        }
        let Some(choice) = self.choices.get(at) else { return Ok(()) };
        let grows = |block: &usize| self.blocks.get(*block) == Some(&kind) && !choice.is_signed(*block);
        let block = match choice.current.filter(grows) {
            Some(block) => block,
            None => self.start_named(at, kind, name, "", sink)?,
        };
        sink.event(Event::BlockGrew { block, part: Part::Text, text });
        Ok(())
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
        self.ids.push(id.clone());
        self.start(at, &Head { kind, id: &id, name, call: 0 }, sink)
    }

    /// `content`, `content_1`, `content_2` …
    fn next_id(&mut self, family: &str) -> String {
        let Some((_, count)) = self.names.iter_mut().find(|(known, _)| known == family) else {
            self.names.push((family.to_owned(), 1));
            return family.to_owned();
        };
        *count += 1;
        format!("{family}_{}", *count - 1)
    }

    /// Whether a signature or data would start a block of its own.
    fn starts_thinking(&self, choice: &Choice, part: Part) -> bool {
        let is_call = choice.current.and_then(|block| self.blocks.get(block)).is_some_and(|kind| kind.is_call());
        choice.newest_thinking.is_none_or(|thinking| thinking.has(part)) && !is_call
    }

    /// A signature or data: of the newest thinking block if that has none yet, or else of a new one or of the open call.
    fn grow_thinking(&mut self, at: usize, part: Part, text: &str, sink: &mut impl Sink) -> Result<(), ErrorKind> {
        let Some(choice) = self.choices.get(at) else { return Ok(()) };
        if self.starts_thinking(choice, part) {
            self.start_named(at, BlockKind::Thinking, "thinking", "", sink)?;
        }
        let Some(choice) = self.choices.get_mut(at) else { return Ok(()) };
        match (&mut choice.newest_thinking, choice.current) {
            (Some(thinking), _) if !thinking.has(part) => {
                thinking.has_signature |= part == Part::Signature;
                thinking.has_data |= part == Part::Data;
                sink.event(Event::BlockGrew { block: thinking.block, part, text });
            }
            (Some(_) | None, Some(call)) => {
                let json = serde_json::Value::from(text).to_string();
                sink.event(Event::BlockNoted { block: call, name: part.name(), json: &json });
            }
            (Some(_) | None, None) => {}
        }
        Ok(())
    }

    /// One more JSON value of an unknown block.
    fn grow_raw(
        &mut self,
        at: usize,
        kind: &str,
        json: &str,
        whole: bool,
        sink: &mut impl Sink,
    ) -> Result<(), ErrorKind> {
        let current = self.choices.get(at).and_then(|choice| choice.current.filter(|_| !whole && choice.grows(kind)));
        let block = match current {
            Some(block) => block,
            None => self.start_named(at, BlockKind::Unknown, kind, kind, sink)?,
        };
        if let Some(choice) = self.choices.get_mut(at).filter(|_| current.is_none() && !whole) {
            choice.growing_raw = Some(kind.to_owned());
        }
        sink.event(Event::BlockGrew { block, part: Part::Raw, text: json });
        Ok(())
    }

    fn grow_call(&mut self, at: usize, delta: &CallDelta<'_>, sink: &mut impl Sink) -> Result<(), ErrorKind> {
        let Some(choice) = self.choices.get(at) else { return Ok(()) };
        if delta.arguments_were_json {
            sink.event(Event::QuirkSeen(Quirk::ArgumentsAsObject));
        }
        let position = match choice.target(delta) {
            Target::Known(position) => {
                let block = choice.calls.get(position).map_or(0, |call| call.block);
                self.enter(at, block, sink);
                self.name_call(at, position, delta, sink);
                position
            }
            Target::New => self.start_call(at, delta, sink)?,
        };
        let allowed = self.limits.argument_bytes;
        let call = self.choices.get_mut(at).and_then(|choice| choice.calls.get_mut(position));
        let Some(call) = call else { return Ok(()) };
        if let (None, Some(id)) = (&call.wire_id, &delta.id) {
            call.wire_id = Some(id.clone().into_owned());
        }
        if !delta.arguments.is_empty() {
            call.argument_bytes += delta.arguments.len();
            if call.argument_bytes > allowed {
                return Err(ErrorKind::Limit { name: "argument_bytes", allowed });
            }
            call.progress.push(&delta.arguments);
            sink.event(Event::BlockGrew { block: call.block, part: Part::Arguments, text: &delta.arguments });
        }
        for (name, json) in &delta.notes {
            sink.event(Event::BlockNoted { block: call.block, name, json });
        }
        Ok(())
    }

    fn start_call(&mut self, at: usize, delta: &CallDelta<'_>, sink: &mut impl Sink) -> Result<usize, ErrorKind> {
        if self.calls >= self.limits.calls {
            return Err(ErrorKind::Limit { name: "calls", allowed: self.limits.calls });
        }
        let ordinal = self.choices.get(at).map_or(0, |choice| choice.calls.len());
        let id = self.call_id(ordinal, delta, sink);
        let kind = match delta.sort {
            CallSort::Function | CallSort::Legacy => BlockKind::FunctionCall,
            CallSort::Custom => BlockKind::CustomCall,
        };
        let name = delta.name.as_deref().unwrap_or_default();
        let block = self.start(at, &Head { kind, id: &id, name, call: ordinal }, sink)?;
        self.calls += 1;
        self.ids.push(id);
        let call = Call {
            block,
            index: delta.index,
            wire_id: delta.id.as_deref().map(str::to_owned),
            name: name.to_owned(),
            sort: delta.sort,
            argument_bytes: 0,
            progress: JsonProgress::default(),
        };
        if let Some(choice) = self.choices.get_mut(at) {
            choice.calls.push(call);
        }
        Ok(ordinal)
    }

    /// The wire's id, or one that is made.
    fn call_id(&self, ordinal: usize, delta: &CallDelta<'_>, sink: &mut impl Sink) -> String {
        let is_legacy = delta.sort == CallSort::Legacy;
        if delta.index.is_none() && !is_legacy {
            sink.event(Event::QuirkSeen(Quirk::IndexMissing));
        }
        if let Some(id) = &delta.id {
            return id.clone().into_owned();
        }
        if !is_legacy {
            sink.event(Event::QuirkSeen(Quirk::IdMissing));
        }
        let stem = format!("tc_{}", delta.index.unwrap_or(ordinal as u64));
        let suffixed = (1..).map(|number| format!("{stem}_{number}"));
        let is_free = |id: &String| !self.ids.contains(id);
        std::iter::once(stem.clone()).chain(suffixed).find(is_free).unwrap_or(stem)
    }

    /// A name that comes again for a known call: the same, a piece more, or another.
    fn name_call(&mut self, at: usize, position: usize, delta: &CallDelta<'_>, sink: &mut impl Sink) {
        let call = self.choices.get_mut(at).and_then(|choice| choice.calls.get_mut(position));
        let (Some(call), Some(name)) = (call, &delta.name) else { return };
        if call.name == **name {
            return;
        }
        match (call.name.is_empty(), call.argument_bytes) {
            (true, _) => {}
            (false, 0) => sink.event(Event::QuirkSeen(Quirk::NameInPieces)),
            (false, _) => return sink.event(Event::QuirkSeen(Quirk::NameChanged)),
        }
        call.name.push_str(name);
        sink.event(Event::BlockGrew { block: call.block, part: Part::Name, text: name });
    }
}

/// How a block is announced.
struct Head<'a> {
    kind: BlockKind,
    id: &'a str,
    name: &'a str,
    call: usize,
}

fn refuse(quirk: Quirk, sink: &mut impl Sink) -> Outcome {
    sink.event(Event::QuirkSeen(quirk));
    Outcome::Dropped
}

/// Remembers a value under a name; false if it is the one remembered already.
fn remember(noted: &mut Noted, name: &str, json: &str) -> bool {
    match noted.get_mut(name) {
        Some(value) if value == json => return false,
        Some(value) => json.clone_into(value),
        None => drop(noted.insert(name.to_owned(), json.to_owned())),
    }
    true
}

/// The wire's word for why a choice ended, in one vocabulary.
fn finish_reason(word: &str) -> &str {
    match word {
        "eos" | "end_turn" => "stop",
        "max_tokens" => "length",
        "function_call" | "tool_use" => "tool_calls",
        other => other,
    }
}
