//! What the wire formats share: borrowed strings, values kept raw, objects that keep the fields they do not know, and the
//! completeness of JSON that is still growing.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string, borrowed from the chunk unless it has escapes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Str<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor)
    }
}

struct StrVisitor;

impl<'de> Visitor<'de> for StrVisitor {
    type Value = Str<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Str(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Str(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Str(Cow::Owned(text)))
    }
}

/// A value that is kept as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return deserializer.deserialize_any(RawVisitor);
        }
        let text = <&RawValue>::deserialize(deserializer)?.get();
        if is_sound(text.as_bytes()) {
            Ok(Self(Cow::Borrowed(text)))
        } else {
            Err(de::Error::custom("a value is nested too deep or has half a surrogate pair"))
        }
    }
}

/// Writes JSON for values that do not come as text, and so have none to borrow.
struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw<'static>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Raw(Cow::Borrowed("null")))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Raw(Cow::Borrowed(if value { "true" } else { "false" })))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Raw(Cow::Owned(value.to_string())))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Raw(Cow::Owned(value.to_string())))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Raw(Cow::Owned(serde_json::Value::from(value).to_string())))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
        serde_json::to_string(value).map(|json| Raw(Cow::Owned(json))).map_err(E::custom)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, seq: S) -> Result<Self::Value, S::Error> {
        let value = serde_json::Value::deserialize(de::value::SeqAccessDeserializer::new(seq))?;
        Ok(Raw(Cow::Owned(value.to_string())))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        let value = serde_json::Value::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(Raw(Cow::Owned(value.to_string())))
    }
}

/// An object that is kept as JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawObject<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Raw(text) = Raw::deserialize(deserializer)?;
        if text.starts_with('{') { Ok(Self(text)) } else { Err(de::Error::custom("invalid type, expected an object")) }
    }
}

/// How deep a value that is kept raw may be nested: nobody sends more than ten levels, and whoever reads it later may recurse.
pub const RAW_DEPTH: usize = 64;

/// Whether JSON that was skipped over, not read, can be read by anybody later: not too deep, and no half of a surrogate pair in it.
fn is_sound(json: &[u8]) -> bool {
    let (mut depth, mut in_string, mut at) = (0_usize, false, 0);
    while let Some(&byte) = json.get(at) {
        match (in_string, byte) {
            (true, b'\\') => match escape_length(json.get(at..).unwrap_or_default()) {
                Some(length) => at += length - 1,
                None => return false,
            },
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[') => depth += 1,
            (false, b'}' | b']') => depth -= 1,
            _ => {}
        }
        if depth > RAW_DEPTH {
            return false;
        }
        at += 1;
    }
    true
}

/// The length of the escape, of both halves if it is a surrogate pair; none if it is one half alone.
fn escape_length(json: &[u8]) -> Option<usize> {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    match unit(0) {
        None => Some(2),
        Some(0xD800..0xDC00) => matches!(unit(6), Some(0xDC00..0xE000)).then_some(12),
        Some(0xDC00..0xE000) => None,
        Some(_) => Some(6),
    }
}

/// The fields of an object that its schema does not name, in order.
pub type Extras<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// Defines an object of the wire: each field optional, null the same as absent, a field given twice an error, every field that
/// is not named kept in `extras`, but for those that are ignored.
macro_rules! wire_object {
    ($(#[$doc:meta])* $name:ident { $($key:literal => $field:ident: $type:ty,)* } $(ignored: $($ignored:literal),+)?) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        #[allow(dead_code, reason = "a schema names more than every reader needs")]
        pub(crate) struct $name<'a> {
            $(pub(crate) $field: Option<$type>,)*
            pub(crate) extras: $crate::wire::json::Extras<'a>,
        }

        const _: () = {
            /// A name: which field it is, told without a copy of it.
            #[allow(non_camel_case_types, dead_code, reason = "named after the fields; not every object ignores some")]
            enum Key<'a> {
                $($field,)*
                ignored,
                unnamed(std::borrow::Cow<'a, str>),
            }

            impl<'de> serde::Deserialize<'de> for Key<'de> {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_identifier(KeyVisitor)
                }
            }

            struct KeyVisitor;

            impl KeyVisitor {
                fn known<'a>(name: &str) -> Option<Key<'a>> {
                    match name {
                        $($key => Some(Key::$field),)*
                        $($($ignored)|+ => Some(Key::ignored),)?
                        _ => None,
                    }
                }
            }

            impl<'de> serde::de::Visitor<'de> for KeyVisitor {
                type Value = Key<'de>;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a name")
                }

                fn visit_borrowed_str<E: serde::de::Error>(self, name: &'de str) -> Result<Self::Value, E> {
                    Ok(Self::known(name).unwrap_or(Key::unnamed(name.into())))
                }

                fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Self::Value, E> {
                    Ok(Self::known(name).unwrap_or_else(|| Key::unnamed(name.to_owned().into())))
                }
            }

            impl<'de: 'a, 'a> serde::Deserialize<'de> for $name<'a> {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_map(ObjectVisitor)
                }
            }

            struct ObjectVisitor;

            impl<'a> serde::de::Visitor<'a> for ObjectVisitor {
                type Value = $name<'a>;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<M: serde::de::MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                    $(let mut $field: Option<Option<$type>> = None;)*
                    let mut extras = Vec::new();
                    while let Some(key) = map.next_key::<Key<'a>>()? {
                        match key {
                            $(Key::$field => {
                                if $field.is_some() {
                                    return Err(serde::de::Error::duplicate_field($key));
                                }
                                $field = Some(map.next_value()?);
                            })*
                            Key::ignored => {
                                map.next_value::<serde::de::IgnoredAny>()?;
                            }
                            Key::unnamed(name) => {
                                if let Some(value) = map.next_value::<Option<$crate::wire::json::Raw<'a>>>()? {
                                    extras.push((name, value.0));
                                }
                            }
                        }
                    }
                    Ok($name { $($field: $field.flatten(),)* extras })
                }
            }
        };
    };
}
pub(crate) use wire_object;

/// The number at a path; none if there is none, or something else.
pub(crate) fn count(value: &serde_json::Value, path: &[&str]) -> Option<u64> {
    path.iter().try_fold(value, |value, name| value.get(name))?.as_u64()
}

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
