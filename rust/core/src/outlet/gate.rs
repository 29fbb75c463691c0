//! Verdicts: which calls wait for one, and what becomes of them.
//!
//! Rules. (1) A block is asked about once nothing can follow, all such blocks of a lane at once. (2) A verdict names the call and the digest of what was
//! judged; one for anything else changes nothing. (3) A call that is not sound is refused whatever the verdict says. (4) A call that is denied is
//! replaced by a text with the reason, any other block is left out; what is replaced is written as the verdict has it.

use super::Outlet;
use super::lane::Entry;
use crate::digest::FieldHash;
use crate::event::{BlockKind, Part};
use crate::wire::encode::{Closing, OutBlock, Way};
use crate::wire::strict;

/// Notes of tags that make a block doubtful, in alphabetical order: whoever acts on the block should know of them.
pub const DOUBTS: [&str; 5] = ["stray", "tag_in_thinking", "tag_in_value", "unclosed_tag", WRITTEN_BY_MODEL];

/// The note on a result that no tool gave.
pub(super) const WRITTEN_BY_MODEL: &str = "written_by_model";

/// What a policy is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Whether a block may leave.
    Block {
        /// The block.
        block: usize,
        /// What it is.
        kind: BlockKind,
    },
    /// What to write for the last text of a block.
    Text {
        /// The block.
        block: usize,
        /// Where its text lies in the texts that are asked about.
        start: usize,
        /// Where that text ends.
        end: usize,
    },
    /// What is left to write of a block whose text is over.
    TextEnd {
        /// The block.
        block: usize,
    },
}

/// A call as it is judged.
#[derive(Clone, Copy, Debug)]
pub struct CallView<'a> {
    /// Its block.
    pub block: usize,
    /// What sort of call it is.
    pub kind: BlockKind,
    /// The choice that it belongs to.
    pub choice: u32,
    /// Its number among the calls of its choice.
    pub index: usize,
    /// Its id, as it is written.
    pub id: &'a str,
    /// The tool.
    pub name: &'a str,
    /// What the tool is to be called with.
    pub arguments: &'a str,
    /// What came with it that is kept as it came: name and JSON value.
    pub notes: &'a [(String, String)],
    /// Why it cannot be allowed, if so.
    pub fault: Option<&'static str>,
}

/// What was decided of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may leave.
    Allow,
    /// It may not; the reason, for the client.
    Deny(String),
    /// Another one leaves in its place.
    Replace {
        /// The tool.
        name: String,
        /// What to call it with.
        arguments: String,
    },
}

/// How far a call has been judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    NotAsked,
    Asked,
    Decided(Verdict),
}

impl CallView<'_> {
    /// Marks of doubt: what makes it look as if it were not the model's own call.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(|(name, _)| name.as_str()).filter(|name| DOUBTS.contains(name))
    }

    /// What a verdict is bound to: SHA-256 over a mark, the choice, the index, the kind, the id, the name and the arguments, in hexadecimal.
    /// A number is eight bytes, the highest first; a text is its length as such a number, then its bytes.
    pub fn digest(&self) -> String {
        let mut fields = FieldHash::default();
        fields.add_text("penstock.call.1");
        fields.add_number(self.choice.into());
        fields.add_number(self.index as u64);
        for field in [self.kind.call_name(), self.id, self.name, self.arguments] {
            fields.add_text(field);
        }
        fields.finish()
    }
}

impl Entry {
    fn view(&self, fault: Option<&'static str>) -> CallView<'_> {
        let block = &self.block;
        CallView {
            block: block.number,
            kind: block.kind,
            choice: block.choice,
            index: block.call,
            id: &block.id,
            name: &block.name,
            // Nothing at all, and null, call a tool with nothing: one spelling, for whoever judges and for whoever is called.
            arguments: if self.says_anything() { &block.text } else { "{}" },
            notes: &block.notes,
            fault,
        }
    }

    /// Why it must not leave, whatever the verdict is.
    fn fault(&self) -> Option<&'static str> {
        if !self.block.kind.is_call() {
            return self.raw_fault();
        }
        let takes_json = self.block.kind != BlockKind::CustomCall && self.way != Way::Whole;
        match () {
            () if self.block.name.is_empty() => Some("the call has no name"),
            () if !self.is_sound() => Some("the arguments are not one whole JSON object"),
            () if takes_json && self.says_anything() => strict::fault(&self.block.text),
            () => self.raw_fault(),
        }
    }

    /// What is passed on as it came must say the same to everyone.
    fn raw_fault(&self) -> Option<&'static str> {
        let item = self.block.notes.iter().filter(|(name, _)| name == "item").map(|(_, json)| json);
        self.block.raw.iter().chain(item).find_map(|json| strict::fault(json))
    }

    /// The verdict, unless what it lets out must not leave.
    fn checked(&self, verdict: Verdict) -> Verdict {
        let fault = match &verdict {
            Verdict::Allow => self.fault(),
            Verdict::Deny(_) => None,
            Verdict::Replace { name, arguments } => {
                let block = OutBlock { name: name.clone(), text: arguments.clone(), ..OutBlock::new(self.block.kind) };
                let mut other = Self::new(block, self.way);
                other.restart();
                other.fault()
            }
        };
        fault.map_or(verdict, |fault| Verdict::Deny(fault.to_owned()))
    }
}

impl Outlet {
    /// Whether there is anything to ask the policy.
    pub fn has_asks(&self) -> bool {
        !self.asks.is_empty()
    }

    /// What the policy is asked since the last call.
    pub fn take_asks(&mut self) -> Vec<Ask> {
        std::mem::take(&mut self.asks)
    }

