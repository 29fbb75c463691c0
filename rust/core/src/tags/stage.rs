//! Between the decoder and the machine: what the text of a stream says in tags becomes deltas like any other.
//!
//! Rules. (1) Every text is read by a scanner of its own: that of a choice, or that of a numbered block. (2) What a text makes are
//! numbered blocks, which complete at their own close and nowhere else. (3) Any other delta that makes or ends a block of the choice ends the
//! text before it: what was held is released, what is open is closed. (4) Everything else passes as it is.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::grammar::Grammar;
use super::scanner::Scanner;
use super::text::{Numbers, Out, Text};
use crate::delta::{Delta, Field, Located, Origin};
use crate::event::{BlockKind, Part, Quirk};
use crate::intake::KEPT_DELTAS;

/// Reads tags out of the deltas of one stream.
#[derive(Debug)]
pub(crate) struct Stage {
    grammar: Arc<Grammar>,
    longest_value: usize,
    /// In the order of their numbers.
    choices: Vec<Choice>,
    numbers: Numbers,
    /// The element of a body whose text has been shown.
    shown: Option<Origin>,
    /// Memory for the deltas of the next chunk.
    spare: Vec<Located<'static>>,
}

/// The texts of one choice.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, and any combination can be")]
struct Choice {
    number: u32,
    /// The text that the wire does not number.
    text: Option<Text>,
    /// Those that it does, by its number.
    numbered: HashMap<u64, Text>,
    /// By the wire's number of a text that is over: the last block that was made of it.
    over: HashMap<u64, Option<u64>>,
    /// The wire's numbers of the blocks that came behind a stop sequence.
    late: HashSet<u64>,
    /// Whether it has had a text: only the first goes on from what the prompt ended in.
    has_begun: bool,
    has_calls: bool,
    is_stopped: bool,
    is_finished: bool,
}

impl Stage {
    pub(crate) fn new(grammar: Arc<Grammar>, longest_value: usize) -> Self {
        Self {
            grammar,
            longest_value,
            choices: Vec::new(),
            numbers: Numbers::default(),
            shown: None,
            spare: Vec::new(),
        }
    }

    pub(crate) fn count_calls_from(&mut self, first: usize) {
        self.numbers.calls = first;
    }

    /// Takes the deltas of a chunk, and leaves in their place what they say.
    pub(crate) fn pass<'a>(&mut self, deltas: &mut Vec<Located<'a>>) {
        if let [only] = deltas.as_mut_slice()
            && self.pass_plain(only)
        {
            return;
        }
        let mut out: Vec<Located<'a>> = std::mem::take(&mut self.spare);
        self.shown = None;
        for located in deltas.drain(..) {
            self.pass_one(located, &mut out);
        }
        std::mem::swap(deltas, &mut out);
        out.shrink_to(KEPT_DELTAS);
        // An empty list has no lifetime; collecting it in place keeps its memory.
        self.spare = out.into_iter().map(Located::into_owned).collect();
    }

    /// Passes a delta that says more of a text and nothing else, as nearly all do: the block it goes to is all that is new.
    fn pass_plain(&self, located: &mut Located<'_>) -> bool {
        let choice = self.choices.iter().find(|choice| choice.number == located.choice);
        let Some(block) = choice.and_then(|choice| choice.grows_by(&located.delta)) else { return false };
        if let Delta::Text(text) | Delta::Grow { text, .. } = &mut located.delta {
            located.delta = Delta::Grow { slot: block, part: Part::Text, text: std::mem::take(text) };
        }
        true
    }

    fn pass_one<'a>(&mut self, located: Located<'a>, out: &mut Vec<Located<'a>>) {
        let Located { choice: number, origin, delta } = located;
        if delta == Delta::End {
            self.finish(out);
        }
        let at = self.choices.binary_search_by_key(&number, |choice| choice.number).unwrap_or_else(|at| {
            self.choices.insert(at, Choice { number, ..Choice::default() });
            at
        });
        let Some(choice) = self.choices.get_mut(at) else { return };
        // A body says begin, text and end of an element in the same place.
        let place = if self.shown == Some(origin) { Origin::of_nothing() } else { origin };
        let mut out = Out { deltas: out, numbers: &mut self.numbers, choice: number, origin: place, has_calls: false };
        if let Some(delta) = choice.pass(delta, (&self.grammar, self.longest_value), &mut out) {
            out.deltas.push(Located { choice: number, origin: place, delta });
        }
        choice.has_calls |= out.has_calls;
        if matches!(origin.field, Field::MessageContent | Field::ResponseOutput) && !out.says_nothing() {
            self.shown = Some(origin);
        }
    }

    /// Ends every text.
    pub(crate) fn finish(&mut self, deltas: &mut Vec<Located<'_>>) {
        for choice in &mut self.choices {
            let mut out = choice.out(deltas, &mut self.numbers);
            choice.end_all(&mut out);
        }
    }

    /// The input is over although nothing has finished it: releases what is held, and leaves open what is open.
    pub(crate) fn release(&mut self, deltas: &mut Vec<Located<'_>>) {
        for choice in &mut self.choices {
            let mut out = choice.out(deltas, &mut self.numbers);
            let mut numbered: Vec<(&u64, &mut Text)> = choice.numbered.iter_mut().collect();
            numbered.sort_unstable_by_key(|(slot, _)| **slot);
            for text in choice.text.iter_mut().chain(numbered.into_iter().map(|(_, text)| text)) {
                text.release(&mut out);
            }
            if choice.is_stopped && !choice.is_finished {
                choice.is_finished = true;
                out.push(Delta::Stop { reason: choice.reason(Cow::Borrowed("stop")), native: Cow::Borrowed("") });
            }
        }
    }
}

