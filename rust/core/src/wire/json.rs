//! What the wire formats share: borrowed strings, values kept raw, and objects that keep the fields they do not know.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2, memchr2_iter};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::wire::room;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw<'a>(pub &'a str);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        room::pay(room::RAW)?;
        let text = <&RawValue>::deserialize(deserializer)?.get();
        if is_sound(text.as_bytes()) {
            Ok(Self(text))
        } else {
            Err(de::Error::custom("a value is nested too deep or has half a surrogate pair"))
        }
    }
}

/// An object that is kept as JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawObject<'a>(pub &'a str);

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Raw(text) = Raw::deserialize(deserializer)?;
        if text.starts_with('{') { Ok(Self(text)) } else { Err(de::Error::custom("invalid type, expected an object")) }
    }
}

/// A value that says nothing; its text, if it is a string.
pub(crate) struct Noise<'a>(pub(crate) Option<&'a str>);

impl<'de: 'a, 'a> Deserialize<'de> for Noise<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        Ok(Self(json.strip_prefix('"').and_then(|json| json.strip_suffix('"'))))
    }
}

/// The fields of an object as they stand there, a name that comes twice included.
#[derive(Debug, Default)]
pub(crate) struct Fields<'a>(pub(crate) Vec<(Str<'a>, Raw<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            if fields.len() >= NAMES {
                return Err(de::Error::custom("an object has too many names"));
            }
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}

/// How deep a value that is kept raw may be nested: nobody sends more than ten levels, and whoever reads it later may recurse.
pub const RAW_DEPTH: usize = 64;

/// Whether JSON that was skipped over, not read, can be read by anybody later: not too deep, and no half of a surrogate pair in it.
fn is_sound(json: &[u8]) -> bool {
    // Nearly all values are short of brackets and have no escapes, which is told many bytes at a time.
    let brackets = memchr2_iter(b'{', b'[', json).take(RAW_DEPTH + 1).count();
    if brackets <= RAW_DEPTH && memchr(b'\\', json).is_none() {
        return true;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => match behind_string(json, at) {
                Some(behind) => at = behind,
                None => return false,
            },
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        if depth > RAW_DEPTH {
            return false;
        }
    }
    true
}

/// Where the string ends that begins at `at`; none if an escape in it is half of a surrogate pair.
fn behind_string(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', json.get(at..)?)?;
        match json.get(at) {
            Some(b'\\') => at += escape_length(json.get(at..)?)?,
            Some(_) | None => return Some(at + 1),
        }
    }
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

/// How many names an object may have: nobody's has a hundred, and whoever compares them may do so one by one.
pub(crate) const NAMES: usize = 1024;

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
            /// The last string under a name that is ignored.
            pub(crate) noise: Option<&'a str>,
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
                    $crate::wire::room::pay($crate::wire::room::of::<$name<'a>>())?;
                    $(let mut $field: Option<Option<$type>> = None;)*
                    let mut extras = Vec::new();
                    let mut noise = None;
                    while let Some(key) = map.next_key::<Key<'a>>()? {
                        match key {
                            $(Key::$field => {
                                if $field.is_some() {
                                    return Err(serde::de::Error::duplicate_field($key));
                                }
                                $field = Some(map.next_value()?);
                            })*
                            Key::ignored => {
                                noise = map.next_value::<$crate::wire::json::Noise<'a>>()?.0;
                            }
                            Key::unnamed(_) if extras.len() >= $crate::wire::json::NAMES => {
                                return Err(serde::de::Error::custom("an object has too many names"));
                            }
                            Key::unnamed(name) => {
                                if let Some(value) = map.next_value::<Option<$crate::wire::json::Raw<'a>>>()? {
                                    extras.push((name, std::borrow::Cow::Borrowed(value.0)));
                                }
                            }
                        }
                    }
                    Ok($name { $($field: $field.flatten(),)* extras, noise })
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
