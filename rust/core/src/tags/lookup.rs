//! What is looked for at a place in a text, and what was found.

use super::grammar::Grammar;
use super::lexeme::Captures;

/// Where some markers are looked for and others are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// In text, in thinking and between the elements of a call.
    Text,
    /// In a section, as long as nothing but white space was in it.
    Section,
    /// In results.
    Results,
    /// In a value.
    Value,
}

/// What is looked for at a place.
#[derive(Debug)]
pub(super) struct Looking {
    /// The marker that closes the element that is open.
    pub(super) own: Option<usize>,
    pub(super) scope: Scope,
    /// Whether nothing more can come.
    pub(super) is_last: bool,
    /// Whether a stop sequence would end the text here.
    pub(super) may_stop: bool,
}

/// Where in a text the next marker may begin that counts in text: calls that end by themselves must not have it searched once more each.
#[derive(Debug, Default)]
pub(super) struct Ahead(Option<(usize, Option<usize>)>);

impl Ahead {
    /// The next place at or behind `at` where a marker may begin.
    pub(super) fn next_start(&mut self, grammar: &Grammar, scope: Scope, text: &[u8], at: usize) -> Option<usize> {
        if scope != Scope::Text {
            return grammar.next_start(scope, text, at);
        }
        match self.0 {
            Some((from, next)) if from <= at && next.is_none_or(|next| at <= next) => next,
            Some(_) | None => {
                let next = grammar.next_start(scope, text, at);
                self.0 = Some((at, next));
                next
            }
        }
    }
}

/// A marker that was found.
#[derive(Debug)]
pub(super) struct Found<'t> {
    pub(super) lexeme: usize,
    pub(super) length: usize,
    pub(super) captures: Captures<'t>,
}

/// Whether a marker stands at a place.
#[derive(Debug)]
pub(super) enum Lookup<'t> {
    Found(Found<'t>),
    Partial,
    No,
}
