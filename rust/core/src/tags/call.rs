//! A call that is being read: what it holds becomes its arguments.

use std::collections::HashSet;

use super::json_call::JsonCall;
use super::value::{ValueWriter, escape};
use crate::wire::progress::JsonProgress;

/// A call that is open.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) inside: Inside,
    /// Whether anything of its arguments has been handed on.
    pub(super) has_arguments: bool,
    /// Whether a marker of the vocabulary stands in one of its values.
    pub(super) has_tag: bool,
}

/// What a call holds.
#[derive(Debug)]
pub(super) enum Inside {
    Parameters(Parameters),
    Arguments(Arguments),
    Object(JsonCall),
}

/// A call with a parameter for each argument.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    names: Names,
    /// The one that is open.
    pub(super) value: Option<ValueWriter>,
    pub(super) is_in_cdata: bool,
    /// Whether text has stood outside of the parameters: it is counted once.
    pub(super) has_stray_text: bool,
    /// Whether text or a marker has.
    pub(super) has_stray: bool,
}

impl Parameters {
    /// Whether the call has a parameter of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Begins a parameter.
    pub(super) fn name(&mut self, name: &str, out: &mut String) {
        out.push(if self.names.is_empty() { '{' } else { ',' });
        out.push('"');
        escape(name, out);
        out.push_str("\":");
        self.names.insert(name);
    }
}

/// The names of a call's parameters.
#[derive(Debug, Default)]
struct Names {
    few: Vec<String>,
    /// Those beyond the first few, so that many of them cost no more each.
    many: HashSet<String>,
}

impl Names {
    /// How many are compared one by one: nearly no call has more.
    const FEW: usize = 8;

    fn is_empty(&self) -> bool {
        self.few.is_empty()
    }

    fn contains(&self, name: &str) -> bool {
        self.few.iter().any(|known| known == name) || self.many.contains(name)
    }

    fn insert(&mut self, name: &str) {
        if self.few.len() < Self::FEW {
            self.few.push(name.to_owned());
        } else {
            self.many.insert(name.to_owned());
        }
    }
}

/// A call whose arguments stand there as JSON.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) progress: JsonProgress,
    has_begun: bool,
}

impl Arguments {
    /// Takes text, without white space around the value. With `until_whole`, up to the end of the value: says how much that was.
    pub(super) fn push<'t>(&mut self, text: &'t str, until_whole: bool, out: &mut Vec<&'t str>) -> usize {
        let mut start = 0;
        if !self.has_begun {
            start = text.len() - text.trim_start_matches(is_space).len();
            self.has_begun = start < text.len();
        }
        let mut at = start;
        for byte in text.bytes().skip(start) {
            if self.progress.is_whole() && !self.progress.may_go_on() {
                break;
            }
            self.progress.push_byte(byte);
            at += 1;
        }
        // A number may be whole before its last byte; it never ends a call by itself.
        out.extend(text.get(start..at).filter(|piece| !piece.is_empty()));
        if until_whole && self.is_over() {
            return at;
        }
        let behind = text.get(at..).unwrap_or_default().trim_start_matches(is_space);
        if !behind.is_empty() {
            self.progress.push(behind);
            out.push(behind);
        }
        text.len()
    }

    /// Whether the value has ended by itself.
    pub(super) fn is_over(&self) -> bool {
        self.progress.is_whole() && !self.progress.may_go_on()
    }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}
