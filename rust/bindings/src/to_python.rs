//! JSON text to Python objects.

use std::fmt;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The Python object of a JSON text that the core has read already.
pub(crate) fn parse<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let seed = Object { py, takes_floats: true };
    seed.deserialize(&mut deserializer).map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

/// The same of a chunk as it was read.
pub(crate) fn parse_read<'py>(py: Python<'py>, json: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    // What was read as JSON is UTF-8.
    parse(py, str::from_utf8(json).unwrap_or_default())
}

/// The Python object of a text, if that is JSON that Python's own reader would read in the same way. A number that is no small integer
/// is left to that: it keeps all digits.
pub(crate) fn parse_without_floats<'py>(py: Python<'py>, text: &str) -> Option<Bound<'py, PyAny>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Object { py, takes_floats: false }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok().map(|()| value)
}

#[derive(Clone, Copy)]
struct Object<'py> {
    py: Python<'py>,
    takes_floats: bool,
}

impl<'de, 'py> DeserializeSeed<'de> for Object<'py> {
    type Value = Bound<'py, PyAny>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'py> Visitor<'de> for Object<'py> {
    type Value = Bound<'py, PyAny>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(self.py.None().into_bound(self.py))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(pyo3::types::PyBool::new(self.py, value).to_owned().into_any())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(pyo3::types::PyInt::new(self.py, value).into_any())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(pyo3::types::PyInt::new(self.py, value).into_any())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        if !self.takes_floats {
            return Err(E::custom("a number that is no small integer"));
        }
        Ok(pyo3::types::PyFloat::new(self.py, value).into_any())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        Ok(PyString::new(self.py, value).into_any())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut elements: S) -> Result<Self::Value, S::Error> {
        let list = PyList::empty(self.py);
        while let Some(element) = elements.next_element_seed(self)? {
            list.append(element).map_err(S::Error::custom)?;
        }
        Ok(list.into_any())
    }

    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Self::Value, M::Error> {
        let dict = PyDict::new(self.py);
        while let Some(name) = members.next_key_seed(self)? {
            let value = members.next_value_seed(self)?;
            dict.set_item(name, value).map_err(M::Error::custom)?;
        }
        Ok(dict.into_any())
    }
}
