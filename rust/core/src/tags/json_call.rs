//! A call that is written as a JSON object: `{"name": …, "arguments": …}`.
//!
//! Its head, up to the name, is a marker like any other. Behind it the object is walked byte by byte, and its arguments are handed on as
//! they come, as the text that they are.

use std::borrow::Cow;

use super::attributes::spaces;
use super::lexeme::{Captures, Matched};
use crate::limits::LONGEST_NAME;
use crate::wire::progress::JsonProgress;

/// What a member of the object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Name,
    Arguments,
    Other,
}

/// The names that the members of a call have.
#[derive(Clone, Copy)]
struct Names<'a> {
    names: &'a [String],
    arguments: &'a [String],
}

impl Names<'_> {
    fn member(&self, name: &str) -> Member {
        if self.names.iter().any(|known| known == name) {
            Member::Name
        } else if self.arguments.iter().any(|known| known == name) {
            Member::Arguments
        } else {
            Member::Other
        }
    }
}

/// Where a value ends.
enum End {
    At(usize),
    Cut,
    No,
}

/// Matches an object up to the end of its name, or up to its arguments if these come first: then there is no name.
pub(super) fn match_head(text: &str, names: &[String], arguments: &[String], captures: &mut Captures<'_>) -> Matched {
    let names = Names { names, arguments };
    let bytes = text.as_bytes();
    let Some(b'{') = bytes.first() else { return Matched::No };
    let mut at = 1;
    loop {
        at += spaces(bytes, at);
        let end = match string_end(bytes, at) {
            End::At(end) => end,
            End::Cut => return Matched::Partial,
            End::No => return Matched::No,
        };
        let Some(member) = text.get(at..end).and_then(unquoted).map(|name| names.member(&name)) else {
            return Matched::No;
        };
        let colon = end + spaces(bytes, end);
        match bytes.get(colon) {
            None => return Matched::Partial,
            Some(b':') => {}
            Some(_) => return Matched::No,
        }
        let start = colon + 1 + spaces(bytes, colon + 1);
        let end = match member {
            Member::Arguments => return Matched::Full(colon + 1),
            Member::Name => match string_end(bytes, start) {
                End::At(end) => {
                    let Some(name) = text.get(start..end).and_then(unquoted).filter(|name| !name.is_empty()) else {
                        return Matched::No;
                    };
                    captures.keep("name", name);
                    return Matched::Full(end);
                }
                cut @ (End::Cut | End::No) => cut,
            },
            Member::Other => value_end(text, start),
        };
        let end = match end {
            End::At(end) => end,
            End::Cut => return Matched::Partial,
            End::No => return Matched::No,
        };
        let comma = end + spaces(bytes, end);
        match bytes.get(comma) {
            None => return Matched::Partial,
            Some(b',') => at = comma + 1,
            // An object without a name is no call.
            Some(_) => return Matched::No,
        }
    }
}

/// Behind the quote that closes the string at this place.
fn string_end(bytes: &[u8], at: usize) -> End {
    match bytes.get(at) {
        None => return End::Cut,
        Some(b'"') => {}
        Some(_) => return End::No,
    }
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            None => return End::Cut,
            Some(b'"') => return End::At(at + 1),
            Some(b'\\') => at += 2,
            Some(0..0x20) => return End::No,
            Some(_) => at += 1,
        }
    }
}

fn value_end(text: &str, at: usize) -> End {
    let bytes = text.as_bytes();
    let mut progress = JsonProgress::default();
    for (offset, byte) in bytes.get(at..).unwrap_or_default().iter().enumerate() {
        if has_ended(&progress, *byte) {
            return End::At(at + offset);
        }
        progress.push_byte(*byte);
        if progress.is_broken() {
            return End::No;
        }
    }
    End::Cut
}

