//! What events mean to the outlet: blocks that begin, grow and end in their lanes.

use super::Outlet;
use super::gate::{Ask, Judged, WRITTEN_BY_MODEL};
use super::lane::{Entry, NOTE_BYTES};
use crate::event::{BlockKind, Event, Part, Sink};
use crate::failure::{Failure, FailureKind};
use crate::wire::Protocol;
use crate::wire::encode::{OutBlock, Reason, Way};

/// How many notes are kept of an answer, and of a block that is being written. No encoder asks for more than ten names.
const NOTES: usize = 64;

impl Sink for Outlet {
    fn source(&mut self, source: Protocol) {
        self.answer.source = Some(source);
    }

    fn event(&mut self, event: Event<'_>) {
        if self.is_over {
            return;
        }
        match event {
            Event::BlockGrew { block, part, text } => self.grow(block, part, text),
            Event::BlockStarted { block, kind, id, name, call_id, choice, call } => self.start(OutBlock {
                number: block,
                choice,
                call,
                id: id.to_owned(),
                name: name.to_owned(),
                call_id: call_id.to_owned(),
                ..OutBlock::new(kind)
            }),
            Event::BlockNoted { block, name, json } => self.note(block, name, json),
            Event::BlockReopened { block } => self.set_complete(block, false),
            Event::BlockCompleted { block } => self.set_complete(block, true),
            Event::ResponseNoted { name, json } => self.identify(name, json),
            Event::ChoiceFinished { choice, reason, native } => self.finish_choice(choice, reason, native),
            Event::UsageReported { counts, json: _ } => self.answer.usage = counts,
            Event::ErrorReported { json } => self.fail(Failure::from_upstream(json)),
            Event::QuirkSeen(_) => {}
            Event::StreamEnded { interrupted } => self.end(interrupted),
        }
    }
}

