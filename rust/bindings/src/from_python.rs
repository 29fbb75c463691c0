//! Python objects as serde sees them, so that one schema reads a chunk whichever way it comes.
//!
//! Dicts and other mappings, lists, scalars; of any other object its attributes, declared and extra fields of pydantic models alike.

use std::fmt;

use penstock_core::wire::json::RAW_DEPTH;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// A Python object to be read.
pub(crate) struct Value<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    /// How deep in the chunk it is. Objects may hold themselves, and reading them recurses.
    depth: usize,
}

/// A chunk's own levels, and then what a value that is kept raw may have.
const DEPTH: usize = 8 + RAW_DEPTH;

/// Why an object cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

impl de::Error for Unreadable {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    /// Without the value that was found, which is content.
    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self(format!("invalid type, expected {expected}"))
    }

    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self(format!("invalid value, expected {expected}"))
    }
}

impl From<PyErr> for Unreadable {
    fn from(error: PyErr) -> Self {
        Self(error.to_string())
    }
}

impl<'a, 'py> Value<'a, 'py> {
    pub(crate) fn new(object: &'a Bound<'py, PyAny>) -> Self {
        Self { object, depth: 0 }
    }

    fn inside(object: &'a Bound<'py, PyAny>, depth: usize) -> Result<Self, Unreadable> {
        if depth > DEPTH { Err(Unreadable("an object is nested too deep".into())) } else { Ok(Self { object, depth }) }
    }

    fn visit_text<'de, V: Visitor<'de>>(text: &Bound<'py, PyString>, visitor: V) -> Result<V::Value, Unreadable> {
        match text.to_str() {
            Ok(text) => visitor.visit_str(text),
            Err(_) => Err(Unreadable("text with half a surrogate pair".into())),
        }
    }

    fn visit_number<'de, V: Visitor<'de>>(number: &Bound<'py, PyInt>, visitor: V) -> Result<V::Value, Unreadable> {
        match number.extract::<i64>() {
            Ok(number) => visitor.visit_i64(number),
            Err(_) => visitor.visit_u64(number.extract()?),
        }
    }

    /// Dicts as they are; of other objects their attributes.
    fn visit_members<'de, V: Visitor<'de>>(&self, visitor: V, nulls: Nulls) -> Result<V::Value, Unreadable> {
        let object = self.object;
        let py = object.py();
        let members = |now: &Bound<'py, PyDict>, then| Members {
            now: now.iter(),
            then,
            value: None,
            nulls,
            depth: self.depth + 1,
        };
        if let Ok(dict) = object.cast::<PyDict>() {
            return visitor.visit_map(members(dict, None));
        }
        if let Some(attributes) = object.getattr_opt(intern!(py, "__dict__"))? {
            let attributes = attributes.cast_into::<PyDict>().map_err(PyErr::from)?;
            let extra = object.getattr_opt(intern!(py, "__pydantic_extra__"))?;
            let extra = extra.and_then(|extra| extra.cast_into::<PyDict>().ok());
            return visitor.visit_map(members(&attributes, extra));
        }
        if let Ok(mapping) = object.cast::<PyMapping>() {
            let dict = PyDict::new(py);
            dict.update(mapping)?;
            return visitor.visit_map(members(&dict, None));
        }
        // Nothing that JSON has a word for: kept as what it says of itself.
        Self::visit_text(&object.str()?, visitor)
    }
}

impl<'de> Deserializer<'de> for Value<'_, '_> {
    type Error = Unreadable;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let object = self.object;
        if let Ok(text) = object.cast::<PyString>() {
            Self::visit_text(text, visitor)
        } else if object.is_none() {
            visitor.visit_unit()
        } else if let Ok(flag) = object.cast::<PyBool>() {
            visitor.visit_bool(flag.is_true())
        } else if let Ok(number) = object.cast::<PyInt>() {
            Self::visit_number(number, visitor)
        } else if let Ok(number) = object.cast::<PyFloat>() {
            visitor.visit_f64(number.value())
        } else if let Ok(list) = object.cast::<PyList>() {
            visitor.visit_seq(Elements { elements: list.iter(), depth: self.depth + 1 })
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            visitor.visit_seq(Elements { elements: tuple.iter(), depth: self.depth + 1 })
        } else {
            self.visit_members(visitor, Nulls::Kept)
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.visit_members(visitor, Nulls::Skipped)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.object.cast::<PyList>() {
            Ok(list) => visitor.visit_seq(Elements { elements: list.iter(), depth: self.depth + 1 }),
            Err(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.object.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct struct enum identifier
    }
}

/// The elements of a list or tuple.
struct Elements<I> {
    elements: I,
    depth: usize,
}

impl<'de, 'py, I: Iterator<Item = Bound<'py, PyAny>>> SeqAccess<'de> for Elements<I> {
    type Error = Unreadable;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Self::Error> {
        let Some(element) = self.elements.next() else { return Ok(None) };
        seed.deserialize(Value::inside(&element, self.depth)?).map(Some)
    }
}

/// The members of a dict, then those of a second one.
struct Members<'py> {
    now: pyo3::types::iter::BoundDictIterator<'py>,
    then: Option<Bound<'py, PyDict>>,
    value: Option<Bound<'py, PyAny>>,
    nulls: Nulls,
    depth: usize,
}

/// Whether a member that is None is one. To a schema it says nothing; of a value that is kept as it came it is a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Kept,
    Skipped,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Unreadable;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Self::Error> {
        loop {
            let skips = self.nulls == Nulls::Skipped;
            if let Some((name, value)) = self.now.by_ref().find(|(_, value)| !(skips && value.is_none())) {
                self.value = Some(value);
                return seed.deserialize(Value::new(&name)).map(Some);
            }
            match self.then.take() {
                Some(dict) => self.now = dict.iter(),
                None => return Ok(None),
            }
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Self::Error> {
        let value = self.value.take().ok_or_else(|| Unreadable("a value was asked for before its name".into()))?;
        seed.deserialize(Value::inside(&value, self.depth)?)
    }
}
