//! Blocks that the wire does not number: which one a delta means follows from what came before.

use super::choice::{Call, Choice, Target};
use super::{BlockMachine, Head};
use crate::delta::{CallDelta, CallSort};
use crate::error::ErrorKind;
use crate::event::{BlockKind, Event, Part, Quirk, Sink};
use crate::wire::progress::JsonProgress;

impl BlockMachine {
    pub(super) fn grow_text(
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
        self.touched = Some(block);
        sink.event(Event::BlockGrew { block, part: Part::Text, text });
        Ok(())
    }

    /// Whether a signature or data would start a block of its own.
    pub(super) fn starts_thinking(&self, choice: &Choice, part: Part) -> bool {
        let is_call = choice.current.and_then(|block| self.blocks.get(block)).is_some_and(|kind| kind.is_call());
        choice.newest_thinking.is_none_or(|thinking| thinking.has(part)) && !is_call
    }

    /// A signature or data: of the newest thinking block if that has none yet, or else of a new one or of the open call.
    pub(super) fn grow_thinking(
        &mut self,
        at: usize,
        part: Part,
        text: &str,
        sink: &mut impl Sink,
    ) -> Result<(), ErrorKind> {
        let Some(choice) = self.choices.get(at) else { return Ok(()) };
        if self.starts_thinking(choice, part) {
            self.start_named(at, BlockKind::Thinking, "thinking", "", sink)?;
        }
        let Some(choice) = self.choices.get_mut(at) else { return Ok(()) };
        match (&mut choice.newest_thinking, choice.current) {
            (Some(thinking), _) if !thinking.has(part) => {
                thinking.has_signature |= part == Part::Signature;
                thinking.has_data |= part == Part::Data;
                let block = thinking.block;
                sink.event(Event::BlockGrew { block, part, text });
                if self.is_open(block) {
                    self.touched = Some(block);
                }
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
    pub(super) fn grow_raw(
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
        self.touched = Some(block);
        sink.event(Event::BlockGrew { block, part: Part::Raw, text: json });
        Ok(())
    }

    pub(super) fn grow_call(
        &mut self,
        at: usize,
        delta: &CallDelta<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), ErrorKind> {
        let Some(choice) = self.choices.get(at) else { return Ok(()) };
        if delta.arguments_were_json {
            sink.event(Event::QuirkSeen(Quirk::ArgumentsAsObject));
        }
        let position = match choice.target(delta) {
            Target::Known(position) => {
                let block = choice.calls.get(position).map_or(0, |call| call.block);
                if delta.is_unnamed() && choice.calls.len() > 1 {
                    sink.event(Event::QuirkSeen(Quirk::CallUnclear));
                }
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
        let kind = match delta.sort {
            CallSort::Function | CallSort::Legacy => BlockKind::FunctionCall,
            CallSort::Custom => BlockKind::CustomCall,
        };
        self.check_room(kind)?;
        let ordinal = self.choices.get(at).map_or(0, |choice| choice.call_count);
        self.check_call(at, delta, sink);
        let id = self.call_id(ordinal, delta, sink);
        let name = delta.name.as_deref().unwrap_or_default();
        let block = self.start(at, &Head { kind, id: &id, name, call_id: "" }, sink)?;
        let call = Call {
            block,
            index: delta.index,
            wire_id: delta.id.as_deref().map(str::to_owned),
            name: name.to_owned(),
            sort: delta.sort,
            argument_bytes: 0,
            progress: JsonProgress::default(),
        };
        let Some(choice) = self.choices.get_mut(at) else { return Ok(0) };
        choice.calls.push(call);
        Ok(choice.calls.len() - 1)
    }

    /// What makes it unclear which call is meant: an id that another of the choice has, an index that no list has.
    fn check_call(&self, at: usize, delta: &CallDelta<'_>, sink: &mut impl Sink) {
        let Some(choice) = self.choices.get(at) else { return };
        if delta.id.is_some() && choice.calls.iter().any(|call| call.wire_id.as_deref() == delta.id.as_deref()) {
            sink.event(Event::QuirkSeen(Quirk::IdReused));
        }
        if delta.index.is_some_and(|index| index >= self.limits.calls as u64) {
            sink.event(Event::QuirkSeen(Quirk::IndexTooHigh));
        }
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
        self.made_id(delta.index.unwrap_or(ordinal as u64))
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