impl Outlet {
    fn start(&mut self, mut block: OutBlock) {
        let way = match self.encoder.format().way(block.kind, &block.name, self.answer.is_native()) {
            Way::Never(loss) => Way::Never(loss),
            _ if self.is_left_out(block.choice) => Way::Never("choice"),
            way @ (Way::Live | Way::Whole) => way,
        };
        if let Way::Never(loss) = way {
            self.lose(loss);
            // A call is judged before it is known what the target makes of it: what hides it must not hide it from a policy.
            if self.options.gate.is_none() || !block.kind.is_call() {
                self.places.push(None);
                return;
            }
        } else {
            self.prepare(&mut block);
        }
        let at = self.lane(block.choice);
        self.places.push(Some(at));
        let order = self.options.text_order;
        let entry = Entry::new(block, way);
        let weight = entry.weight();
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.add(entry, order);
        }
        self.hold(weight);
    }

    /// Gives a block that will be written what the target changes of it.
    fn prepare(&mut self, block: &mut OutBlock) {
        if let Some(change) = self.encoder.format().changes(block.kind) {
            self.lose(change);
        }
        if block.kind.is_call() {
            block.id = self.ids.write(&block.id, self.answer.is_native(), self.options.target);
        }
    }

    fn grow(&mut self, block: usize, part: Part, text: &str) {
        let Some((at, position)) = self.place(block) else { return self.grow_closed(block, part, text) };
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.get_mut(position)) else { return };
        if entry.judged != Judged::NotAsked && matches!(part, Part::Arguments | Part::Name) {
            // Whether its verdict is there yet must not decide what comes of it.
            return self.grow_closed(block, part, text);
        }
        entry.see(part, text);
        if self.options.asks_text() && entry.asks_text(part) {
            return self.ask_text(block, text);
        }
        let is_live = position == 0 && entry.is_open && part != Part::Name;
        if is_live {
            return self.encoder.format().grow(&entry.block, part, text, &mut self.out);
        }
        entry.keep(part, text);
        if self.hold(text.len()) && position == 0 {
            self.advance(at);
        }
    }

    /// More for a block that was written to its end.
    fn grow_closed(&mut self, block: usize, part: Part, text: &str) {
        if !self.is_written(block) {
            return;
        }
        match part {
            Part::Arguments if text.trim_ascii().is_empty() => {}
            Part::Arguments | Part::Name => {
                self.fail(Failure::new(FailureKind::Api, "the upstream added to a tool call that was complete"));
            }
            Part::Signature | Part::Data => self.add_late(block, part, text),
            Part::Text | Part::Raw => self.lose("late_text"),
        }
    }

    /// A signature or sealed reasoning that comes when its block has been written: it leaves as a block of its own.
    fn add_late(&mut self, block: usize, part: Part, text: &str) {
        let Some(lane) = self.places.get(block).copied().flatten().and_then(|at| self.lanes.get(at)) else { return };
        let block = OutBlock {
            // No event will name it.
            number: usize::MAX,
            choice: lane.choice,
            is_complete: true,
            ..OutBlock::new(BlockKind::Thinking)
        };
        let mut entry = Entry::new(block, Way::Live);
        entry.keep(part, text);
        let at = self.lane(lane.choice);
        let order = self.options.text_order;
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.add(entry, order);
        }
        self.advance(at);
    }

    fn note(&mut self, block: usize, name: &str, json: &str) {
        let Some((at, position)) = self.place(block) else { return self.note_closed(block, name, json) };
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.get_mut(position)) else { return };
        if name == WRITTEN_BY_MODEL && entry.block.kind == BlockKind::ToolResult {
            return self.drop_forged(at, position);
        }
        let is_open = position == 0 && entry.is_open;
        let is_written =
            is_open && self.answer.is_native() && self.encoder.format().note(&entry.block, name, json, &mut self.out);
        // Of a block that is being written, an encoder looks for the first note of a name at most: log probabilities would pile up.
        let is_kept = !is_open || !is_written && entry.block.notes.len() < NOTES && entry.block.note(name).is_none();
        if is_kept {
            entry.block.notes.push((name.to_owned(), json.to_owned()));
            self.hold(name.len() + json.len() + NOTE_BYTES);
        }
        if is_open && !is_written {
            self.lose_note(name);
        }
    }

    /// Something that only the source's format has words for, when its block has been written to its end.
    fn note_closed(&mut self, block: usize, name: &str, json: &str) {
        let is_taken = self.answer.is_native() && self.encoder.format().note_closed(block, name, json);
        if self.is_written(block) && !is_taken {
            self.lose_note(name);
        }
    }

    fn set_complete(&mut self, block: usize, is_complete: bool) {
        let Some((at, position)) = self.place(block) else { return };
        if let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.get_mut(position)) {
            entry.block.is_complete = is_complete;
            if is_complete && self.options.asks_text() && entry.asks_text(Part::Text) {
                self.asks.push(Ask::TextEnd { block });
            }
        }
        if is_complete {
            self.advance(at);
        }
    }

    fn finish_choice(&mut self, choice: u32, reason: &str, native: &str) {
        let is_left_out = self.is_left_out(choice);
        let at = self.lane(choice);
        if let Some(lane) = self.lanes.get_mut(at) {
            lane.is_finished = true;
            let reason = || Reason { word: reason.to_owned(), native: native.to_owned() };
            lane.finish = (!is_left_out).then(reason);
        }
        self.advance(at);
    }

    fn identify(&mut self, name: &str, json: &str) {
        let text = || serde_json::from_str::<String>(json).unwrap_or_default();
        match name {
            // Fields of the same name elsewhere in the stream are noted too; they come later, or are no text.
            "id" if !self.answer.has_id => {
                self.answer.has_id = !text().is_empty();
                self.answer.id = Some(text()).filter(|id| !id.is_empty()).unwrap_or_else(|| self.options.id.clone());
            }
            "model" if self.answer.model.is_empty() => self.answer.model = text(),
            // Some give it with fractions.
            "created" => {
                let seconds = json.split('.').next().and_then(|whole| whole.parse().ok());
                self.answer.created = seconds.filter(|&seconds| seconds > 0).unwrap_or(self.answer.created);
            }
            "stop_sequence" | "stop_details" | "container" => {
                self.answer.notes.retain(|(known, _)| known != name);
                if self.answer.notes.len() < NOTES {
                    self.answer.notes.push((name.to_owned(), json.to_owned()));
                }
                if !self.answer.is_native() {
                    self.lose(if name == "stop_sequence" { "stop_sequence" } else { "envelope" });
                }
            }
            "model" | "role" | "status" | "incomplete_details" => {}
            _ => self.lose("envelope"),
        }
    }

    pub(super) fn lose_note(&mut self, note: &str) {
        if let Some(loss) = loss_of(note) {
            self.lose(loss);
        }
    }
}

/// What the loss of a note is called; none if every target says it in its own way. The names are few, because the source chooses those of its fields.
fn loss_of(note: &str) -> Option<&'static str> {
    Some(match note {
        "item_id" | "item" | "status" => return None,
        "logprobs" => "logprobs",
        "annotations" => "annotations",
        "citations" => "citations",
        "signature" => "signature",
        "data" => "data",
        _ => "extras",
    })
}
