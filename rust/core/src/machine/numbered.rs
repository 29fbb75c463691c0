//! Blocks that the wire numbers itself. They stand beside other open ones: only its own close completes a block.

use std::borrow::Cow;

use super::slots::Slot;
use super::{BlockMachine, Head, Outcome, refuse};
use crate::delta::BlockHead;
use crate::error::ErrorKind;
use crate::event::{BlockKind, Event, Part, Quirk, Sink};

impl BlockMachine {
    /// A block that the wire numbers itself begins. It stands beside other open ones: only its own close completes it.
    pub(super) fn open(
        &mut self,
        at: usize,
        number: u64,
        head: &BlockHead<'_>,
        sink: &mut impl Sink,
    ) -> Result<Outcome, ErrorKind> {
        if self.slots.contains(number) {
            return Ok(refuse(Quirk::SlotReused, sink));
        }
        self.check_room(head.kind)?;
        // A stream may number some of its blocks only: what is open without a number ends here, as it would before any other.
        if let Some(current) = self.choices.get_mut(at).and_then(|choice| choice.current.take()) {
            self.complete(current, sink);
        }
        let id = self.slot_id(at, head, sink);
        let call_id = head.id.as_deref().filter(|_| head.kind == BlockKind::ToolResult).unwrap_or_default();
        let block = self.blocks.len();
        self.announce(at, &Head { kind: head.kind, id: &id, name: &head.name, call_id }, sink);
        self.open_slot_count += 1;
        let choice = self.choices.get(at).map_or(0, |choice| choice.number);
        self.slots.insert(number, Slot { block, choice, kind: head.kind, is_open: true, argument_bytes: 0 });
        Ok(Outcome::Taken)
    }

    fn slot_id<'h>(&mut self, at: usize, head: &'h BlockHead<'_>, sink: &mut impl Sink) -> Cow<'h, str> {
        let family = match head.kind {
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                if let Some(id) = &head.id {
                    return Cow::Borrowed(id);
                }
                sink.event(Event::QuirkSeen(Quirk::IdMissing));
                return Cow::Owned(self.made_id(self.choices.get(at).map_or(0, |choice| choice.call_count as u64)));
            }
            BlockKind::Text => "content",
            BlockKind::Thinking => "thinking",
            BlockKind::Refusal => "refusal",
            BlockKind::ToolResult => "tool_result",
            BlockKind::Unknown => &head.name,
        };
        self.next_id(family)
    }

    pub(super) fn grow_slot(
        &mut self,
        number: u64,
        part: Part,
        text: &str,
        sink: &mut impl Sink,
    ) -> Result<Outcome, ErrorKind> {
        let allowed = self.limits.argument_bytes;
        let slot = match self.slots.get_mut(number) {
            None => return Ok(refuse(Quirk::OrphanDelta, sink)),
            Some(slot) if !slot.is_open => return Ok(refuse(Quirk::DeltaAfterClose, sink)),
            Some(slot) if !slot.kind.has(part) => return Ok(refuse(Quirk::MisplacedDelta, sink)),
            Some(slot) => slot,
        };
        if part == Part::Arguments {
            slot.argument_bytes += text.len();
            if slot.argument_bytes > allowed {
                return Err(ErrorKind::Limit { name: "argument_bytes", allowed });
            }
        }
        self.touched = Some(slot.block);
        if !text.is_empty() {
            sink.event(Event::BlockGrew { block: slot.block, part, text });
        }
        Ok(Outcome::Taken)
    }

    pub(super) fn note_slot(&mut self, number: u64, name: &str, json: &str, sink: &mut impl Sink) -> Outcome {
        let Some(slot) = self.slots.get(number) else { return refuse(Quirk::OrphanDelta, sink) };
        sink.event(Event::BlockNoted { block: slot.block, name, json });
        Outcome::Taken
    }

    pub(super) fn close_slot(&mut self, number: u64, sink: &mut impl Sink) -> Outcome {
        match self.slots.get_mut(number) {
            None => refuse(Quirk::OrphanDelta, sink),
            Some(slot) if !slot.is_open => refuse(Quirk::DeltaAfterClose, sink),
            Some(slot) => {
                slot.is_open = false;
                let block = slot.block;
                self.open_slot_count -= 1;
                self.complete(block, sink);
                Outcome::Taken
            }
        }
    }

    /// Whether a numbered block is open.
    pub fn has_open_slots(&self) -> bool {
        self.open_slot_count > 0
    }

    /// The wire's numbers of the open blocks of a choice, or of all, in the order in which they began.
    pub fn open_slots(&self, choice: Option<u32>) -> Vec<u64> {
        let is_meant = |slot: &Slot| slot.is_open && choice.is_none_or(|choice| choice == slot.choice);
        let mut open: Vec<_> = self.slots.iter().filter(|(_, slot)| is_meant(slot)).collect();
        open.sort_by_key(|(_, slot)| slot.block);
        open.into_iter().map(|(number, _)| number).collect()
    }
}
