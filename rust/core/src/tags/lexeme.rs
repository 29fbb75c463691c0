//! One marker, and whether it stands at the beginning of a text.

use std::borrow::Cow;

use super::attributes::{match_rest, spaces};
use super::json_call;
use super::vocabulary::{Marker, MarkerPiece};

/// Whether a marker stands where it was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matched {
    /// It does, and is this long.
    Full(usize),
    /// The text ends too early to tell.
    Partial,
    /// It does not.
    No,
}

/// What a marker has in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Captures<'t> {
    /// Nearly no marker has more than one.
    first: Option<Capture<'t>>,
    others: Vec<Capture<'t>>,
    pub(super) is_self_closing: bool,
    /// Whether an attribute that is kept came twice.
    pub(super) has_repeated: bool,
}

/// A name, and what stands for it.
type Capture<'t> = (&'t str, Cow<'t, str>);

impl<'t> Captures<'t> {
    pub(super) fn keep(&mut self, name: &'t str, value: impl Into<Cow<'t, str>>) {
        if name.is_empty() {
            return;
        }
        if self.get(name).is_some() {
            self.has_repeated = true;
            return;
        }
        let capture = (name, value.into());
        match &self.first {
            None => self.first = Some(capture),
            Some(_) => self.others.push(capture),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Capture<'t>> {
        self.first.iter().chain(&self.others)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all().find(|(known, _)| *known == name).map(|(_, value)| value.as_ref())
    }

    /// The template with what was captured in place of `{name}`.
    pub(super) fn fill(&self, template: &str) -> String {
        if template.is_empty() {
            return String::new();
        }
        self.all().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }
}

/// How a marker is recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// By its pieces.
    Pieces(Marker),
    /// A call as a JSON object, up to its name, or up to its arguments if these come first.
    JsonCall {
        /// The names for the tool's name.
        names: Vec<String>,
        /// The names for its arguments.
        arguments: Vec<String>,
    },
    /// A character reference: `&lt;`, `&#65;`.
    Entity,
}

impl Shape {
    /// Whether the marker stands at the beginning of the text.
    pub(super) fn matches<'t>(&'t self, text: &'t str, captures: &mut Captures<'t>) -> Matched {
        match self {
            Self::Pieces(pieces) => match_pieces(pieces, text, captures),
            Self::JsonCall { names, arguments } => json_call::match_head(text, names, arguments, captures),
            Self::Entity => match_entity(text, captures),
        }
    }

    /// Says each byte that a marker may begin with, and each that may stand behind that.
    pub(super) fn each_start(&self, mut say: impl FnMut(u8, u8)) {
        let bytes = || 0..=u8::MAX;
        match self {
            Self::Pieces(pieces) => match pieces.first() {
                Some(MarkerPiece::Literal(literal)) => {
                    let first = literal.bytes().next().unwrap_or_default();
                    bytes().filter(|&second| may_begin(pieces, &[first, second])).for_each(|second| say(first, second));
                }
                // A word may have one character, and anything behind it.
                Some(MarkerPiece::Capture(_)) => {
                    bytes().filter(|&first| is_word_byte(first)).for_each(|first| say(first, 0));
                    bytes().for_each(|second| say(b'a', second));
                }
                Some(MarkerPiece::Space | MarkerPiece::Prefix | MarkerPiece::Attributes(_)) | None => {}
            },
            Self::JsonCall { .. } => bytes().for_each(|second| say(b'{', second)),
            Self::Entity => bytes().for_each(|second| say(b'&', second)),
        }
    }
}

/// Whether a marker may begin with these bytes.
fn may_begin(pieces: &[MarkerPiece], text: &[u8]) -> bool {
    let (Some(piece), Some((&first, rest))) = (pieces.first(), text.split_first()) else { return true };
    let behind = pieces.get(1..).unwrap_or_default();
    match piece {
        MarkerPiece::Literal(literal) => {
            let length = literal.len().min(text.len());
            literal.as_bytes().get(..length) == text.get(..length)
                && may_begin(behind, text.get(length..).unwrap_or_default())
        }
        MarkerPiece::Space => (first.is_ascii_whitespace() && may_begin(pieces, rest)) || may_begin(behind, text),
        MarkerPiece::Prefix => is_prefix_byte(first) || may_begin(behind, text),
        MarkerPiece::Capture(_) => is_word_byte(first),
        MarkerPiece::Attributes(_) => first.is_ascii_whitespace() || matches!(first, b'>' | b'/'),
    }
}

