//! Markers that are tags: told by their name, which is read once for all of them.

use super::attributes::{match_rest, spaces};
use super::lexeme::{Captures, Matched, is_prefix_byte};
use super::vocabulary::MarkerPiece;

/// The bytes that end a name. A text may be full of what begins like a tag and goes on for long, so this is looked up.
#[allow(clippy::indexing_slicing, reason = "a constant with an index out of bounds does not compile")]
const ENDS_NAME: [bool; 256] = {
    let mut ends = [false; 256];
    let mut rest: &[u8] = b"\t\n\x0C\r ></\"'=";
    while let [byte, behind @ ..] = rest {
        ends[*byte as usize] = true;
        rest = behind;
    }
    ends
};

/// A marker of the form of a tag.
#[derive(Clone, Debug)]
pub(super) struct Tag {
    is_close: bool,
    has_prefix: bool,
    name: String,
    kept: Vec<(String, String)>,
}

/// The beginning of what may be a tag: its name with its prefix, and whether all of it is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct TagHead<'t> {
    is_close: bool,
    name: &'t str,
    /// Where the colon of a prefix stands in the name.
    colon: Option<usize>,
    is_cut: bool,
    /// Where the name ends.
    end: usize,
}

impl<'t> TagHead<'t> {
    /// The head of a text that begins with `<`.
    pub(super) fn read(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let is_close = bytes.get(1) == Some(&b'/');
        let start = if is_close { 2 } else { 1 };
        let rest = bytes.get(start..).unwrap_or_default();
        let ends = |byte: &u8| ENDS_NAME.get(usize::from(*byte)).copied().unwrap_or_default();
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let name = text.get(start..start + length).unwrap_or_default();
        let is_prefix = |colon: &usize| {
            *colon > 0
                && name.as_bytes().get(..*colon).is_some_and(|prefix| prefix.iter().all(|&byte| is_prefix_byte(byte)))
        };
        let colon = name.bytes().position(|byte| byte == b':').filter(is_prefix);
        Self { is_close, name, colon, is_cut: start + length >= text.len(), end: start + length }
    }

    /// Whether the text ends in the name, so that it may go on.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether the name, with or without its prefix, may be one that begins with this byte.
    pub(super) fn may_begin(&self, first: u8) -> bool {
        let begins = |name: &str| name.as_bytes().first() == Some(&first);
        self.is_cut || begins(self.name) || (self.colon.is_some() && begins(self.local()))
    }

    /// The name without its prefix.
    fn local(&self) -> &'t str {
        self.colon.and_then(|colon| self.name.get(colon + 1..)).unwrap_or(self.name)
    }

    /// Whether all that has come of the name could be a prefix.
    fn may_be_prefix(&self) -> bool {
        self.name.bytes().all(is_prefix_byte)
    }
}

impl Tag {
    /// The tag that the pieces of a marker are, if they are one.
    pub(super) fn of(pieces: &[MarkerPiece]) -> Option<Self> {
        let (has_prefix, pieces) = match pieces {
            [bracket, MarkerPiece::Prefix, rest @ ..] => (true, [std::slice::from_ref(bracket), rest].concat()),
            [..] => (false, pieces.to_vec()),
        };
        let tag = |is_close: bool, name: &str, kept: &[(String, String)]| {
            Some(Self { is_close, has_prefix, name: name.to_owned(), kept: kept.to_vec() })
        };
        match pieces.as_slice() {
            [MarkerPiece::Literal(bracket), MarkerPiece::Literal(name), MarkerPiece::Attributes(kept)]
                if bracket == "<" =>
            {
                tag(false, name, kept)
            }
            [
                MarkerPiece::Literal(bracket),
                MarkerPiece::Literal(name),
                MarkerPiece::Space,
                MarkerPiece::Literal(end),
            ] if bracket == "</" && end == ">" => tag(true, name, &[]),
            [..] => None,
        }
    }

    /// The first byte of its name.
    pub(super) fn first(&self) -> u8 {
        self.name.bytes().next().unwrap_or_default()
    }

    /// Whether the tag stands at the beginning of a text with this head.
    pub(super) fn matches<'t>(&'t self, head: TagHead<'t>, text: &'t str, captures: &mut Captures<'t>) -> Matched {
        let name = if self.has_prefix { head.local() } else { head.name };
        if head.is_cut {
            return if self.may_come(head, name) { Matched::Partial } else { Matched::No };
        }
        if self.is_close != head.is_close || self.name != name {
            return Matched::No;
        }
        let rest = text.get(head.end..).unwrap_or_default();
        let matched = if self.is_close { match_end(rest) } else { match_rest(rest, &self.kept, captures) };
        match matched {
            Matched::Full(length) => Matched::Full(head.end + length),
            Matched::Partial | Matched::No => matched,
        }
    }

    fn may_come(&self, head: TagHead<'_>, name: &str) -> bool {
        // A lone bracket may become either.
        let is_either = head.name.is_empty() && !head.is_close;
        (self.is_close == head.is_close || is_either)
            && (self.name.starts_with(name) || (self.has_prefix && head.colon.is_none() && head.may_be_prefix()))
    }
}

/// The end of a closing tag.
fn match_end(text: &str) -> Matched {
    let at = spaces(text.as_bytes(), 0);
    match text.as_bytes().get(at) {
        None => Matched::Partial,
        Some(b'>') => Matched::Full(at + 1),
        Some(_) => Matched::No,
    }
}
