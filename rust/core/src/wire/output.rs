//! What leaves: server-sent events, written into one buffer.
//!
//! Rules. (1) Only LF ends a line, and no value holds one: strings are escaped, values that are kept as JSON are written without white
//! space. (2) U+2028, U+2029 and U+0085 are escaped, because some readers end a line there. (3) An event whose text grows may take
//! more text of the same part until the buffer is handed out; nothing waits for that.

use crate::event::Part;
use crate::wire::plain::needs_escapes;

/// How much memory an idle buffer keeps. Nearly every read brings less; an open stream costs no more than that.
const KEPT_BYTES: usize = 4 << 10;

/// What a growing event grows: a block, by its number, and the part.
pub(crate) type Growing = (usize, Part);

/// A buffer of events.
#[derive(Debug)]
pub(crate) struct Output {
    text: String,
    coalesces: bool,
    /// The last event, if it may take more text: of what, and the length of what stands behind the text.
    growing: Option<(Growing, usize)>,
}

impl Output {
    /// An empty buffer; whether deltas that come in one read may share an event.
    pub(crate) fn new(coalesces: bool) -> Self {
        Self { text: String::new(), coalesces, growing: None }
    }

    /// Hands out what was written, and keeps the memory for what comes next.
    pub(crate) fn take<R>(&mut self, read: impl FnOnce(&str) -> R) -> R {
        self.growing = None;
        let result = read(&self.text);
        self.text.clear();
        self.text.shrink_to(KEPT_BYTES);
        result
    }

    /// Writes an event; without a name where the format gives none.
    pub(crate) fn event(&mut self, name: Option<&str>, fill: impl FnOnce(&mut Object<'_>)) {
        self.growing = None;
        self.begin(name);
        Object::write(&mut self.text, fill);
        self.text.push_str("\n\n");
    }

    /// Writes an event whose data is not JSON.
    pub(crate) fn line(&mut self, line: &str) {
        self.line_of(&[line]);
    }

    /// Writes an event line that was made in pieces.
    pub(crate) fn line_of(&mut self, pieces: &[&str]) {
        self.growing = None;
        self.text.extend(pieces.iter().copied());
        self.text.push_str("\n\n");
    }

    /// Writes an event that ends in a text, or adds the text to the last one if that may be.
    pub(crate) fn grow(
        &mut self,
        growing: Growing,
        text: &str,
        tail: &str,
        name: Option<&str>,
        head: impl FnOnce(&mut String),
    ) {
        if self.coalesces && self.growing == Some((growing, tail.len())) {
            self.text.truncate(self.text.len() - tail.len());
        } else {
            self.begin(name);
            head(&mut self.text);
            self.growing = Some((growing, tail.len()));
        }
        push_escaped(&mut self.text, text);
        self.text.push_str(tail);
    }

    fn begin(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.text.push_str("event: ");
            self.text.push_str(name);
            self.text.push('\n');
        }
        self.text.push_str("data: ");
    }
}

/// A JSON object that is being written. Names are the writer's own, so they need no escapes.
pub(crate) struct Object<'a> {
    out: &'a mut String,
    is_empty: bool,
}

impl Object<'_> {
    /// Writes an object.
    pub(crate) fn write(out: &mut String, fill: impl FnOnce(&mut Object<'_>)) {
        out.push('{');
        let mut object = Object { out, is_empty: true };
        fill(&mut object);
        out.push('}');
    }

    /// Writes an object without its end: its last member goes on.
    pub(crate) fn write_open(out: &mut String, fill: impl FnOnce(&mut Object<'_>)) {
        out.push('{');
        fill(&mut Object { out, is_empty: true });
    }

    /// An object as text.
    pub(crate) fn text_of(fill: impl FnOnce(&mut Object<'_>)) -> String {
        let mut out = String::new();
        Self::write(&mut out, fill);
        out
    }

    fn name(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    /// A string.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        let out = self.name(name);
        push_string(out, value);
    }

    /// A number.
    pub(crate) fn number(&mut self, name: &str, value: u64) {
        let out = self.name(name);
        push_number(out, value);
    }

    /// A number, if there is one.
    pub(crate) fn number_if(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// A value that is the writer's own JSON: written as it is.
    pub(crate) fn json(&mut self, name: &str, json: &str) {
        let out = self.name(name);
        out.push_str(json);
    }

    /// A value that was kept as it came.
    pub(crate) fn kept(&mut self, name: &str, json: &str) {
        let out = self.name(name);
        push_json(out, json);
    }

    /// An object.
    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
        let out = self.name(name);
        Object::write(out, fill);
    }

    /// A list of values that are the writer's own JSON.
    pub(crate) fn list<S: AsRef<str>>(&mut self, name: &str, elements: &[S]) {
        let out = self.name(name);
        out.push('[');
        for (at, element) in elements.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(element.as_ref());
        }
        out.push(']');
    }
}

/// Writes a number. It is written for nearly every event, and the standard library's way takes as long as the rest of it.
pub(crate) fn push_number(out: &mut String, value: u64) {
    if value >= 10 {
        push_number(out, value / 10);
    }
    let digit = u8::try_from(value % 10).unwrap_or_default();
    out.push(char::from(b'0' + digit));
}

/// A text as a JSON string.
pub(crate) fn string_of(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json
}

/// Writes a string with its quotes.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    push_escaped(out, text);
    out.push('"');
}

/// Writes the inside of a string.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    if text.is_ascii() && !needs_escapes(text.as_bytes()) {
        return out.push_str(text);
    }
    let mut written = 0;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        if byte >= 0x20 && !matches!(byte, b'"' | b'\\' | 0xC2 | 0xE2) {
            continue;
        }
        let Some((escape, length)) = escape(text, at, byte) else { continue };
        out.push_str(text.get(written..at).unwrap_or_default());
        out.push_str(&escape);
        written = at + length;
    }
    out.push_str(text.get(written..).unwrap_or_default());
}

/// How a character is escaped, and its length in bytes; none if it need not be.
fn escape(text: &str, at: usize, byte: u8) -> Option<(std::borrow::Cow<'static, str>, usize)> {
    let simple = match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        0x08 => "\\b",
        0x0C => "\\f",
        0xC2 | 0xE2 => return escaped_separator(text, at),
        _ => return Some((format!("\\u{byte:04x}").into(), 1)),
    };
    Some((simple.into(), 1))
}

fn escaped_separator(text: &str, at: usize) -> Option<(std::borrow::Cow<'static, str>, usize)> {
    match text.get(at..)?.chars().next()? {
        '\u{2028}' => Some(("\\u2028".into(), 3)),
        '\u{2029}' => Some(("\\u2029".into(), 3)),
        '\u{85}' => Some(("\\u0085".into(), 2)),
        _ => None,
    }
}

/// JSON that came from elsewhere: the same value, without white space between its tokens.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    push_json(&mut out, json);
    out
}

/// Writes JSON that came from elsewhere: the same value, without white space between its tokens.
pub(crate) fn push_json(out: &mut String, json: &str) {
    let (mut in_string, mut is_escaped) = (false, false);
    for character in json.chars() {
        match character {
            _ if !in_string && character.is_ascii_whitespace() => continue,
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            '\u{85}' => out.push_str("\\u0085"),
            _ => out.push(character),
        }
        if character == '"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = in_string && character == '\\' && !is_escaped;
    }
}