fn unquoted(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

/// Where in the object.
#[derive(Debug)]
enum Place {
    /// Behind a value: a comma, or the end.
    Behind,
    /// Behind a comma.
    BeforeKey,
    /// In a name: as far as it has come, with its quotes.
    Key(String),
    /// Behind the name.
    Colon(Member),
    /// Before a value.
    BeforeValue(Member),
    /// In a value.
    Value(Member, JsonProgress),
    /// In arguments that are a string: what an escape has come to.
    Text(String),
    /// In a tool's name that comes behind the arguments.
    Name(String),
    /// Behind the object.
    Done,
    /// In what is no JSON.
    Broken,
}

/// What a walk found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'t> {
    /// The tool's name.
    Name(String),
    /// A piece of the arguments.
    Arguments(Cow<'t, str>),
    /// A second name or second arguments, left out.
    Repeated,
}

/// Walks an object from behind its head.
#[derive(Debug)]
pub(super) struct JsonCall {
    names: Vec<String>,
    arguments: Vec<String>,
    place: Place,
    /// Whether the next character of a string is escaped.
    is_escaped: bool,
    has_name: bool,
    has_arguments: bool,
}

impl JsonCall {
    pub(super) fn new(names: &[String], arguments: &[String], has_name: bool) -> Self {
        let place = if has_name { Place::Behind } else { Place::BeforeValue(Member::Arguments) };
        let (names, arguments) = (names.to_vec(), arguments.to_vec());
        Self { names, arguments, place, is_escaped: false, has_name, has_arguments: !has_name }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.place, Place::Done)
    }

    /// Whether the next character is inside a string, where no marker acts.
    pub(super) fn is_in_string(&self) -> bool {
        match &self.place {
            Place::Key(_) | Place::Text(_) | Place::Name(_) => true,
            Place::Value(_, progress) => progress.is_in_string(),
            Place::Behind
            | Place::BeforeKey
            | Place::Colon(_)
            | Place::BeforeValue(_)
            | Place::Done
            | Place::Broken => false,
        }
    }

    /// Takes text up to the end of the object, and says how much that was.
    pub(super) fn push<'t>(&mut self, text: &'t str, found: &mut Vec<Found<'t>>) -> usize {
        let mut at = 0;
        while at < text.len() && !self.is_done() {
            let rest = text.get(at..).unwrap_or_default();
            at += match &mut self.place {
                Place::Value(..) => self.push_value(rest, found),
                Place::Text(_) => self.push_text(rest, found),
                Place::Key(_) | Place::Name(_) => self.push_word(rest, found),
                Place::Broken => rest.len(),
                Place::Behind | Place::BeforeKey | Place::Colon(_) | Place::BeforeValue(_) | Place::Done => {
                    self.step(rest)
                }
            };
        }
        at
    }

    /// A byte between values. A value begins with its first byte, which is not taken.
    fn step(&mut self, text: &str) -> usize {
        let byte = text.bytes().next().unwrap_or_default();
        if byte.is_ascii_whitespace() {
            return spaces(text.as_bytes(), 0);
        }
        let (place, length) = match (&self.place, byte) {
            (Place::Behind, b',') => (Place::BeforeKey, 1),
            (Place::Behind, b'}') => (Place::Done, 1),
            (Place::BeforeKey, b'"') => (Place::Key("\"".to_owned()), 1),
            (Place::Colon(member), b':') => (Place::BeforeValue(*member), 1),
            (Place::BeforeValue(Member::Arguments), b'"') => (Place::Text(String::new()), 1),
            (Place::BeforeValue(Member::Name), b'"') => (Place::Name("\"".to_owned()), 1),
            (Place::BeforeValue(Member::Name), _) => (Place::Value(Member::Other, JsonProgress::default()), 0),
            (Place::BeforeValue(member), _) => (Place::Value(*member, JsonProgress::default()), 0),
            _ => (Place::Broken, 1),
        };
        self.place = place;
        self.is_escaped = false;
        // Only ASCII is taken; of another character nothing.
        if text.is_char_boundary(length) { length } else { 0 }
    }

    fn push_value<'t>(&mut self, text: &'t str, found: &mut Vec<Found<'t>>) -> usize {
        let Place::Value(member, progress) = &mut self.place else { return 0 };
        let member = *member;
        let mut length = text.len();
        let mut place = None;
        for (at, byte) in text.bytes().enumerate() {
            if has_ended(progress, byte) {
                (length, place) = (at, Some(Place::Behind));
                break;
            }
            progress.push_byte(byte);
            if progress.is_broken() {
                (length, place) = (at, Some(Place::Broken));
                break;
            }
        }
        if place.is_none() && progress.is_whole() && !progress.may_go_on() {
            place = Some(Place::Behind);
        }
        if member == Member::Arguments && length > 0 {
            found.push(Found::Arguments(Cow::Borrowed(text.get(..length).unwrap_or_default())));
        }
        if let Some(place) = place {
            self.place = place;
        }
        length
    }

    /// Where the string ends that the walk is in, if it does.
    fn end_of_string(&mut self, text: &str) -> Option<usize> {
        for (at, byte) in text.bytes().enumerate() {
            if byte == b'"' && !self.is_escaped {
                return Some(at);
            }
            self.is_escaped = byte == b'\\' && !self.is_escaped;
        }
        None
    }

    /// A name of a member, or the tool's name.
    fn push_word<'t>(&mut self, text: &'t str, found: &mut Vec<Found<'t>>) -> usize {
        let end = self.end_of_string(text);
        let (Place::Key(word) | Place::Name(word)) = &mut self.place else { return 0 };
        let length = end.map_or(text.len(), |at| at + 1);
        word.push_str(text.get(..length).unwrap_or_default());
        if word.len() > LONGEST_NAME {
            self.place = Place::Broken;
        } else if end.is_some() {
            self.end_word(found);
        }
        length
    }

    fn end_word(&mut self, found: &mut Vec<Found<'_>>) {
        let names = Names { names: &self.names, arguments: &self.arguments };
        self.place = match &self.place {
            Place::Key(word) => match unquoted(word).map(|name| names.member(&name)) {
                None => Place::Broken,
                Some(Member::Name) if self.has_name => repeated(found),
                Some(Member::Arguments) if self.has_arguments => repeated(found),
                Some(member) => {
                    self.has_arguments |= member == Member::Arguments;
                    Place::Colon(member)
                }
            },
            Place::Name(word) => match unquoted(word) {
                None => Place::Broken,
                Some(name) => {
                    self.has_name = true;
                    found.push(Found::Name(name));
                    Place::Behind
                }
            },
            Place::Behind
            | Place::BeforeKey
            | Place::Colon(_)
            | Place::BeforeValue(_)
            | Place::Value(..)
            | Place::Text(_)
            | Place::Done
            | Place::Broken => return,
        };
    }

    /// Arguments that are a string of JSON: what the string says.
    fn push_text<'t>(&mut self, text: &'t str, found: &mut Vec<Found<'t>>) -> usize {
        let end = self.end_of_string(text);
        let Place::Text(raw) = &mut self.place else { return 0 };
        raw.push_str(text.get(..end.unwrap_or(text.len())).unwrap_or_default());
        let mut said = String::new();
        let rest = unescape(raw, end.is_some(), &mut said);
        if !said.is_empty() {
            found.push(Found::Arguments(Cow::Owned(said)));
        }
        let Some(rest) = rest.map(str::to_owned) else {
            self.place = Place::Broken;
            return text.len();
        };
        match end {
            None => {
                *raw = rest;
                text.len()
            }
            Some(at) => {
                self.place = Place::Behind;
                at + 1
            }
        }
    }
}

