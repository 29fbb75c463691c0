//! The first blocks of a lane, opened and closed on the wire.

use super::{Outlet, TextOrder};
use crate::event::Part;
use crate::failure::{Failure, FailureKind};
use crate::wire::encode::{Closing, Way};

impl Outlet {
    /// Writes what may be written of the first blocks of a lane.
    pub(super) fn advance(&mut self, at: usize) {
        self.ask(at);
        if !self.may_write() {
            return;
        }
        while !self.is_over && self.advance_once(at) {}
        let Some(lane) = self.lanes.get_mut(at).filter(|lane| lane.queue.is_empty()) else { return };
        let choice = lane.choice;
        let Some(reason) = lane.finish.take().filter(|_| !self.is_over) else { return };
        if let Err(failure) = self.encoder.format().finish(choice, &reason, &self.answer, &mut self.out) {
            self.fail(failure);
        }
    }

    /// Writes the first block of a lane as far as that goes; true if it is done and the next may follow.
    fn advance_once(&mut self, at: usize) -> bool {
        let is_chat = self.is_from_chat();
        let Some(lane) = self.lanes.get(at) else { return false };
        let is_finished = lane.is_finished;
        let Some(entry) = lane.queue.front() else { return false };
        // Whatever comes until the finish may still have to leave before it.
        let waits = self.options.text_order == TextOrder::BeforeCalls && entry.is_for_client() && !is_finished;
        let is_judged = self.options.judges(entry.block.kind);
        let is_closable = !waits && entry.is_closable(is_chat, is_finished, is_judged);
        if is_judged {
            return is_closable && self.release(at);
        }
        let is_opening = !entry.is_open && (is_closable || entry.may_open(&self.options));
        if is_closable && self.fail_if_faulty(at) {
            return false;
        }
        if is_opening {
            self.open_front(at);
        }
        is_closable && self.may_close(at) && self.close_front(at)
    }

    /// Ends the answer if the first block of a lane is a call that the target cannot take: it must not begin, because it could not be ended.
    pub(super) fn fail_if_faulty(&mut self, at: usize) -> bool {
        let Some(entry) = self.lanes.get(at).and_then(|lane| lane.queue.front()) else { return false };
        let is_nameless = entry.block.kind.is_call() && entry.block.name.is_empty();
        let nameless = || Failure::new(FailureKind::Api, "the upstream called a tool without a name");
        let refused = || self.encoder.format().refuses(&entry.block, entry.closing());
        let Some(failure) = is_nameless.then(nameless).or_else(refused) else { return false };
        self.fail(failure);
        true
    }

    fn may_close(&self, at: usize) -> bool {
        let front = self.lanes.get(at).and_then(|lane| lane.queue.front());
        front.is_some_and(|entry| !self.options.asks_text() || !entry.asks_text(Part::Text) || entry.is_released)
    }

    pub(super) fn open_front(&mut self, at: usize) {
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.front_mut()) else { return };
        entry.is_open = true;
        let format = self.encoder.format();
        format.open(&entry.block, &self.answer, &mut self.out);
        let mut lost = Vec::new();
        for (part, text) in entry.kept() {
            self.held = self.held.saturating_sub(text.len());
            format.grow(&entry.block, part, &text, &mut self.out);
        }
        for (name, json) in entry.block.notes.clone() {
            if !(self.answer.is_native() && format.note(&entry.block, &name, &json, &mut self.out)) {
                lost.push(name);
            }
        }
        for name in lost {
            self.lose_note(&name);
        }
    }

    pub(super) fn close_front(&mut self, at: usize) -> bool {
        let Some(entry) = self.pop_front(at) else { return false };
        match self.encoder.format().close(&entry.block, entry.closing(), &self.answer, &mut self.out) {
            Ok(()) => true,
            Err(failure) => {
                self.fail(failure);
                false
            }
        }
    }

    /// Closes what can be closed of a lane that will not go on: text and reasoning, and calls that are whole. A call that is open on the wire stays so.
    pub(super) fn cut_lane(&mut self, at: usize) {
        while let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.pop_front()) {
            let is_call = entry.block.kind.is_call();
            if is_call && entry.is_open {
                return;
            }
            let may_leave = !self.options.judges(entry.block.kind)
                && !self.options.is_buffered()
                && !is_call
                && entry.way == Way::Live
                && (entry.is_open || !self.options.asks_text());
            if !may_leave {
                continue;
            }
            let is_open = entry.is_open;
            let has_anything = !(entry.block.text.is_empty() && entry.block.data.is_empty());
            if !is_open && !has_anything {
                continue;
            }
            if let Some(lane) = self.lanes.get_mut(at) {
                lane.queue.push_front(entry);
            }
            if !is_open {
                self.open_front(at);
            }
            self.close_cut(at);
        }
    }

    fn close_cut(&mut self, at: usize) {
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.pop_front()) else { return };
        let closed = self.encoder.format().close(&entry.block, Closing::Cut, &self.answer, &mut self.out);
        debug_assert!(closed.is_ok(), "only a call can refuse to be closed");
    }
}