impl Choice {
    /// Where deltas go that no place in a chunk has said.
    fn out<'o, 'a>(&self, deltas: &'o mut Vec<Located<'a>>, numbers: &'o mut Numbers) -> Out<'o, 'a> {
        Out { deltas, numbers, choice: self.number, origin: Origin::of_nothing(), has_calls: false }
    }

    /// The block that a delta makes longer, if it does nothing else.
    fn grows_by(&self, delta: &Delta<'_>) -> Option<u64> {
        if self.is_stopped || self.is_finished {
            return None;
        }
        if let Delta::Text(piece) = delta {
            return self.text.as_ref()?.grows_by(piece);
        }
        if let Delta::Grow { slot, part: Part::Text, text: piece } = delta {
            return self.numbered.get(slot)?.grows_by(piece);
        }
        None
    }

    /// Takes a delta; gives it back if it is to pass, once what it ends has ended.
    fn pass<'a>(
        &mut self,
        delta: Delta<'a>,
        grammar: (&Arc<Grammar>, usize),
        out: &mut Out<'_, 'a>,
    ) -> Option<Delta<'a>> {
        if self.is_stopped && !self.is_finished && self.is_late(&delta) {
            return Some(Delta::Repeated);
        }
        match delta {
            Delta::Text(text) if !text.is_empty() && !self.is_finished => self.feed(None, text, grammar, out),
            Delta::Open { slot, head } if head.kind == BlockKind::Text && !self.is_finished => {
                let text = self.begin(grammar, out);
                self.numbered.insert(slot, text);
                return None;
            }
            Delta::Grow { slot, part: Part::Text, text } if self.numbered.contains_key(&slot) => {
                self.feed(Some(slot), text, grammar, out);
            }
            Delta::Close { slot } if self.numbered.contains_key(&slot) => self.end_numbered(slot, out),
            Delta::NoteOn { slot, name, json } => return Some(self.note(slot, name, json)),
            Delta::Grow { slot, part, text } => return Some(Delta::Grow { slot: self.current(slot), part, text }),
            Delta::Close { slot } => return Some(Delta::Close { slot: self.current(slot) }),
            Delta::Stop { reason, native } => {
                self.end_all(out);
                self.has_calls |= out.has_calls;
                self.is_finished = true;
                return Some(Delta::Stop { reason: self.reason(reason), native });
            }
            Delta::Thinking(_)
            | Delta::Refusal(_)
            | Delta::Raw { .. }
            | Delta::Signature(_)
            | Delta::ThinkingData(_)
            | Delta::Call(_)
            | Delta::Open { .. } => {
                self.end_text(out);
                return Some(delta);
            }
            Delta::Identity { .. }
            | Delta::ResponseNote { .. }
            | Delta::Announced
            | Delta::Text(_)
            | Delta::Repeated
            | Delta::Note { .. }
            | Delta::Quirk(_)
            | Delta::Refused(_)
            | Delta::Usage { .. }
            | Delta::Error(_)
            | Delta::End => return Some(delta),
        }
        // A place in the chunk that has said nothing yet is its own all the same.
        out.says_nothing().then_some(Delta::Announced)
    }

    /// A note goes to the newest block of its text, or waits for the first.
    fn note<'a>(&mut self, slot: u64, name: Cow<'a, str>, json: Cow<'a, str>) -> Delta<'a> {
        let Some(text) = self.numbered.get_mut(&slot) else {
            return Delta::NoteOn { slot: self.current(slot), name, json };
        };
        let Some(slot) = text.newest else {
            text.notes.push((name.into_owned(), json.into_owned()));
            return Delta::Announced;
        };
        Delta::NoteOn { slot, name, json }
    }

    fn end_numbered(&mut self, slot: u64, out: &mut Out<'_, '_>) {
        if let Some(mut text) = self.numbered.remove(&slot) {
            text.finish(out);
            self.over.insert(slot, text.newest);
        }
    }

    /// The block that stands for one that is over, so that what comes late for it is told as that.
    fn current(&self, slot: u64) -> u64 {
        self.over.get(&slot).copied().flatten().unwrap_or(slot)
    }

    /// Whether a delta is behind the stop sequence, where nothing counts but the end.
    fn is_late(&mut self, delta: &Delta<'_>) -> bool {
        match delta {
            Delta::Open { slot, .. } => {
                self.late.insert(*slot);
                true
            }
            // Texts may be open side by side: the stop sequence of one is the end of all, but each still closes.
            Delta::Grow { slot, .. } => self.late.contains(slot) || self.numbered.contains_key(slot),
            Delta::NoteOn { slot, .. } | Delta::Close { slot } => self.late.contains(slot),
            Delta::Text(_)
            | Delta::Thinking(_)
            | Delta::Signature(_)
            | Delta::ThinkingData(_)
            | Delta::Refusal(_)
            | Delta::Call(_)
            | Delta::Raw { .. }
            | Delta::Note { .. } => true,
            Delta::Identity { .. }
            | Delta::ResponseNote { .. }
            | Delta::Announced
            | Delta::Repeated
            | Delta::Quirk(_)
            | Delta::Refused(_)
            | Delta::Stop { .. }
            | Delta::Usage { .. }
            | Delta::Error(_)
            | Delta::End => false,
        }
    }

    /// A choice with calls has finished for them, and one that came to a stop sequence for that. The wire's own word stays.
    fn reason<'a>(&self, reason: Cow<'a, str>) -> Cow<'a, str> {
        let reason = if self.is_stopped { Cow::Borrowed("stop") } else { reason };
        if reason == "stop" && self.has_calls { Cow::Borrowed("tool_calls") } else { reason }
    }

    fn begin(&mut self, (grammar, longest_value): (&Arc<Grammar>, usize), out: &mut Out<'_, '_>) -> Text {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let prefill = if is_first { grammar.vocabulary.prefill.as_str() } else { "" };
        Text::new(Scanner::new(Arc::clone(grammar), longest_value), prefill, out)
    }

    fn feed<'a>(
        &mut self,
        slot: Option<u64>,
        piece: Cow<'a, str>,
        grammar: (&Arc<Grammar>, usize),
        out: &mut Out<'_, 'a>,
    ) {
        if slot.is_none() && self.text.is_none() {
            self.text = Some(self.begin(grammar, out));
        }
        let text = match slot {
            None => self.text.as_mut(),
            Some(slot) => self.numbered.get_mut(&slot),
        };
        if let Some(text) = text {
            text.feed(piece, out);
            self.is_stopped |= text.scanner.is_stopped;
        }
    }

    /// Ends the text that the wire does not number.
    fn end_text(&mut self, out: &mut Out<'_, '_>) {
        let Some(mut text) = self.text.take() else { return };
        // What is closed here has no place in the chunk: the delta that follows has.
        let origin = std::mem::replace(&mut out.origin, Origin::of_nothing());
        text.finish(out);
        out.origin = origin;
    }

    /// Ends every text. One that the wire numbers should have been ended by the wire.
    fn end_all(&mut self, out: &mut Out<'_, '_>) {
        self.end_text(out);
        let mut open: Vec<u64> = self.numbered.keys().copied().collect();
        open.sort_unstable();
        for slot in open {
            out.push(Delta::Quirk(Quirk::UnclosedBlock));
            self.end_numbered(slot, out);
        }
    }
}
