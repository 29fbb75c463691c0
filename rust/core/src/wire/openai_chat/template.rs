//! Recognises a text chunk by the one before.
//!
//! Most chunks of a stream are the last one with other text in it. Such a chunk is told by comparing bytes: it is the same up to the
//! quote that opens `content`, and from the quote that closes it. Nothing between them may escape or end a string, so the JSON around
//! the text has the same structure and the same meaning. What differs in any other way is read in full.

use memchr::memchr3;

use crate::delta::{Delta, Located};

/// Chunks longer than this are not remembered.
const LONGEST: usize = 4096;

/// The field that providers fill with noise: its value says nothing, so it may differ.
const NOISE: &str = "\"obfuscation\":\"";

/// The last text chunk, without its text.
#[derive(Debug, Default)]
pub(super) struct Template {
    /// Everything up to the quote that opens the text.
    before: String,
    /// Everything from the quote that closes it, up to the noise if there is any.
    after: String,
    /// Everything from the quote that closes the noise.
    behind_noise: Option<String>,
    /// What the chunk says besides its text, in order.
    besides: Vec<Located<'static>>,
    /// What it says of the text.
    text: Option<Located<'static>>,
}

impl Template {
    /// The deltas of a chunk, if it differs from the last one in its text alone.
    pub(super) fn decode<'a>(&self, chunk: &'a str, out: &mut Vec<Located<'a>>) -> bool {
        let Some((text, located)) = self.text_of(chunk).zip(self.text.as_ref()) else { return false };
        out.extend(self.besides.iter().cloned());
        out.push(Located { choice: located.choice, origin: located.origin, delta: Delta::Text(text.into()) });
        true
    }

    fn text_of<'a>(&self, chunk: &'a str) -> Option<&'a str> {
        self.text.as_ref()?;
        let (text, rest) = string(chunk.strip_prefix(&self.before)?)?;
        let rest = rest.strip_prefix(&self.after)?;
        let is_same = match &self.behind_noise {
            None => rest.is_empty(),
            Some(behind) => string(rest)?.1 == behind,
        };
        (is_same && !text.is_empty()).then_some(text)
    }

    /// Remembers a chunk that said nothing but text and what every chunk says, and forgets any other.
    pub(super) fn remember(&mut self, chunk: &str, deltas: &[Located<'_>]) {
        if self.learn(chunk, deltas).is_none() {
            self.text = None;
        }
    }

    fn learn(&mut self, chunk: &str, deltas: &[Located<'_>]) -> Option<()> {
        let (text, besides) = deltas.split_last()?;
        let Delta::Text(content) = &text.delta else { return None };
        let is_common =
            |each: &Located<'_>| matches!(each.delta, Delta::Announced | Delta::Identity { name: "role", .. });
        let start = (content.as_ptr() as usize).checked_sub(chunk.as_ptr() as usize)?;
        if chunk.len() > LONGEST
            || !besides.iter().all(is_common)
            || chunk.get(start..start + content.len())? != content
        {
            return None;
        }
        let (before, rest) = (chunk.get(..start)?, chunk.get(start + content.len()..)?);
        let noise = rest.find(NOISE).map(|at| at + NOISE.len());
        before.clone_into(&mut self.before);
        rest.get(..noise.unwrap_or(rest.len()))?.clone_into(&mut self.after);
        self.behind_noise = match noise {
            Some(at) => Some(string(rest.get(at..)?)?.1.to_owned()),
            None => None,
        };
        // The role was said by this chunk; of those to come only the place matters.
        self.besides.clear();
        let place = |each: &Located<'_>| Located { choice: each.choice, origin: each.origin, delta: Delta::Announced };
        self.besides.extend(besides.iter().map(place));
        self.text = Some(text.clone().into_owned());
        Some(())
    }
}

/// A string without escapes, and what follows from its closing quote on.
fn string(json: &str) -> Option<(&str, &str)> {
    // A control character is not allowed in a string; the ones that a stream could hold are the line ends.
    let end = memchr3(b'"', b'\\', b'\n', json.as_bytes())?;
    let (text, rest) = (json.get(..end)?, json.get(end..)?);
    (rest.starts_with('"') && text.bytes().all(|byte| byte >= 0x20)).then_some((text, rest))
}
