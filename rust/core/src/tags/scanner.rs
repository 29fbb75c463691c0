//! Goes through a text, and says what its markers make of it.

use std::borrow::Cow;
use std::sync::Arc;

use super::call::{Call, Inside};
use super::grammar::Grammar;
use super::json_call;
use super::lookup::{Ahead, Looking, Lookup, Scope};
use super::op::{Op, Opened};
use super::state::State;
use super::transitions::open_result;
use super::value::Trimmer;
use super::vocabulary::{Body, Kept, Role};
use crate::event::{Part, Quirk};

/// How much memory the arguments of a call begin with: most of them stay within that.
const FIRST_BYTES: usize = 96;

/// Reads one text.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, and any combination can be")]
pub(super) struct Scanner {
    pub(super) grammar: Arc<Grammar>,
    pub(super) longest_value: usize,
    /// The elements that are open, outermost first.
    pub(super) stack: Vec<usize>,
    /// What may still become a marker.
    held: String,
    /// How much of what is held came with the prompt.
    prompted: usize,
    /// Whether a section has had text of its own.
    pub(super) has_section_text: bool,
    pub(super) call: Option<Call>,
    /// Whether the thinking that is open has a call in it.
    pub(super) has_tag: bool,
    pub(super) trimmer: Trimmer,
    /// Whether results have begun one that no marker announced.
    pub(super) has_loose_result: bool,
    pub(super) is_in_fence: bool,
    pub(super) is_at_line_start: bool,
    pub(super) is_stopped: bool,
}

impl Scanner {
    pub(super) fn new(grammar: Arc<Grammar>, longest_value: usize) -> Self {
        Self {
            grammar,
            longest_value,
            stack: Vec::new(),
            held: String::new(),
            prompted: 0,
            has_section_text: false,
            call: None,
            has_tag: false,
            trimmer: Trimmer::default(),
            has_loose_result: false,
            is_in_fence: false,
            is_at_line_start: true,
            is_stopped: false,
        }
    }

    pub(super) fn state(&self) -> State {
        let Some(&top) = self.stack.last() else {
            return if self.is_in_fence { State::Fence } else { State::Text };
        };
        match self.grammar.role(top) {
            Some(Role::Thinking) => State::Thinking(top),
            Some(Role::Section) if self.call.is_some() => State::Object(top),
            Some(Role::Section) => State::Section(top),
            Some(Role::Call) => match self.call.as_ref().map(|call| &call.inside) {
                Some(Inside::Arguments(_)) => State::Arguments(top),
                Some(Inside::Parameters(_) | Inside::Object(_)) | None => State::Call(top),
            },
            Some(Role::Parameter) => State::Value(top),
            Some(Role::Results) => State::Results(top),
            Some(Role::Result | Role::Failure) => State::Result(top),
            Some(Role::Ignored) | None => State::Text,
        }
    }

    fn scope(&self, state: State) -> Scope {
        match state {
            State::Section(_) if !self.has_section_text => Scope::Section,
            State::Value(_) => Scope::Value,
            State::Results(_) | State::Result(_) => Scope::Results,
            State::Text
            | State::Fence
            | State::Thinking(_)
            | State::Section(_)
            | State::Call(_)
            | State::Arguments(_)
            | State::Object(_) => Scope::Text,
        }
    }

