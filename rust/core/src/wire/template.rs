//! Recognises a chunk by one before.
//!
//! Most chunks of a stream are an earlier one with other text in it. Such a chunk is told by comparing bytes: it is the same but for its
//! *holes*: a few strings, and the number of a block. A hole is a whole value of the JSON and is never empty, so what stands around it has
//! the same structure, whatever is in it. What differs in any other way is read in full. That another block's deltas mean the same is for
//! the decoder to say.

use std::borrow::Cow;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memchr2, memmem};

use crate::delta::{Delta, Field, Located};
use crate::event::Part;

/// Chunks longer than this are not remembered.
const LONGEST: usize = 4096;

/// How many shapes are remembered: thinking, text, arguments, and the stop of a block.
const SHAPES: usize = 4;

/// Where an event has the number of its block.
const NUMBER: &[u8] = b"\"index\"";

/// What JSON allows between its parts.
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The last chunks that differ in more than their text, each with what its decoder has to know when it comes again.
#[derive(Clone, Debug)]
pub(crate) struct Templates<M> {
    /// The one that was of use last is the first.
    shapes: Vec<Arc<Template<M>>>,
}

// Not derived: what is known of a shape need not have a default.
impl<M> Default for Templates<M> {
    fn default() -> Self {
        Self { shapes: Vec::new() }
    }
}