fn repeated(found: &mut Vec<Found<'_>>) -> Place {
    found.push(Found::Repeated);
    Place::Colon(Member::Other)
}

/// Whether a value is over before this byte. A number ends with what is behind it; anything else with its last byte.
fn has_ended(progress: &JsonProgress, byte: u8) -> bool {
    let is_of_number = byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    progress.is_whole() && !(progress.may_go_on() && is_of_number)
}

/// Says what the inside of a string says. Gives back the escape at its end that is still coming; none if it is no JSON.
fn unescape<'r>(raw: &'r str, is_last: bool, said: &mut String) -> Option<&'r str> {
    let mut rest = raw;
    loop {
        let end = rest.bytes().position(|byte| byte == b'\\' || byte < 0x20).unwrap_or(rest.len());
        said.push_str(rest.get(..end)?);
        rest = rest.get(end..)?;
        let digits = rest.get(2..6);
        let length = match rest.as_bytes() {
            [] => return Some(rest),
            [b'\\', b'u', ..] if digits.is_some_and(is_high) => 12,
            [b'\\', b'u', ..] => 6,
            [b'\\', ..] => 2,
            [..] => return None,
        };
        if length > rest.len() && !is_last {
            return Some(rest);
        }
        let escape = rest.get(..length.min(rest.len()))?;
        said.push_str(&unquoted(&format!("\"{escape}\""))?);
        rest = rest.get(escape.len()..)?;
    }
}

/// Whether four digits are the first half of a surrogate pair.
fn is_high(digits: &str) -> bool {
    u16::from_str_radix(digits, 16).is_ok_and(|unit| (0xD800..0xDC00).contains(&unit))
}
