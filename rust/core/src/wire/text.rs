//! Plain text as a source of its own: every read is text, and the end of the input is the finish.

use std::borrow::Cow;

use crate::delta::{Delta, Located, Origin};
use crate::wire::Decoded;

/// What a piece of text says.
pub(crate) fn decode<'a>(text: &'a str, out: &mut Decoded<'a>) {
    out.push(located(Delta::Text(Cow::Borrowed(text))));
}

/// What the end of the text says: nothing is missing, and nobody gave a reason.
pub(crate) fn decode_end(out: &mut Decoded<'_>) {
    out.push(located(Delta::Stop { reason: Cow::Borrowed("stop"), native: Cow::Borrowed("") }));
}

fn located(delta: Delta<'_>) -> Located<'_> {
    Located { choice: 0, origin: Origin::of_event(), delta }
}

/// Reads of text, which may end inside a character.
#[derive(Debug, Default)]
pub(crate) struct TextReads {
    bytes: Vec<u8>,
    /// How many bytes were taken before these.
    offset: u64,
    /// The text that was taken last.
    text: String,
}

/// What the next bytes are.
pub(crate) enum NextText {
    /// Nothing, or the beginning of a character.
    None,
    /// Characters, which [`TextReads::text`] lends out.
    Text,
    /// Bytes at this offset that are no UTF-8; they are left out.
    Invalid(u64),
}

impl TextReads {
    pub(crate) fn feed(&mut self, read: &[u8]) {
        self.bytes.extend_from_slice(read);
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn next_text(&mut self) -> NextText {
        self.text.clear();
        let offset = self.offset;
        let (length, next) = match str::from_utf8(&self.bytes) {
            Ok(text) => {
                self.text.push_str(text);
                (text.len(), NextText::Text)
            }
            Err(error) if error.valid_up_to() > 0 => {
                let valid = self.bytes.get(..error.valid_up_to()).unwrap_or_default();
                self.text.push_str(str::from_utf8(valid).unwrap_or_default());
                (valid.len(), NextText::Text)
            }
            Err(error) => error.error_len().map_or((0, NextText::None), |length| (length, NextText::Invalid(offset))),
        };
        self.bytes.drain(..length);
        self.offset += length as u64;
        if self.text.is_empty() && matches!(next, NextText::Text) { NextText::None } else { next }
    }

    /// The input is over: the offset of a character that was cut, if one was.
    pub(crate) fn finish(&mut self) -> Option<u64> {
        let is_cut = !self.bytes.is_empty();
        self.bytes.clear();
        is_cut.then_some(self.offset)
    }
}
