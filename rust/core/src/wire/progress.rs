//! How much of one JSON value a text is that is still growing.

/// How deep JSON may be nested to count as whole. Most readers stop at or above this depth, and `serde_json` does.
pub const JSON_DEPTH: usize = 128;

/// How much of one JSON value a growing text is.
///
/// It remembers the kinds of the open brackets and the state inside a scalar; it never looks back at the text.
#[derive(Clone, Debug, Default)]
pub struct JsonProgress {
    state: State,
    /// The open brackets, outermost first: true for an object.
    open: Vec<bool>,
}

/// What may come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// A value.
    #[default]
    Value,
    /// A value, or the end of an array that has just begun.
    ValueOrEnd,
    /// A name.
    Name,
    /// A name, or the end of an object that has just begun.
    NameOrEnd,
    /// The colon behind a name.
    Colon,
    /// A comma or the end of what is open; white space if nothing is.
    Next,
    /// The rest of a string; whether it is a name.
    String { is_name: bool },
    /// What a backslash escapes; whether in a name.
    Escape { is_name: bool },
    /// Hex digits of an escape: how many are missing; whether in a name.
    Hex { missing: u8, is_name: bool },
    /// The rest of `true`, `false` or `null`.
    Literal(&'static [u8]),
    /// A part of a number.
    Number(Number),
    /// No continuation can make this JSON.
    Broken,
}

/// Where in a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Number {
    /// The state behind `byte`; none if the number ends before it or is broken by it.
    fn step(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Some(Self::Integer),
            (Self::Zero | Self::Integer, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Some(Self::Exponent),
            (Self::Exponent, b'+' | b'-') => Some(Self::ExponentSign),
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => Some(Self::ExponentDigits),
            (
                Self::Minus
                | Self::Zero
                | Self::Integer
                | Self::Point
                | Self::Fraction
                | Self::Exponent
                | Self::ExponentSign
                | Self::ExponentDigits,
                _,
            ) => None,
        }
    }

    fn may_end(self) -> bool {
        match self {
            Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigits => true,
            Self::Minus | Self::Point | Self::Exponent | Self::ExponentSign => false,
        }
    }
}

impl JsonProgress {
    /// The progress of a whole text.
    pub fn of(text: &str) -> Self {
        let mut progress = Self::default();
        progress.push(text);
        progress
    }

    /// Takes the next piece of the text.
    pub fn push(&mut self, text: &str) {
        for &byte in text.as_bytes() {
            self.state = self.step(byte);
        }
    }

    /// Takes the next byte of the text.
    pub(crate) fn push_byte(&mut self, byte: u8) {
        self.state = self.step(byte);
    }

    /// Whether no continuation can make this JSON.
    pub(crate) fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// Whether a whole value may get longer: a number at the end of the text.
    pub(crate) fn may_go_on(&self) -> bool {
        self.open.is_empty() && matches!(self.state, State::Number(_))
    }

    /// Whether the next character is inside a string.
    pub(crate) fn is_in_string(&self) -> bool {
        matches!(self.state, State::String { .. } | State::Escape { .. } | State::Hex { .. })
    }

    /// Whether the text so far is one whole JSON value.
    pub fn is_whole(&self) -> bool {
        self.open.is_empty()
            && match self.state {
                State::Next => true,
                State::Number(number) => number.may_end(),
                State::Value
                | State::ValueOrEnd
                | State::Name
                | State::NameOrEnd
                | State::Colon
                | State::String { .. }
                | State::Escape { .. }
                | State::Hex { .. }
                | State::Literal(_)
                | State::Broken => false,
            }
    }

    fn step(&mut self, byte: u8) -> State {
        match self.state {
            State::String { is_name } => match byte {
                b'"' => Self::behind_string(is_name),
                b'\\' => State::Escape { is_name },
                0..0x20 => State::Broken,
                0x20.. => self.state,
            },
            State::Escape { is_name } => match byte {
                b'u' => State::Hex { missing: 4, is_name },
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => State::String { is_name },
                _ => State::Broken,
            },
            State::Hex { missing, is_name } if byte.is_ascii_hexdigit() => match missing {
                1 => State::String { is_name },
                _ => State::Hex { missing: missing - 1, is_name },
            },
            State::Literal(&[first, ref rest @ ..]) if byte == first => match rest {
                [] => State::Next,
                [_, ..] => State::Literal(rest),
            },
            State::Number(number) => match number.step(byte) {
                Some(number) => State::Number(number),
                None if number.may_end() => self.step_between(State::Next, byte),
                None => State::Broken,
            },
            State::Hex { .. } | State::Literal(_) | State::Broken => State::Broken,
            State::Value | State::ValueOrEnd | State::Name | State::NameOrEnd | State::Colon | State::Next => {
                self.step_between(self.state, byte)
            }
        }
    }

    fn behind_string(is_name: bool) -> State {
        if is_name { State::Colon } else { State::Next }
    }

    /// A step outside of strings, literals and numbers.
    fn step_between(&mut self, state: State, byte: u8) -> State {
        match (state, byte) {
            (_, b' ' | b'\t' | b'\n' | b'\r') => state,
            (State::Value | State::ValueOrEnd, b'"') => State::String { is_name: false },
            (State::Value | State::ValueOrEnd, b'{') => self.open_bracket(true),
            (State::Value | State::ValueOrEnd, b'[') => self.open_bracket(false),
            (State::Value | State::ValueOrEnd, b't') => State::Literal(b"rue"),
            (State::Value | State::ValueOrEnd, b'f') => State::Literal(b"alse"),
            (State::Value | State::ValueOrEnd, b'n') => State::Literal(b"ull"),
            (State::Value | State::ValueOrEnd, b'-') => State::Number(Number::Minus),
            (State::Value | State::ValueOrEnd, b'0') => State::Number(Number::Zero),
            (State::Value | State::ValueOrEnd, b'1'..=b'9') => State::Number(Number::Integer),
            (State::Name | State::NameOrEnd, b'"') => State::String { is_name: true },
            (State::Colon, b':') => State::Value,
            (State::Next, b',') => match self.open.last() {
                Some(true) => State::Name,
                Some(false) => State::Value,
                None => State::Broken,
            },
            (State::Next | State::NameOrEnd, b'}') => self.close_bracket(true),
            (State::Next | State::ValueOrEnd, b']') => self.close_bracket(false),
            _ => State::Broken,
        }
    }

    fn open_bracket(&mut self, is_object: bool) -> State {
        if self.open.len() >= JSON_DEPTH {
            return State::Broken;
        }
        self.open.push(is_object);
        if is_object { State::NameOrEnd } else { State::ValueOrEnd }
    }

    fn close_bracket(&mut self, is_object: bool) -> State {
        if self.open.pop() == Some(is_object) { State::Next } else { State::Broken }
    }
}
