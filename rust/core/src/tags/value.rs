//! The text of a parameter, made a value of JSON as it comes.

use super::vocabulary::ValueRule;
use crate::wire::plain::needs_escapes;
use crate::wire::progress::JsonProgress;

/// Leaves out a line end that stands first, and one that stands last.
#[derive(Debug, Default)]
pub(super) struct Trimmer {
    is_on: bool,
    /// Whether anything has come.
    has_begun: bool,
    /// Whether a line end has come that may be the last.
    has_line_end: bool,
}

impl Trimmer {
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    pub(super) fn push(&mut self, text: &str, mut write: impl FnMut(&str)) {
        if !self.is_on || text.is_empty() {
            return write(text);
        }
        let text = if self.has_begun { text } else { text.strip_prefix('\n').unwrap_or(text) };
        self.has_begun = true;
        if text.is_empty() {
            return;
        }
        if self.has_line_end {
            write("\n");
        }
        let inside = text.strip_suffix('\n');
        self.has_line_end = inside.is_some();
        write(inside.unwrap_or(text));
    }

    /// Nothing closes the text: a line end at its end is its own.
    pub(super) fn cut(&mut self, mut write: impl FnMut(&str)) {
        if std::mem::take(&mut self.has_line_end) {
            write("\n");
        }
    }
}

/// One value on its way into the arguments.
#[derive(Debug)]
pub(super) struct ValueWriter {
    trimmer: Trimmer,
    sort: Sort,
    /// How much may be undecided. Beyond that it is a string, which the limit of arguments ends.
    longest: usize,
}

/// What a value is, as far as can be told.
#[derive(Debug)]
enum Sort {
    String,
    Undecided { text: String, progress: JsonProgress },
}

impl ValueWriter {
    pub(super) fn new(rule: ValueRule, trims: bool, longest: usize, out: &mut String) -> Self {
        let sort = match rule {
            ValueRule::Raw => {
                out.push('"');
                Sort::String
            }
            ValueRule::Json => Sort::Undecided { text: String::new(), progress: JsonProgress::default() },
        };
        Self { trimmer: Trimmer::new(trims), sort, longest }
    }

    pub(super) fn push(&mut self, text: &str, out: &mut String) {
        let Self { trimmer, sort, longest } = self;
        trimmer.push(text, |text| sort.write(text, *longest, out));
    }

    /// The value is whole.
    pub(super) fn close(mut self, out: &mut String) {
        if let Sort::Undecided { text, progress } = &self.sort
            && progress.is_whole()
        {
            return out.push_str(text.trim_matches([' ', '\t', '\n', '\r']));
        }
        self.sort.decide(out);
        out.push('"');
    }

    /// The value is not whole: what there is of it, as a string that does not end.
    pub(super) fn cut(mut self, out: &mut String) {
        let Self { trimmer, sort, longest } = &mut self;
        trimmer.cut(|text| sort.write(text, *longest, out));
        sort.decide(out);
    }
}

impl Sort {
    fn write(&mut self, piece: &str, longest: usize, out: &mut String) {
        match self {
            Self::String => escape(piece, out),
            Self::Undecided { text, progress } => {
                text.push_str(piece);
                progress.push(piece);
                if progress.is_broken() || text.len() > longest {
                    self.decide(out);
                }
            }
        }
    }

    /// It is a string.
    fn decide(&mut self, out: &mut String) {
        if let Self::Undecided { text, .. } = std::mem::replace(self, Self::String) {
            out.push('"');
            escape(&text, out);
        }
    }
}

/// Writes text as the inside of a string of JSON.
pub(super) fn escape(text: &str, out: &mut String) {
    if !needs_escapes(text.as_bytes()) {
        return out.push_str(text);
    }
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escaped = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0C => "\\f",
            0..0x20 => "\\u00",
            0x20.. => continue,
        };
        out.push_str(text.get(start..at).unwrap_or_default());
        start = at + 1;
        out.push_str(escaped);
        if escaped == "\\u00" {
            let digit = |number: u8| char::from_digit(u32::from(number), 16).unwrap_or_default();
            out.extend([digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out.push_str(text.get(start..).unwrap_or_default());
}
