//! What each marker does, by where it stands. A marker that does nothing there is content.

use std::borrow::Cow;

use super::grammar::Meaning;
use super::lexeme::decoded;
use super::lookup::Found;
use super::op::{Op, Opened};
use super::scanner::{Scanner, grow, grow_arguments};
use super::state::State;
use super::value::Trimmer;
use super::vocabulary::{Kept, Role};
use crate::event::{Part, Quirk};

/// The note on a call, or on thinking, that nothing closed.
pub(super) const UNCLOSED: &str = "unclosed_tag";
/// The note on thinking that has a call in it.
const TAG_IN_THINKING: &str = "tag_in_thinking";
/// The note on a result that the model wrote: only a host can have one.
const WRITTEN_BY_MODEL: &str = "written_by_model";

impl Scanner {
    /// Takes a marker; false if it is content here.
    pub(super) fn token(&mut self, found: &Found<'_>, text: &str, ops: &mut Vec<Op<'_>>) -> bool {
        let Some(meaning) = self.grammar.meaning(found.lexeme) else { return false };
        match meaning {
            Meaning::Element => self.element_token(found, ops),
            Meaning::Stop => {
                self.is_stopped = true;
                ops.push(Op::Stopped(text.get(..found.length).unwrap_or_default().to_owned()));
                true
            }
            Meaning::Fence => {
                let is_outside = matches!(self.state(), State::Text | State::Fence);
                self.is_in_fence ^= is_outside && self.is_at_line_start;
                false
            }
            Meaning::CdataOpen => self.enter_cdata(true),
            Meaning::CdataClose => self.enter_cdata(false),
            Meaning::Entity => {
                let is_kept = self.is_in_cdata();
                if !is_kept {
                    self.push_value(found.captures.get("character").unwrap_or_default(), ops);
                }
                !is_kept
            }
            Meaning::JsonCall => self.open_object(&found.captures, ops),
        }
    }

    fn is_in_cdata(&mut self) -> bool {
        self.parameters().is_some_and(|parameters| parameters.is_in_cdata)
    }

    /// Begins or ends a CDATA section; false if that is not what the marker does here.
    fn enter_cdata(&mut self, is_open: bool) -> bool {
        self.parameters().is_some_and(|parameters| std::mem::replace(&mut parameters.is_in_cdata, is_open) != is_open)
    }

    fn element_token(&mut self, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        match self.state() {
            State::Fence => false,
            State::Text => self.text_token(found, ops),
            State::Thinking(element) => self.thinking_token(element, found, ops),
            State::Section(element) => self.section_token(element, found, ops),
            State::Call(element) => self.call_token(element, found, ops),
            State::Arguments(element) | State::Object(element) => self.json_token(element, found, ops),
            State::Value(element) => self.value_token(element, found, ops),
            State::Results(element) => self.results_token(element, found, ops),
            State::Result(element) => {
                let closes = self.closes(found, element);
                if closes {
                    self.close_result(ops);
                }
                closes
            }
        }
    }

    fn closes(&self, found: &Found<'_>, element: usize) -> bool {
        self.grammar.elements_of(found.lexeme).1.contains(&element)
    }

    /// Whether a marker closes something that is open.
    fn closes_any(&self, found: &Found<'_>) -> bool {
        self.stack.iter().any(|&element| self.closes(found, element))
    }

    /// The element of a role that a marker opens: of several vocabularies that have it, that of the first.
    fn opens(&self, found: &Found<'_>, role: Role) -> Option<usize> {
        let opens = self.grammar.elements_of(found.lexeme).0;
        opens.iter().copied().find(|&element| self.grammar.role(element) == Some(role))
    }

    fn opens_call(&self, found: &Found<'_>) -> bool {
        self.opens(found, Role::Section).or_else(|| self.opens(found, Role::Call)).is_some()
    }

    /// A marker that means nothing here, which some always do. It is no text all the same.
    fn stray(&self, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        if self.opens(found, Role::Ignored).is_some() {
            ops.push(Op::EndText);
            return true;
        }
        let opens = !self.grammar.elements_of(found.lexeme).0.is_empty();
        ops.push(Op::Quirk(if opens { Quirk::StrayTag } else { Quirk::StrayCloseTag }));
        true
    }

    fn text_token(&mut self, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        let is_empty = found.captures.is_self_closing;
        if let Some(element) = self.opens(found, Role::Thinking) {
            ops.extend([Op::EndText, Op::Open(Opened::Thinking)]);
            self.has_tag = false;
            if is_empty {
                ops.push(Op::Close);
            } else {
                self.stack.push(element);
            }
            return true;
        }
        let section = self.opens(found, Role::Section).or_else(|| self.opens(found, Role::Results));
        if let Some(element) = section {
            ops.push(Op::EndText);
            self.has_section_text = false;
            self.has_loose_result = false;
            self.stack.extend(Some(element).filter(|_| !is_empty));
            return true;
        }
        match self.opens(found, Role::Call) {
            Some(element) => self.open_call(element, &found.captures, ops),
            None => self.stray(found, ops),
        }
    }

    fn thinking_token(&mut self, element: usize, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        if self.closes(found, element) {
            self.close_thinking(ops);
            return true;
        }
        if self.opens_call(found) {
            if self.grammar.vocabulary.thinking == Kept::No {
                ops.push(Op::Quirk(Quirk::UnclosedTag));
                self.close_thinking(ops);
                return self.element_token(found, ops);
            }
            self.has_tag = true;
        }
        false
    }

