//! Recognises a chunk by one before.
//!
//! Most chunks of a stream are an earlier one with other text in it. Such a chunk is told by comparing bytes: it is the same but for a
//! few strings, its *holes*. A hole is a whole string of the JSON and is never empty, so what stands around it has the same structure
//! and the same meaning, whatever is in it. What differs in any other way is read in full.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::delta::{Delta, Field, Located};
use crate::event::Part;

/// Chunks longer than this are not remembered.
const LONGEST: usize = 4096;

/// How many shapes are remembered: reasoning and its end, two calls side by side.
const SHAPES: usize = 2;

/// What JSON allows between its parts.
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The last chunks that differ in more than their text.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    /// The one that was of use last is the first.
    shapes: Vec<Template>,
}

impl Templates {
    /// The deltas of a chunk, if it differs from a remembered one in its text alone.
    pub(crate) fn decode<'a>(&mut self, chunk: &'a str, out: &mut Vec<Located<'a>>) -> bool {
        let Some(at) = self.shapes.iter().position(|shape| shape.decode(chunk, out)) else { return false };
        self.shapes.swap(0, at);
        true
    }

    /// Remembers a chunk, what it says, and its strings that nobody hears.
    pub(crate) fn remember(&mut self, chunk: &str, deltas: &[Located<'_>], unheard: &[&str]) {
        // A chunk that says something new of the response changes what the ones before would say now.
        if deltas.iter().any(|each| matches!(each.delta, Delta::ResponseNote { .. })) {
            return self.forget();
        }
        if chunk.len() > LONGEST || !deltas.iter().all(is_repeatable) {
            return;
        }
        if self.shapes.len() < SHAPES {
            self.shapes.push(Template::default());
        }
        // What was of use last stays.
        let has_learnt = self.shapes.last_mut().is_some_and(|oldest| oldest.learn(chunk, deltas, unheard).is_some());
        if !has_learnt {
            self.shapes.pop();
        }
        self.shapes.rotate_right(usize::from(has_learnt));
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        self.shapes.clear();
    }
}

/// A chunk without the text that may differ.
#[derive(Debug, Default)]
struct Template {
    chunk: String,
    /// In the order of the chunk.
    holes: Vec<Hole>,
    /// What the chunk says, without the text.
    deltas: Vec<Located<'static>>,
}

/// A string that may differ.
#[derive(Debug)]
struct Hole {
    place: Range<usize>,
    /// Which delta it is the text of; none if nobody hears it.
    delta: Option<usize>,
}

impl Template {
    fn decode<'a>(&self, chunk: &'a str, out: &mut Vec<Located<'a>>) -> bool {
        let head = self.holes.first().map_or(0, |hole| hole.place.start);
        if self.chunk.get(..head).and_then(|head| same(head, chunk)).is_none() {
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

    /// Puts the text of a chunk into its deltas; none if the chunk is another.
    fn fill<'a>(&self, chunk: &'a str, deltas: &mut [Located<'a>]) -> Option<()> {
        let (mut known, mut at) = (0, 0);
        for hole in &self.holes {
            at += same(self.chunk.get(known..hole.place.start)?, chunk.get(at..)?)?;
            let (text, end) = string(chunk, at)?;
            if let Some(located) = hole.delta.and_then(|delta| deltas.get_mut(delta)) {
                put(&mut located.delta, text);
            }
            (known, at) = (hole.place.end, end);
        }
        (unpadded(self.chunk.get(known..)?)? == unpadded(chunk.get(at..)?)?).then_some(())
    }

    /// Takes the shape of a chunk; none if it cannot be told which string of it is a text.
    fn learn(&mut self, chunk: &str, deltas: &[Located<'_>], unheard: &[&str]) -> Option<()> {
        self.holes.clear();
        for text in unheard.iter().filter(|text| !text.is_empty()) {
            self.holes.push(Hole { place: place(text, chunk)?, delta: None });
        }
        let said = deltas.iter().filter(|each| !is_said_once(each));
        self.deltas.clear();
        for (at, located) in said.enumerate() {
            if let Some(text) = text_of(&located.delta) {
                self.holes.push(Hole { place: place(text, chunk)?, delta: Some(at) });
            }
            self.deltas.push(Located { delta: without_text(&located.delta), ..*located });
        }
        self.holes.sort_by_key(|hole| hole.place.start);
        chunk.clone_into(&mut self.chunk);
        Some(())
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
        let (value, end) = string(chunk, start)?;
        if value == text && found.replace(start..end).is_some() {
            return None;
        }
        at = end + 1;
    }
    found
}

/// The end of a chunk without its last brace and the white space around it. Some providers pad there, to hide how long the text is.
fn unpadded(end: &str) -> Option<&str> {
    end.trim_end_matches(SPACE).strip_suffix('}').map(|end| end.trim_end_matches(SPACE))
}

/// How long the beginning of a chunk is that is the same as a known one's.
fn same(known: &str, chunk: &str) -> Option<usize> {
    chunk.as_bytes().starts_with(known.as_bytes()).then_some(known.len())
}

/// The string that begins at `start`, and where its closing quote is; none if it is empty or is no string.
fn string(chunk: &str, start: usize) -> Option<(Cow<'_, str>, usize)> {
    let bytes = chunk.as_bytes();
    let mut end = start + memchr2(b'"', b'\\', bytes.get(start..)?)?;
    if bytes.get(end) == Some(&b'"') {
        let text = chunk.get(start..end)?;
        // A control character is not allowed in a string.
        let is_text = !text.is_empty() && text.bytes().all(|byte| byte >= 0x20);
        return is_text.then_some((Cow::Borrowed(text), end));
    }
    while bytes.get(end) == Some(&b'\\') {
        let behind = end + 2;
        end = behind + memchr2(b'"', b'\\', bytes.get(behind..)?)?;
    }
    let text: String = serde_json::from_str(chunk.get(start.checked_sub(1)?..=end)?).ok()?;
    Some((Cow::Owned(text), end))
}
