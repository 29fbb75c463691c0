//! The life of a call: what opens it, what its parameters are, what ends it.

use super::call::{Arguments, Call, Inside, Parameters};
use super::json_call::JsonCall;
use super::lexeme::Captures;
use super::op::{Op, Opened};
use super::scanner::{Scanner, grow, grow_arguments};
use super::state::State;
use super::transitions::UNCLOSED;
use super::value::ValueWriter;
use super::vocabulary::{Body, ValueRule};
use crate::event::{Part, Quirk};

/// The note on a call that has a marker of the vocabulary in one of its values.
const TAG_IN_VALUE: &str = "tag_in_value";
/// The note on a call that has text or markers outside of its parameters.
const STRAY: &str = "stray";

impl Scanner {
    pub(super) fn parameters(&mut self) -> Option<&mut Parameters> {
        match &mut self.call.as_mut()?.inside {
            Inside::Parameters(parameters) => Some(parameters),
            Inside::Arguments(_) | Inside::Object(_) => None,
        }
    }

    pub(super) fn open_call(&mut self, element: usize, captures: &Captures<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        let name = captures.get("name").map(|name| self.plain(name)).filter(|name| !name.is_empty());
        let Some((name, shape)) = name.zip(self.grammar.element(element)) else {
            ops.push(Op::Quirk(Quirk::StrayTag));
            return true;
        };
        if captures.has_repeated {
            ops.push(Op::Quirk(Quirk::RepeatedAttribute));
        }
        let made = Some(captures.fill(&shape.call_id)).filter(|id| !id.is_empty());
        let given = || captures.get("id").map(|id| self.plain(id).into_owned()).filter(|id| !id.is_empty());
        let id = made.or_else(given);
        let inside = match shape.body {
            Body::Arguments => Inside::Arguments(Arguments::default()),
            Body::Elements | Body::JsonCalls { .. } => Inside::Parameters(Parameters::default()),
        };
        // Only a schema of the tool has to know its name again.
        let known = if self.grammar.vocabulary.types.is_empty() { String::new() } else { name.clone().into_owned() };
        ops.extend([Op::EndText, Op::Open(Opened::Call { name: name.into_owned(), id })]);
        self.stack.push(element);
        self.call = Some(Call { name: known, inside, has_arguments: false, has_tag: false });
        if captures.is_self_closing {
            self.finish_call(ops);
        }
        true
    }

    /// A call that is a JSON object, unless text has come before it: then it is text, too.
    pub(super) fn open_object(&mut self, captures: &Captures<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        let State::Section(section) = self.state() else { return false };
        let Some(Body::JsonCalls { names, arguments }) = self.grammar.element(section).map(|element| &element.body)
        else {
            return false;
        };
        if self.has_section_text {
            return false;
        }
        let name = captures.get("name");
        let object = JsonCall::new(names, arguments, name.is_some());
        let name = name.unwrap_or_default().to_owned();
        ops.extend([Op::EndText, Op::Open(Opened::Call { name: name.clone(), id: None })]);
        self.call = Some(Call { name, inside: Inside::Object(object), has_arguments: false, has_tag: false });
        true
    }

    pub(super) fn open_parameter(&mut self, element: usize, captures: &Captures<'_>, ops: &mut Vec<Op<'_>>) -> bool {
        let key = captures.get("key").map(|key| self.plain(key));
        let (Some(key), Some(shape)) = (key, self.grammar.element(element)) else {
            self.mark_stray();
            ops.push(Op::Quirk(Quirk::StrayTag));
            return true;
        };
        let (rule, trims, longest) = (self.rule(&key, shape.values, captures), shape.trims, self.longest_value);
        let Some(Call { inside: Inside::Parameters(parameters), has_arguments, .. }) = &mut self.call else {
            return true;
        };
        *has_arguments = true;
        if parameters.has(&key) || captures.has_repeated {
            ops.push(Op::Quirk(Quirk::RepeatedAttribute));
        }
        grow_arguments(ops, |out| {
            parameters.name(&key, out);
            let value = ValueWriter::new(rule, trims, longest, out);
            if captures.is_self_closing {
                value.close(out);
            } else {
                parameters.value = Some(value);
                parameters.is_in_cdata = false;
                self.stack.push(element);
            }
        });
        true
    }

    /// What the text of a parameter is: the marker says so, or the tool's schema, or else the vocabulary.
    fn rule(&self, key: &str, usual: ValueRule, captures: &Captures<'_>) -> ValueRule {
        let tool = self.call.as_ref().map_or("", |call| call.name.as_str());
        let mut known = self.grammar.vocabulary.types.iter();
        match captures.get("string") {
            Some("true") => ValueRule::Raw,
            Some("false") => ValueRule::Json,
            Some(_) | None => known
                .find(|(of_tool, parameter, _)| of_tool == tool && parameter == key)
                .map_or(usual, |(_, _, rule)| *rule),
        }
    }

    /// Something stands in a call that belongs to none of its parameters.
    pub(super) fn mark_stray(&mut self) {
        if let Some(parameters) = self.parameters() {
            parameters.has_stray = true;
        }
    }

    /// The call is whole. One without arguments has an empty object of them, as a native call would.
    pub(super) fn finish_call(&mut self, ops: &mut Vec<Op<'_>>) {
        let Some(call) = &self.call else { return };
        let end = match (&call.inside, call.has_arguments) {
            (_, false) => "{}",
            (Inside::Parameters(_), true) => "}",
            (Inside::Arguments(_) | Inside::Object(_), true) => "",
        };
        if !end.is_empty() {
            grow_arguments(ops, |out| out.push_str(end));
        }
        self.close_call(ops);
    }

    /// The call is not whole: nothing makes JSON of arguments that are not.
    pub(super) fn cut_call(&mut self, ops: &mut Vec<Op<'_>>) {
        let Some(call) = &mut self.call else { return };
        let mut out = String::new();
        let is_whole = match &mut call.inside {
            Inside::Parameters(parameters) => {
                if let Some(value) = parameters.value.take() {
                    value.cut(&mut out);
                    self.stack.pop();
                }
                false
            }
            // The last marker of an answer may be a token that nobody writes out.
            Inside::Arguments(arguments) => arguments.progress.is_whole(),
            Inside::Object(_) => false,
        };
        if !call.has_arguments {
            // No arguments at all would count as whole.
            out.push('{');
        }
        grow(Part::Arguments, out, ops);
        if !is_whole {
            ops.push(Op::Quirk(Quirk::UnclosedTag));
            ops.push(Op::Note(UNCLOSED, "true".to_owned()));
        }
        self.close_call(ops);
    }

    fn close_call(&mut self, ops: &mut Vec<Op<'_>>) {
        let Some(call) = self.call.take() else { return };
        if !matches!(call.inside, Inside::Object(_)) {
            self.stack.pop();
        }
        self.has_section_text = false;
        if call.has_tag {
            ops.push(Op::Note(TAG_IN_VALUE, "true".to_owned()));
        }
        if matches!(call.inside, Inside::Parameters(Parameters { has_stray: true, .. })) {
            ops.push(Op::Note(STRAY, "true".to_owned()));
        }
        ops.push(Op::Close);
    }
}