    fn close_thinking(&mut self, ops: &mut Vec<Op<'_>>) {
        self.stack.pop();
        if std::mem::take(&mut self.has_tag) {
            ops.push(Op::Note(TAG_IN_THINKING, "true".to_owned()));
        }
        ops.push(Op::Close);
    }

    fn section_token(&mut self, element: usize, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        if self.closes(found, element) {
            self.leave_section(ops);
            return true;
        }
        if let Some(call) = self.opens(found, Role::Call) {
            return self.open_call(call, &found.captures, ops);
        }
        let has_end = self.has_end(element);
        let leaves = |role: Role| self.opens(found, role).is_some();
        if leaves(Role::Thinking) || leaves(Role::Results) || (leaves(Role::Section) && !has_end) {
            if has_end {
                ops.push(Op::Quirk(Quirk::UnclosedTag));
            }
            self.leave_section(ops);
            return self.element_token(found, ops);
        }
        self.stray(found, ops)
    }

    fn leave_section(&mut self, ops: &mut Vec<Op<'_>>) {
        self.stack.pop();
        if self.has_section_text {
            ops.push(Op::EndText);
        }
        self.has_section_text = false;
    }

    fn has_end(&self, element: usize) -> bool {
        self.grammar.element(element).is_some_and(|element| element.close.is_some())
    }

    fn call_token(&mut self, element: usize, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        if self.closes(found, element) {
            self.finish_call(ops);
            return true;
        }
        if let Some(parameter) = self.opens(found, Role::Parameter) {
            return self.open_parameter(parameter, &found.captures, ops);
        }
        if self.opens(found, Role::Call).is_some() || self.closes_any(found) {
            self.cut_call(ops);
            return self.element_token(found, ops);
        }
        self.mark_stray();
        self.stray(found, ops)
    }

    /// A marker where JSON is expected: inside of a string it is text. Behind arguments that are over, any other is no part of them.
    fn json_token(&mut self, element: usize, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        let is_call = self.grammar.role(element) == Some(Role::Call);
        let acts = self.closes_any(found) || self.opens_call(found) || self.has_all_arguments();
        if self.is_in_string() || !acts {
            self.flag();
            return false;
        }
        if is_call && self.closes(found, element) {
            self.finish_call(ops);
            return true;
        }
        self.cut_call(ops);
        self.element_token(found, ops)
    }

    fn flag(&mut self) {
        if let Some(call) = &mut self.call {
            call.has_tag = true;
        }
    }

    fn value_token(&mut self, element: usize, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        if self.closes(found, element) && !self.is_in_cdata() {
            self.stack.pop();
            if let Some(value) = self.parameters().and_then(|parameters| parameters.value.take()) {
                grow_arguments(ops, |out| value.close(out));
            }
            return true;
        }
        self.flag();
        false
    }

    fn results_token(&mut self, element: usize, found: &Found<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        if self.closes(found, element) {
            self.close_loose_result(ops);
            self.stack.pop();
            return true;
        }
        let result = self.opens(found, Role::Result);
        let Some(item) = result.or_else(|| self.opens(found, Role::Failure)) else {
            return self.stray(found, ops);
        };
        self.close_loose_result(ops);
        let id = found.captures.get("id").map(|id| self.plain(id).into_owned());
        open_result(id, result.is_none(), ops);
        if found.captures.is_self_closing {
            ops.push(Op::Close);
        } else {
            self.stack.push(item);
            self.trimmer = Trimmer::new(self.grammar.element(item).is_some_and(|element| element.trims));
        }
        true
    }

    fn close_result(&mut self, ops: &mut Vec<Op<'_>>) {
        self.stack.pop();
        ops.push(Op::Close);
    }

    fn close_loose_result(&mut self, ops: &mut Vec<Op<'_>>) {
        if std::mem::take(&mut self.has_loose_result) {
            ops.push(Op::Close);
        }
    }

    /// What an attribute says.
    pub(super) fn plain<'v>(&self, value: &'v str) -> Cow<'v, str> {
        if self.is_decoding() { Cow::Owned(decoded(value)) } else { Cow::Borrowed(value) }
    }

    /// The text is over: closes what is open, inside out.
    pub(super) fn unwind(&mut self, ops: &mut Vec<Op<'_>>) {
        self.cut_call(ops);
        while let Some(&top) = self.stack.last() {
            if self.has_end(top) {
                ops.push(Op::Quirk(Quirk::UnclosedTag));
            }
            match self.state() {
                State::Thinking(_) => {
                    ops.push(Op::Note(UNCLOSED, "true".to_owned()));
                    self.close_thinking(ops);
                }
                State::Result(_) => {
                    self.trimmer.cut(|piece| grow(Part::Text, piece.to_owned(), ops));
                    self.close_result(ops);
                }
                State::Results(_) => {
                    self.close_loose_result(ops);
                    self.stack.pop();
                }
                State::Text
                | State::Fence
                | State::Section(_)
                | State::Call(_)
                | State::Arguments(_)
                | State::Object(_)
                | State::Value(_) => drop(self.stack.pop()),
            }
        }
    }
}

pub(super) fn open_result(call_id: Option<String>, is_failure: bool, ops: &mut Vec<Op<'_>>) {
    ops.push(Op::Open(Opened::Result { call_id, is_failure }));
    ops.push(Op::Note(WRITTEN_BY_MODEL, "true".to_owned()));
}
