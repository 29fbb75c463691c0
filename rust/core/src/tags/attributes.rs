//! The rest of an opening tag: attributes in any order, with either quote or none, and the end of the tag.

use super::lexeme::{Captures, Matched};

/// What the rest of a tag holds.
enum Step {
    /// Goes on behind this many bytes.
    To(usize),
    /// The text ends too early to tell.
    Cut,
    /// No tag.
    No,
}

/// Matches from behind the tag's name up to its end. Of an attribute that comes twice the first value counts.
pub(super) fn match_rest<'t>(text: &'t str, kept: &'t [(String, String)], captures: &mut Captures<'t>) -> Matched {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let begins = at;
        at += spaces(bytes, at);
        match bytes.get(at) {
            None => return Matched::Partial,
            Some(b'>') => return Matched::Full(at + 1),
            Some(b'/') => match bytes.get(at + 1) {
                None => return Matched::Partial,
                Some(b'>') => {
                    captures.is_self_closing = true;
                    return Matched::Full(at + 2);
                }
                Some(_) => return Matched::No,
            },
            // An attribute stands behind white space.
            Some(_) if begins == at => return Matched::No,
            Some(_) => {}
        }
        match attribute(text, at, kept, captures) {
            Step::To(end) => at = end,
            Step::Cut => return Matched::Partial,
            Step::No => return Matched::No,
        }
    }
}

pub(super) fn spaces(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len())
}

fn attribute<'t>(text: &'t str, at: usize, kept: &'t [(String, String)], captures: &mut Captures<'t>) -> Step {
    let bytes = text.as_bytes();
    let rest = bytes.get(at..).unwrap_or_default();
    let is_end = |byte: &u8| matches!(byte, b'=' | b'>' | b'/' | b'<' | b'"' | b'\'') || byte.is_ascii_whitespace();
    let Some(length) = rest.iter().position(is_end) else { return Step::Cut };
    if length == 0 {
        return Step::No;
    }
    let equals = at + length + spaces(bytes, at + length);
    match bytes.get(equals) {
        None => return Step::Cut,
        Some(b'=') => {}
        // Without a value.
        Some(_) => return Step::To(at + length),
    }
    let start = equals + 1 + spaces(bytes, equals + 1);
    let (value, end) = match bytes.get(start) {
        None => return Step::Cut,
        Some(&quote @ (b'"' | b'\'')) => {
            let inside = bytes.get(start + 1..).unwrap_or_default();
            let Some(length) = memchr::memchr(quote, inside) else { return Step::Cut };
            (start + 1..start + 1 + length, start + length + 2)
        }
        Some(_) => match unquoted(bytes, start) {
            Step::To(end) => (start..end, end),
            other @ (Step::Cut | Step::No) => return other,
        },
    };
    let name = text.get(at..at + length).unwrap_or_default();
    if let Some((_, capture)) = kept.iter().find(|(attribute, _)| attribute == name) {
        captures.keep(capture, text.get(value).unwrap_or_default());
    }
    Step::To(end)
}

/// A value without quotes: up to white space, or the end of the tag.
fn unquoted(bytes: &[u8], start: usize) -> Step {
    let mut at = start;
    loop {
        match bytes.get(at) {
            None => return Step::Cut,
            Some(b'<' | b'"' | b'\'' | b'=') => return Step::No,
            Some(b'/') => match bytes.get(at + 1) {
                None => return Step::Cut,
                Some(b'>') => break,
                Some(_) => at += 1,
            },
            Some(b'>') => break,
            Some(byte) if byte.is_ascii_whitespace() => break,
            Some(_) => at += 1,
        }
    }
    if at == start { Step::No } else { Step::To(at) }
}