impl<M: Copy + Debug> Templates<M> {
    /// The deltas of a chunk, if it differs from a remembered one in its text alone; gives what is known of that. A chunk that does is UTF-8: what is
    /// compared is, and so is what its holes are found to hold.
    pub(crate) fn decode<'a>(&mut self, chunk: &'a [u8], out: &mut Vec<Located<'a>>) -> Option<M> {
        let at = self.shapes.iter().position(|shape| shape.decode(chunk, out))?;
        self.shapes.swap(0, at);
        self.shapes.first().map(|shape| shape.mark)
    }

    /// Remembers a chunk, what it says, and its strings that nobody hears.
    pub(crate) fn remember(&mut self, chunk: &str, deltas: &[Located<'_>], unheard: &[&str], mark: M) {
        // A chunk that says something new of the response changes what the ones before would say now.
        if deltas.iter().any(|each| matches!(each.delta, Delta::ResponseNote { .. })) {
            return self.forget();
        }
        if chunk.len() > LONGEST || !deltas.iter().all(is_repeatable) {
            return;
        }
        // What was of use last stays.
        let oldest = if self.shapes.len() < SHAPES { None } else { self.shapes.pop() };
        // What other streams know too stays theirs.
        let memory = oldest.and_then(Arc::into_inner);
        if let Some(shape) = Template::learnt(chunk, deltas, unheard, mark, memory) {
            self.shapes.insert(0, Arc::new(shape));
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        self.shapes.clear();
    }
}

/// A chunk without the text that may differ.
#[derive(Debug)]
struct Template<M> {
    chunk: String,
    /// How much of the chunk stands before its last brace and the white space around that.
    unpadded: usize,
    /// In the order of the chunk.
    holes: Vec<Hole>,
    /// What the chunk says, without the text.
    deltas: Vec<Located<'static>>,
    mark: M,
}

/// A string that may differ.
#[derive(Debug)]
struct Hole {
    place: Range<usize>,
    what: Filling,
}

/// What is in a hole.
#[derive(Debug)]
enum Filling {
    /// The text of a delta.
    Text(usize),
    /// A string that nobody hears.
    Unheard,
    /// The number of the block that a delta is for.
    Slot(usize),
}

impl<M> Template<M> {
    fn decode<'a>(&self, chunk: &'a [u8], out: &mut Vec<Located<'a>>) -> bool {
        let head = self.holes.first().map_or(0, |hole| hole.place.start);
        if self.known(0..head).and_then(|head| same(head, chunk)).is_none() {
            return false;
        }
        let start = out.len();
        out.extend(self.deltas.iter().cloned());
        let is_same = self.fill(chunk, out.get_mut(start..).unwrap_or_default()).is_some();
        if !is_same {
            out.truncate(start);
        }
        is_same
    }

    fn known(&self, place: Range<usize>) -> Option<&[u8]> {
        self.chunk.as_bytes().get(place)
    }

    /// Puts the text of a chunk into its deltas; none if the chunk is another.
    fn fill<'a>(&self, chunk: &'a [u8], deltas: &mut [Located<'a>]) -> Option<()> {
        let (mut known, mut at) = (0, 0);
        for hole in &self.holes {
            at += same(self.known(known..hole.place.start)?, chunk.get(at..)?)?;
            known = hole.place.end;
            at = match hole.what {
                Filling::Text(delta) => {
                    let (text, end) = string(chunk, at)?;
                    put(&mut deltas.get_mut(delta)?.delta, text);
                    end
                }
                Filling::Unheard => string(chunk, at)?.1,
                Filling::Slot(delta) => {
                    let (number, end) = number(chunk, at)?;
                    put_slot(&mut deltas.get_mut(delta)?.delta, number);
                    end
                }
            };
        }
        let end = unpadded(chunk)?;
        (self.known(known..self.unpadded)? == chunk.get(at..end)?).then_some(())
    }

    /// The shape of a chunk, in the memory of one that is forgotten; none if it cannot be told which string of it is a text.
    fn learnt(chunk: &str, deltas: &[Located<'_>], unheard: &[&str], mark: M, memory: Option<Self>) -> Option<Self> {
        let (mut text, mut holes, mut said) =
            memory.map_or_else(Default::default, |old| (old.chunk, old.holes, old.deltas));
        holes.clear();
        for text in unheard.iter().filter(|text| !text.is_empty()) {
            holes.push(Hole { place: place(text, chunk)?, what: Filling::Unheard });
        }
        said.clear();
        for (at, located) in deltas.iter().filter(|each| !is_said_once(each)).enumerate() {
            if let Some(text) = text_of(&located.delta) {
                holes.push(Hole { place: place(text, chunk)?, what: Filling::Text(at) });
            }
            if let Some(place) = slot_of(&located.delta).and_then(|slot| place_of_slot(slot, chunk)) {
                holes.push(Hole { place, what: Filling::Slot(at) });
            }
            said.push(Located { delta: without_text(&located.delta), ..*located });
        }
        holes.sort_by_key(|hole| hole.place.start);
        chunk.clone_into(&mut text);
        Some(Self { unpadded: unpadded(chunk.as_bytes())?, chunk: text, holes, deltas: said, mark })
    }
}

/// Whether a chunk with the same bytes says the same again.
fn is_repeatable(located: &Located<'_>) -> bool {
    matches!(
        located.delta,
        Delta::Announced
            | Delta::Identity { .. }
            | Delta::Text(_)
            | Delta::Thinking(_)
            | Delta::Repeated
            | Delta::Call(_)
            | Delta::Note { .. }
            | Delta::Grow { part: Part::Text | Part::Arguments, .. }
            | Delta::Close { .. }
    )
}

/// Whether a chunk says something that those to come need not say again: which response it is, and that there is such a choice.
fn is_said_once(located: &Located<'_>) -> bool {
    located.origin.field == Field::Envelope
}

/// The text of a delta that grows a block.
fn text_of<'a>(delta: &'a Delta<'_>) -> Option<&'a str> {
    let text = if let Delta::Text(text) | Delta::Thinking(text) | Delta::Grow { text, .. } = delta {
        text
    } else if let Delta::Call(call) = delta
        && !call.arguments_were_json
    {
        &call.arguments
    } else {
        return None;
    };
    Some(text.as_ref()).filter(|text| !text.is_empty())
}

fn without_text(delta: &Delta<'_>) -> Delta<'static> {
    let mut delta = delta.clone().into_owned();
    if let Delta::Identity { .. } = delta {
        // The first role counts.
        return Delta::Announced;
    }
    if text_of(&delta).is_some() {
        put(&mut delta, Cow::Borrowed(""));
    }
    delta
}

fn put<'a>(delta: &mut Delta<'a>, text: Cow<'a, str>) {
    if let Delta::Text(grown) | Delta::Thinking(grown) | Delta::Grow { text: grown, .. } = delta {
        *grown = text;
    } else if let Delta::Call(call) = delta {
        call.arguments = text;
    }
}

/// The number of the block that a delta is for.
fn slot_of(delta: &Delta<'_>) -> Option<u64> {
    if let Delta::Grow { slot, .. } | Delta::Close { slot } = delta { Some(*slot) } else { None }
}

fn put_slot(delta: &mut Delta<'_>, number: u64) {
    if let Delta::Grow { slot, .. } | Delta::Close { slot } = delta {
        *slot = number;
    }
}

/// Where the number of a block stands; none if that cannot be told.
fn place_of_slot(slot: u64, chunk: &str) -> Option<Range<usize>> {
    let mut names = memmem::find_iter(chunk.as_bytes(), NUMBER);
    let (Some(name), None) = (names.next(), names.next()) else { return None };
    let value =
        chunk.get(name + NUMBER.len()..)?.trim_start_matches(SPACE).strip_prefix(':')?.trim_start_matches(SPACE);
    let start = chunk.len() - value.len();
    let (found, end) = number(chunk.as_bytes(), start)?;
    (found == slot).then_some(start..end)
}

/// The whole number that begins at `start`, and where it ends.
fn number(chunk: &[u8], start: usize) -> Option<(u64, usize)> {
    let rest = chunk.get(start..)?;
    let length = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let digits = str::from_utf8(rest.get(..length)?).ok()?;
    // JSON knows no leading zeros.
    let is_number = !digits.starts_with('0') || length == 1;
    Some((digits.parse().ok().filter(|_| is_number)?, start + length))
}

/// Where a string of a chunk stands, between its quotes; none if that cannot be told.
fn place(text: &str, chunk: &str) -> Option<Range<usize>> {
    let start = (text.as_ptr() as usize).wrapping_sub(chunk.as_ptr() as usize);
    let Some(place) = start.checked_add(text.len()).filter(|&end| end <= chunk.len()).map(|end| start..end) else {
        return place_of_escaped(text, chunk);
    };
    let is_quoted = chunk.get(..place.start)?.ends_with('"') && chunk.get(place.end..)?.starts_with('"');
    is_quoted.then_some(place)
}

/// Where the one string of a chunk stands that says this. It has escapes, so the text was copied.
fn place_of_escaped(text: &str, chunk: &str) -> Option<Range<usize>> {
    let (mut found, mut at) = (None, 0);
    while let Some(quote) = memchr(b'"', chunk.as_bytes().get(at..)?) {
        let start = at + quote + 1;
        at = start + 1;
        if chunk.as_bytes().get(start) == Some(&b'"') {
            continue;
        }
        let (value, end) = string(chunk.as_bytes(), start)?;
        if value == text && found.replace(start..end).is_some() {
            return None;
        }
        at = end + 1;
    }
    found
}

/// Where a chunk ends without its last brace and the white space around it. Some providers pad there, to hide how long the text is.
fn unpadded(chunk: &[u8]) -> Option<usize> {
    let is_dark = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let brace = chunk.iter().rposition(is_dark).filter(|&at| chunk.get(at) == Some(&b'}'))?;
    chunk.get(..brace)?.iter().rposition(is_dark).map(|at| at + 1)
}

/// How long the beginning of a chunk is that is the same as a known one's.
fn same(known: &[u8], chunk: &[u8]) -> Option<usize> {
    chunk.starts_with(known).then_some(known.len())
}

/// The string that begins at `start`, and where its closing quote is; none if it is empty or is no string.
fn string(chunk: &[u8], start: usize) -> Option<(Cow<'_, str>, usize)> {
    let mut end = start + memchr2(b'"', b'\\', chunk.get(start..)?)?;
    if chunk.get(end) == Some(&b'"') {
        let text = plain(chunk.get(start..end)?).filter(|text| !text.is_empty())?;
        return Some((Cow::Borrowed(text), end));
    }
    while chunk.get(end) == Some(&b'\\') {
        let behind = end + 2;
        end = behind + memchr2(b'"', b'\\', chunk.get(behind..)?)?;
    }
    Some((Cow::Owned(unescaped(chunk, start, end)?), end))
}

/// What a string with escapes says. Its text stands between `start` and `end`.
fn unescaped(chunk: &[u8], start: usize, end: usize) -> Option<String> {
    let mut rest = chunk.get(start..end)?;
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = memchr(b'\\', rest) {
        text.push_str(plain(rest.get(..at)?)?);
        text.push(match rest.get(at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            &byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            // The others are rare.
            _ => return serde_json::from_slice(chunk.get(start.checked_sub(1)?..=end)?).ok(),
        });
        rest = rest.get(at + 2..)?;
    }
    text.push_str(plain(rest)?);
    Some(text)
}

/// A text, if it is UTF-8 and has no control character, which is not allowed in a string.
fn plain(text: &[u8]) -> Option<&str> {
    str::from_utf8(text).ok().filter(|_| text.iter().all(|&byte| byte >= 0x20))
}

#[cfg(test)]
mod tests {
    use super::{string, unescaped};

    /// What the string of a JSON text says, both ways; the text is all of it.
    fn both(json: &str) -> (Option<String>, Option<String>) {
        let ours =
            string(json.as_bytes(), 1).filter(|(_, end)| end + 1 == json.len()).map(|(text, _)| text.into_owned());
        (ours, serde_json::from_str::<String>(json).ok().filter(|text| !text.is_empty()))
    }

    #[test]
    fn a_string_says_what_any_reader_of_json_says() {
        let parts =
            [r#"\""#, r"\\", r"\/", r"\n", r"\t", r"\r", r"\b", r"\f", r"\u0041", r"\ud83d\ude00", "a", "é", " "];
        for first in parts {
            for second in parts {
                for third in parts {
                    let (ours, serde) = both(&format!("\"{first}{second}{third}\""));
                    assert_eq!(ours, serde, "{first}{second}{third}");
                }
            }
        }
    }

    #[test]
    fn what_is_no_string_says_nothing() {
        for json in ["\"\"", "\"a\nb\"", "\"\\n\n\"", "\"\\x\"", "\"\\ud800\"", "\"\\", "\"a"] {
            assert_eq!(both(json), (None, None), "{json:?}");
        }
        assert_eq!(unescaped(b"\"a\"", 1, 2).as_deref(), Some("a"));
    }
}