    /// Takes what the prompt ended in. What it leaves open goes on: a call with all that it has, any other block without.
    pub(super) fn begin(&mut self, prefill: &str) -> Vec<Op<'static>> {
        let mut ops = Vec::new();
        self.scan(prefill, false, &mut ops);
        self.prompted = self.held.len();
        let is_open = !self.stack.is_empty();
        let opening = ops.iter().rposition(|op| matches!(op, Op::Open(_))).filter(|_| is_open);
        let Some(opening) = opening.filter(|&at| !ops.iter().skip(at).any(|op| *op == Op::Close)) else {
            return Vec::new();
        };
        let is_call = matches!(ops.get(opening), Some(Op::Open(Opened::Call { .. })));
        let is_told = |op: &Op<'_>| is_call || !matches!(op, Op::Grow(..));
        ops.into_iter().skip(opening).filter(is_told).map(Op::into_owned).collect()
    }

    /// Whether a piece is more of the thinking that is open, or of the text outside of everything, with nothing in it that could be a marker.
    pub(super) fn is_plain(&self, piece: &str) -> bool {
        let is_content = match self.stack.as_slice() {
            [] => true,
            [top] => self.grammar.role(*top) == Some(Role::Thinking),
            [..] => false,
        };
        is_content
            && self.held.is_empty()
            && !self.is_stopped
            // Where lines begin matters only to fences.
            && self.grammar.vocabulary.fences == Kept::AsItIs
            && self.grammar.next_start(Scope::Text, piece.as_bytes(), 0).is_none()
    }

    /// Takes the next piece of the text.
    pub(super) fn feed<'t>(&mut self, text: &'t str, ops: &mut Vec<Op<'t>>) {
        if self.held.is_empty() {
            return self.scan(text, false, ops);
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.push_str(text);
        let mut own = Vec::new();
        self.scan(&joined, false, &mut own);
        ops.extend(own.into_iter().map(Op::into_owned));
    }

    /// Nothing more comes: what was held is no marker.
    pub(super) fn release(&mut self, ops: &mut Vec<Op<'_>>) {
        let held = std::mem::take(&mut self.held);
        let mut own = Vec::new();
        self.scan(&held, true, &mut own);
        ops.extend(own.into_iter().map(Op::into_owned));
    }

    fn scan<'t>(&mut self, text: &'t str, is_last: bool, ops: &mut Vec<Op<'t>>) {
        // What is found is lent from it while the scanner changes.
        let grammar = Arc::clone(&self.grammar);
        // What stands before `start` is done with, what stands before `at` begins no marker.
        let (mut start, mut at, mut ahead) = (0, 0, Ahead::default());
        while start < text.len() && !self.is_stopped {
            let state = self.state();
            let scope = self.scope(state);
            let next = ahead.next_start(&grammar, scope, text.as_bytes(), at);
            let place = next.unwrap_or(text.len());
            let Some(rest) = text.get(place..) else {
                at = place + 1;
                continue;
            };
            if state.may_change() && start < place {
                // Other markers count behind the end of a call, and behind text in a section.
                start += self.take(text.get(start..place).unwrap_or_default(), ops);
                at = start;
                continue;
            }
            let look =
                if next.is_some() { self.look(&grammar, (state, scope), rest, is_last) } else { Lookup::Partial };
            at = place + rest.chars().next().map_or(1, char::len_utf8);
            if let Lookup::No = look {
                continue;
            }
            self.take(text.get(start..place).unwrap_or_default(), ops);
            start = place;
            match look {
                Lookup::No => {}
                Lookup::Partial => {
                    rest.clone_into(&mut self.held);
                    return;
                }
                Lookup::Found(found) => {
                    if self.token(&found, rest, ops) {
                        start = place + found.length;
                        at = start;
                        self.prompted = self.prompted.saturating_sub(found.length);
                    }
                }
            }
        }
    }

    /// Takes text that is no marker; says how much of it belongs where the text is.
    fn take<'t>(&mut self, text: &'t str, ops: &mut Vec<Op<'t>>) -> usize {
        let taken = if text.is_empty() { 0 } else { self.content(text, ops) };
        self.prompted = self.prompted.saturating_sub(taken);
        taken
    }

    /// The marker at the beginning of a text that counts here.
    fn look<'g>(
        &self,
        grammar: &'g Grammar,
        (state, scope): (State, Scope),
        text: &'g str,
        is_last: bool,
    ) -> Lookup<'g> {
        let window = text.get(..window_end(text, grammar.tag_bytes)).unwrap_or(text);
        let own = self.stack.last().and_then(|&top| grammar.close_of(top));
        let cannot_grow = is_last || window.len() < text.len();
        grammar.lookup(window, &Looking { own, scope, is_last: cannot_grow, may_stop: state.is_visible() })
    }

    fn content<'t>(&mut self, text: &'t str, ops: &mut Vec<Op<'t>>) -> usize {
        match self.state() {
            State::Text | State::Fence => {
                self.is_at_line_start = text.ends_with('\n');
                let said = self.unprompted(text);
                if !said.is_empty() {
                    ops.push(Op::Text(Cow::Borrowed(said)));
                }
            }
            State::Thinking(_) => {
                let said = self.unprompted(text);
                if !said.is_empty() {
                    ops.push(Op::Grow(Part::Text, Cow::Borrowed(said)));
                }
            }
            State::Section(_) => self.section_text(text, ops),
            State::Call(_) => self.stray_text(text, ops),
            State::Arguments(_) => return self.push_arguments(text, ops),
            State::Object(_) => return self.push_object(text, ops),
            State::Value(_) => self.push_value(text, ops),
            State::Results(_) => self.loose_result(text, ops),
            State::Result(_) => {
                let said = self.unprompted(text);
                self.trimmer.push(said, |piece| grow(Part::Text, piece.to_owned(), ops));
            }
        }
        text.len()
    }

    /// The text without what came with the prompt.
    fn unprompted<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.prompted.min(text.len())..).unwrap_or_default()
    }

    /// The end of a text without what came with the prompt.
    fn unprompted_end<'t>(&self, text: &'t str, end: &'t str) -> &'t str {
        let new = self.unprompted(text);
        if new.len() < end.len() { new } else { end }
    }

    /// What is left of text in a section without what says nothing there: white space between calls, and what makes a list of them.
    fn said_in_section<'t>(&self, text: &'t str) -> &'t str {
        let section = self.stack.last().and_then(|&top| self.grammar.element(top));
        let is_list = section.is_some_and(|section| matches!(section.body, Body::JsonCalls { .. }));
        text.trim_start_matches(|each: char| each.is_ascii_whitespace() || (is_list && matches!(each, '[' | ',' | ']')))
    }

    /// What says something in a section is text, from there to the next marker.
    fn section_text<'t>(&mut self, text: &'t str, ops: &mut Vec<Op<'t>>) {
        let said = if self.has_section_text { text } else { self.said_in_section(text) };
        if said.is_empty() {
            return;
        }
        self.has_section_text = true;
        let shown = self.unprompted_end(text, said);
        if !shown.is_empty() {
            ops.push(Op::Text(Cow::Borrowed(shown)));
        }
    }

    /// Text in a call that is in none of its parameters has no place in its arguments.
    fn stray_text(&mut self, text: &str, ops: &mut Vec<Op<'_>>) {
        let Some(Call { inside: Inside::Parameters(parameters), .. }) = &mut self.call else { return };
        if !parameters.has_stray_text && !text.trim_matches(|each: char| each.is_ascii_whitespace()).is_empty() {
            parameters.has_stray_text = true;
            parameters.has_stray = true;
            ops.push(Op::Quirk(Quirk::StrayText));
        }
    }

    fn push_arguments<'t>(&mut self, text: &'t str, ops: &mut Vec<Op<'t>>) -> usize {
        let ends_itself =
            self.stack.last().and_then(|&top| self.grammar.element(top)).is_some_and(|e| e.close.is_none());
        let Some(Call { inside: Inside::Arguments(arguments), has_arguments, .. }) = &mut self.call else {
            return text.len();
        };
        let mut pieces = Vec::new();
        let used = arguments.push(text, ends_itself, &mut pieces);
        *has_arguments |= !pieces.is_empty();
        let is_over = ends_itself && arguments.is_over();
        ops.extend(pieces.into_iter().map(|piece| Op::Grow(Part::Arguments, Cow::Borrowed(piece))));
        if is_over {
            self.finish_call(ops);
        }
        used
    }

    fn push_object<'t>(&mut self, text: &'t str, ops: &mut Vec<Op<'t>>) -> usize {
        let Some(Call { inside: Inside::Object(object), has_arguments, .. }) = &mut self.call else {
            return text.len();
        };
        let mut found = Vec::new();
        let used = object.push(text, &mut found);
        *has_arguments |= found.iter().any(|found| matches!(found, json_call::Found::Arguments(_)));
        let is_done = object.is_done();
        ops.extend(found.into_iter().map(|found| match found {
            json_call::Found::Name(name) => Op::Grow(Part::Name, Cow::Owned(name)),
            json_call::Found::Arguments(text) => Op::Grow(Part::Arguments, text),
            json_call::Found::Repeated => Op::Quirk(Quirk::Contradiction),
        }));
        if is_done {
            self.finish_call(ops);
        }
        used
    }

    pub(super) fn push_value(&mut self, text: &str, ops: &mut Vec<Op<'_>>) {
        let Some(Call { inside: Inside::Parameters(parameters), .. }) = &mut self.call else { return };
        let Some(value) = &mut parameters.value else { return };
        grow_arguments(ops, |out| value.push(text, out));
    }

    /// Text between results: a result that nothing announced.
    fn loose_result(&mut self, whole: &str, ops: &mut Vec<Op<'_>>) {
        let text =
            if self.has_loose_result { whole } else { whole.trim_start_matches(|c: char| c.is_ascii_whitespace()) };
        if text.is_empty() {
            return;
        }
        if !std::mem::replace(&mut self.has_loose_result, true) {
            open_result(None, false, ops);
        }
        grow(Part::Text, self.unprompted_end(whole, text).to_owned(), ops);
    }

    /// Whether a marker here would stand inside of a string.
    pub(super) fn is_in_string(&self) -> bool {
        match self.call.as_ref().map(|call| &call.inside) {
            Some(Inside::Arguments(arguments)) => arguments.progress.is_in_string(),
            Some(Inside::Object(object)) => object.is_in_string(),
            Some(Inside::Parameters(_)) | None => false,
        }
    }

    /// Whether the JSON that a call holds has ended.
    pub(super) fn has_all_arguments(&self) -> bool {
        matches!(&self.call, Some(Call { inside: Inside::Arguments(arguments), .. }) if arguments.is_over())
    }

    pub(super) fn is_decoding(&self) -> bool {
        self.grammar.vocabulary.entities == Kept::No
    }
}

/// Adds text to a part, if there is any.
pub(super) fn grow<'t>(part: Part, text: impl Into<Cow<'t, str>>, ops: &mut Vec<Op<'t>>) {
    let text = text.into();
    if !text.is_empty() {
        ops.push(Op::Grow(part, text));
    }
}

/// Adds what is written to the arguments: to those that are on their way already, if there are any.
pub(super) fn grow_arguments(ops: &mut Vec<Op<'_>>, write: impl FnOnce(&mut String)) {
    if let Some(Op::Grow(Part::Arguments, Cow::Owned(so_far))) = ops.last_mut() {
        return write(so_far);
    }
    let mut out = String::with_capacity(FIRST_BYTES);
    write(&mut out);
    grow(Part::Arguments, out, ops);
}

/// Where the text ends that a marker may be in: one byte more than a marker may have, at the end of a character.
fn window_end(text: &str, tag_bytes: usize) -> usize {
    (tag_bytes + 1..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}
