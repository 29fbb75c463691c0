//! Arguments that every reader reads the same way.
//!
//! Readers disagree on names given twice, on numbers that are too large, on half a surrogate pair, and on how deep is too deep. A judge
//! that reads such a text and a client that reads it may see two different calls, so it is not sound.

use std::collections::HashSet;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::wire::json::NAMES;

/// How deep arguments may be nested. Nobody sends more than ten levels.
const DEPTH: usize = 64;

/// How long a number may be.
const DIGITS: usize = 64;

/// What keeps a JSON text from being read the same way by everyone; none if nothing does.
pub(crate) fn fault(json: &str) -> Option<&'static str> {
    if has_long_number(json) {
        return Some("the arguments hold a number of more than 64 digits");
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let read = Sound { depth: 0 }.deserialize(&mut deserializer).and_then(|()| deserializer.end());
    read.err().map(|error| FAULTS.into_iter().find(|fault| error.to_string().starts_with(fault)).unwrap_or(NOT_JSON))
}

const NOT_JSON: &str = "the arguments are not JSON that every reader reads the same way";
const NAMED_TWICE: &str = "the arguments give a name twice";
const TOO_DEEP: &str = "the arguments are nested too deep";
const TOO_MANY: &str = "the arguments hold an object with too many names";
const FAULTS: [&str; 3] = [NAMED_TWICE, TOO_DEEP, TOO_MANY];

/// Whether a number outside of strings has too many digits.
fn has_long_number(json: &str) -> bool {
    let (mut in_string, mut is_escaped, mut digits) = (false, false, 0_usize);
    for byte in json.bytes() {
        match byte {
            b'0'..=b'9' if !in_string => digits += 1,
            b'.' | b'e' | b'E' | b'+' | b'-' if !in_string => {}
            _ => digits = 0,
        }
        if digits > DIGITS {
            return true;
        }
        if byte == b'"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = in_string && byte == b'\\' && !is_escaped;
    }
    false
}

#[derive(Clone, Copy)]
struct Sound {
    depth: usize,
}

impl Sound {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= DEPTH { Err(E::custom(TOO_DEEP)) } else { Ok(Self { depth: self.depth + 1 }) }
    }
}

impl<'de> DeserializeSeed<'de> for Sound {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sound {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        if value.is_finite() { Ok(()) } else { Err(E::custom("a number is too large")) }
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut elements: S) -> Result<(), S::Error> {
        let inner = self.deeper()?;
        while elements.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<(), M::Error> {
        let inner = self.deeper()?;
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(name) {
                return Err(de::Error::custom(NAMED_TWICE));
            }
            if names.len() > NAMES {
                return Err(de::Error::custom(TOO_MANY));
            }
            members.next_value_seed(inner)?;
        }
        Ok(())
    }
}