/// Whether a byte may stand in a namespace prefix.
pub(super) fn is_prefix_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Whether a byte may stand in a word that a marker has in it, such as a tool's name.
fn is_word_byte(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !byte.is_ascii_control() && !b"<>[]{}()\"'`|,;=".contains(&byte)
}

fn match_pieces<'t>(pieces: &'t [MarkerPiece], text: &'t str, captures: &mut Captures<'t>) -> Matched {
    let mut at = 0;
    for (number, piece) in pieces.iter().enumerate() {
        let rest = text.get(at..).unwrap_or_default();
        let matched = match piece {
            MarkerPiece::Literal(literal) => match_literal(literal, rest),
            MarkerPiece::Space => match spaces(rest.as_bytes(), 0) {
                length if length == rest.len() => Matched::Partial,
                length => Matched::Full(length),
            },
            MarkerPiece::Prefix => match_prefix(rest),
            MarkerPiece::Capture(name) => match match_word(rest, pieces.get(number + 1)) {
                Matched::Full(length) => {
                    captures.keep(name, rest.get(..length).unwrap_or_default());
                    Matched::Full(length)
                }
                other @ (Matched::Partial | Matched::No) => other,
            },
            MarkerPiece::Attributes(kept) => match_rest(rest, kept, captures),
        };
        match matched {
            Matched::Full(length) => at += length,
            Matched::Partial | Matched::No => return matched,
        }
    }
    Matched::Full(at)
}

fn match_literal(literal: &str, text: &str) -> Matched {
    if text.starts_with(literal) {
        Matched::Full(literal.len())
    } else if literal.starts_with(text) {
        Matched::Partial
    } else {
        Matched::No
    }
}

/// A prefix and its colon; nothing if there is none.
fn match_prefix(text: &str) -> Matched {
    let bytes = text.as_bytes();
    match bytes.iter().position(|&byte| !is_prefix_byte(byte)) {
        None => Matched::Partial,
        Some(length) if length > 0 && bytes.get(length) == Some(&b':') => Matched::Full(length + 1),
        Some(_) => Matched::Full(0),
    }
}

/// A word: up to what cannot be in one, or to the first byte of the literal behind it.
fn match_word(text: &str, behind: Option<&MarkerPiece>) -> Matched {
    let end = match behind {
        Some(MarkerPiece::Literal(literal)) => literal.bytes().next().unwrap_or_default(),
        Some(MarkerPiece::Space | MarkerPiece::Prefix | MarkerPiece::Capture(_) | MarkerPiece::Attributes(_))
        | None => 0,
    };
    match text.bytes().position(|byte| !is_word_byte(byte) || byte == end) {
        None => Matched::Partial,
        Some(0) => Matched::No,
        Some(length) => Matched::Full(length),
    }
}

/// The longest reference that means something: `&#1114111;`.
const LONGEST_ENTITY: usize = 10;

fn match_entity<'t>(text: &'t str, captures: &mut Captures<'t>) -> Matched {
    let bytes = text.as_bytes();
    let Some(b'&') = bytes.first() else { return Matched::No };
    let window = bytes.get(..bytes.len().min(LONGEST_ENTITY)).unwrap_or_default();
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'#';
    match window.iter().skip(1).position(|byte| !is_inside(byte)) {
        None if window.len() < LONGEST_ENTITY => Matched::Partial,
        Some(length) if bytes.get(length + 1) == Some(&b';') => {
            let Some(character) = entity(text.get(1..=length).unwrap_or_default()) else { return Matched::No };
            captures.keep("character", character.to_string());
            Matched::Full(length + 2)
        }
        Some(_) | None => Matched::No,
    }
}

/// The character that a reference stands for.
fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(number.ok()?)
        }
    }
}

/// A text in which each reference is the character that it stands for.
pub(super) fn decoded(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, reference) = rest.split_at(at);
        result.push_str(before);
        let mut captures = Captures::default();
        if let Matched::Full(length) = match_entity(reference, &mut captures) {
            result.push_str(captures.get("character").unwrap_or_default());
            rest = reference.get(length..).unwrap_or_default();
        } else {
            result.push('&');
            rest = reference.get(1..).unwrap_or_default();
        }
    }
    result + rest
}