    /// A call that waits for its verdict.
    pub fn call(&self, block: usize) -> Option<CallView<'_>> {
        let (at, position) = self.place(block)?;
        let entry = self.lanes.get(at)?.queue.get(position)?;
        (entry.judged == Judged::Asked && entry.block.kind.is_call()).then(|| entry.view(entry.fault()))
    }

    /// The wire's name for a block that waits for its verdict.
    pub fn name(&self, block: usize) -> &str {
        let entry = self.place(block).and_then(|(at, position)| self.lanes.get(at)?.queue.get(position));
        entry.map_or("", |entry| &entry.block.name)
    }

    /// Takes the verdict on a block; false if no such block waits, or if the call is not the one that was judged.
    pub fn decide(&mut self, block: usize, digest: &str, verdict: Verdict) -> bool {
        let Some((at, position)) = self.place(block) else { return false };
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.get_mut(position)) else { return false };
        let is_other = entry.block.kind.is_call() && entry.view(None).digest() != digest;
        if entry.judged != Judged::Asked || is_other {
            return false;
        }
        entry.judged = Judged::Decided(entry.checked(verdict));
        self.advance_after(at);
        true
    }

    /// Writes what the policy gives back of a block's text.
    pub fn write_text(&mut self, block: usize, text: &str) {
        let Some((at, position)) = self.place(block) else { return };
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.get_mut(position)) else { return };
        if text.is_empty() {
            return;
        }
        if position == 0 && entry.is_open {
            return self.encoder.format().grow(&entry.block, Part::Text, text, &mut self.out);
        }
        entry.keep(Part::Text, text);
        if self.hold(text.len()) {
            self.advance(at);
        }
    }

    /// The policy has given back all of a block's text.
    pub fn end_text(&mut self, block: usize) {
        let Some((at, position)) = self.place(block) else { return };
        if let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.get_mut(position)) {
            entry.is_released = true;
        }
        self.advance_after(at);
    }

    /// Goes on after the policy has spoken: in one lane, or in all if all waited for it.
    fn advance_after(&mut self, at: usize) {
        if self.options.is_buffered() {
            return self.advance_all();
        }
        self.advance(at);
        self.end_if_done();
    }

    /// The texts that are asked about, joined; [`Ask::Text`] says where each lies.
    pub fn take_asked_text(&mut self) -> String {
        std::mem::take(&mut self.asked_text)
    }

    pub(super) fn ask_text(&mut self, block: usize, text: &str) {
        let start = self.asked_text.len();
        self.asked_text.push_str(text);
        self.asks.push(Ask::Text { block, start, end: self.asked_text.len() });
    }

    /// Asks about the blocks of a lane that nothing can follow.
    pub(super) fn ask(&mut self, at: usize) {
        if self.options.gate.is_none() {
            return;
        }
        let is_chat = self.is_from_chat();
        let Some(lane) = self.lanes.get_mut(at) else { return };
        let is_finished = lane.is_finished;
        for entry in lane.queue.iter_mut().filter(|entry| entry.judged == Judged::NotAsked) {
            let OutBlock { number: block, kind, .. } = entry.block;
            if self.options.judges(kind) && entry.is_closable(is_chat, is_finished, true) {
                entry.judged = Judged::Asked;
                self.asks.push(Ask::Block { block, kind });
            }
        }
    }

    /// Writes the first block of a lane if its verdict is there; true if it is done.
    pub(super) fn release(&mut self, at: usize) -> bool {
        let is_left_out = self.lanes.get(at).is_some_and(|lane| self.is_left_out(lane.choice));
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.front_mut()) else { return false };
        let Judged::Decided(verdict) = &entry.judged else { return false };
        let is_lost = matches!(entry.way, Way::Never(_));
        match verdict.clone() {
            // The reason stands where the call would have stood, if that is anywhere.
            Verdict::Deny(_) if is_left_out => return self.pop_front(at).is_some(),
            Verdict::Allow | Verdict::Replace { .. } if is_lost => return self.pop_front(at).is_some(),
            Verdict::Allow => {}
            Verdict::Deny(reason) if entry.block.kind.is_call() => return self.write_refusal(at, &reason),
            Verdict::Deny(_) => return self.drop_front(at),
            Verdict::Replace { name, arguments } => {
                let entry_block = &mut entry.block;
                (entry_block.name, entry_block.text) = (name, arguments);
                entry.restart();
            }
        }
        if self.fail_if_faulty(at) {
            return false;
        }
        self.open_front(at);
        self.close_front(at)
    }

    /// Leaves out a block that nobody waits for an answer to.
    fn drop_front(&mut self, at: usize) -> bool {
        self.lose("denied");
        self.pop_front(at).is_some()
    }

    /// Leaves out a result that the model wrote: a client would take it for one that a tool gave. It is noted before anything of it comes.
    pub(super) fn drop_forged(&mut self, at: usize, position: usize) {
        let Some(entry) = self.lanes.get_mut(at).and_then(|lane| lane.queue.remove(position)) else { return };
        self.held = self.held.saturating_sub(entry.weight());
        if let Some(place) = self.places.get_mut(entry.block.number) {
            *place = None;
        }
        self.lose("tool_result");
    }

    /// Writes a text in the place of a call.
    fn write_refusal(&mut self, at: usize, reason: &str) -> bool {
        let Some(entry) = self.pop_front(at) else { return false };
        let OutBlock { number, choice, .. } = entry.block;
        let block = OutBlock { number, choice, is_complete: true, ..OutBlock::new(BlockKind::Text) };
        let format = self.encoder.format();
        format.open(&block, &self.answer, &mut self.out);
        format.grow(&block, Part::Text, reason, &mut self.out);
        format.close(&block, Closing::Whole, &self.answer, &mut self.out).is_ok()
    }
}
