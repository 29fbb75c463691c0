//! Python objects as JSON text, so that a chunk is read by one reader whichever way it comes.
//!
//! Dicts and other mappings, lists, scalars; of any other object its attributes, declared and extra fields of pydantic models alike.

use std::fmt::{self, Write as _};

use penstock_core::wire::json::RAW_DEPTH;
use penstock_core::wire::plain::needs_escapes;
use penstock_core::{Protocol, Session};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use pyo3::{ffi, intern};

/// A chunk's own levels, and then what a value that is kept raw may have. Objects may hold themselves, and reading them recurses.
const DEPTH: usize = 8 + RAW_DEPTH;

/// Why an object cannot be read; never what is in it.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) String);

impl From<PyErr> for Unreadable {
    fn from(error: PyErr) -> Self {
        Self(error.to_string())
    }
}

impl From<fmt::Error> for Unreadable {
    fn from(error: fmt::Error) -> Self {
        Self(error.to_string())
    }
}

/// Writes a chunk as JSON: all of it that can tell the session something.
pub(crate) fn write_json(object: &Bound<'_, PyAny>, session: &Session, json: &mut String) -> Result<(), Unreadable> {
    json.clear();
    let skipped = match session.protocol() {
        // A model has checked its fields itself. In a dict, one of another type makes the chunk malformed, so it is looked at.
        Some(Protocol::OpenaiChat) if session.is_identified() && !object.is_instance_of::<PyDict>() => {
            Skipped::NullsAndIdentity
        }
        Some(Protocol::OpenaiChat) => Skipped::Nulls,
        Some(Protocol::AnthropicMessages | Protocol::OpenaiResponses | Protocol::Text) | None => Skipped::Nothing,
    };
    Writer { json, depth: 0, skipped }.value(object)
}

/// Writes JSON at the end of a text.
struct Writer<'w> {
    json: &'w mut String,
    depth: usize,
    skipped: Skipped,
}

/// Which members are not written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skipped {
    /// Here an object may be kept as it came, and None is a part of it.
    Nothing,
    /// Here None says as little as an absent member, and models of chat chunks are mostly None.
    Nulls,
    /// Here the chunk says again which response it belongs to, besides.
    NullsAndIdentity,
}

impl Skipped {
    /// What holds inside of a member of that name.
    fn inside(self, name: &str) -> Self {
        match (self, name) {
            (Self::Nulls | Self::NullsAndIdentity, "choices" | "delta" | "tool_calls" | "function") => Self::Nulls,
            (Self::Nothing | Self::Nulls | Self::NullsAndIdentity, _) => Self::Nothing,
        }
    }
}

impl Writer<'_> {
    fn value(&mut self, object: &Bound<'_, PyAny>) -> Result<(), Unreadable> {
        if let Ok(text) = object.cast::<PyString>() {
            self.text(read(text)?)
        } else if object.is_none() {
            self.json.push_str("null");
            Ok(())
        } else if let Ok(dict) = object.cast::<PyDict>() {
            self.nested('{', '}', |writer| writer.members(dict, None))
        } else if let Ok(list) = object.cast::<PyList>() {
            self.nested('[', ']', |writer| writer.elements(list.iter()))
        } else if let Ok(flag) = object.cast::<PyBool>() {
            self.json.push_str(if flag.is_true() { "true" } else { "false" });
            Ok(())
        } else if let Ok(number) = object.cast::<PyInt>() {
            self.number(number)
        } else if let Ok(number) = object.cast::<PyFloat>() {
            // What is not a number in JSON is null.
            Ok(write!(self.json, "{}", serde_json::Value::from(number.value()))?)
        } else if let Ok(tuple) = object.cast::<PyTuple>() {
            self.nested('[', ']', |writer| writer.elements(tuple.iter()))
        } else {
            self.attributes(object)
        }
    }

    fn nested(
        &mut self,
        open: char,
        close: char,
        write: impl FnOnce(&mut Self) -> Result<(), Unreadable>,
    ) -> Result<(), Unreadable> {
        if self.depth >= DEPTH {
            return Err(Unreadable("an object is nested too deep".into()));
        }
        self.depth += 1;
        self.json.push(open);
        write(self)?;
        self.json.push(close);
        self.depth -= 1;
        Ok(())
    }

    fn elements<'py>(&mut self, elements: impl Iterator<Item = Bound<'py, PyAny>>) -> Result<(), Unreadable> {
        for (at, element) in elements.enumerate() {
            if at > 0 {
                self.json.push(',');
            }
            self.value(&element)?;
        }
        Ok(())
    }

    /// Writes what is in a dict, and in a second one.
    fn members<'py>(
        &mut self,
        dict: &Bound<'py, PyDict>,
        second: Option<&Bound<'py, PyDict>>,
    ) -> Result<(), Unreadable> {
        let skipped = self.skipped;
        let mut members = Vec::with_capacity(16);
        // All of them at first: each has to be fetched from memory, and this way they are fetched side by side.
        add_members(dict, skipped, &mut members);
        if let Some(second) = second {
            add_members(second, skipped, &mut members);
        }
        for (at, (name, value)) in members.iter().enumerate() {
            if at > 0 {
                self.json.push(',');
            }
            let Ok(name) = name.cast::<PyString>() else { return Err(Unreadable("a name is not a string".into())) };
            let name = read(name)?;
            self.text(name)?;
            self.json.push(':');
            self.skipped = skipped.inside(name);
            self.value(value)?;
        }
        self.skipped = skipped;
        Ok(())
    }

    /// What an object has, if it is not of a type that JSON has a word for.
    fn attributes(&mut self, object: &Bound<'_, PyAny>) -> Result<(), Unreadable> {
        let py = object.py();
        if let Some(attributes) = own_attributes(object) {
            let extra = own_attribute(object, intern!(py, "__pydantic_extra__"));
            let extra = extra.and_then(|extra| extra.cast_into::<PyDict>().ok());
            return self.nested('{', '}', |writer| writer.members(&attributes, extra.as_ref()));
        }
        if let Ok(mapping) = object.cast::<PyMapping>() {
            let dict = PyDict::new(py);
            dict.update(mapping)?;
            return self.nested('{', '}', |writer| writer.members(&dict, None));
        }
        // Kept as what it says of itself.
        self.text(read(&object.str()?)?)
    }

    fn number(&mut self, number: &Bound<'_, PyInt>) -> Result<(), Unreadable> {
        match number.extract::<i64>() {
            // The numbers of choices and calls.
            Ok(digit @ 0..10) => self.json.push(char::from(b'0' + u8::try_from(digit).unwrap_or_default())),
            Ok(number) => write!(self.json, "{number}")?,
            Err(_) => write!(self.json, "{}", number.extract::<u64>()?)?,
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<(), Unreadable> {
        if needs_escapes(text.as_bytes()) {
            return Ok(write!(self.json, "{}", serde_json::Value::from(text))?);
        }
        self.json.reserve(text.len() + 2);
        self.json.push('"');
        self.json.push_str(text);
        self.json.push('"');
        Ok(())
    }
}

/// A name and its value.
type Member<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Adds the members of a dict. Whether one is skipped is told before its references are counted, which would fetch it from memory.
fn add_members<'py>(dict: &Bound<'py, PyDict>, skipped: Skipped, members: &mut Vec<Member<'py>>) {
    let (py, none) = (dict.py(), dict.py().None());
    // The names of declared fields are interned. A name that is not is simply written.
    let identity = [intern!(py, "id"), intern!(py, "model"), intern!(py, "created")].map(Bound::as_ptr);
    let is_skipped = |name, value| match skipped {
        Skipped::Nothing => false,
        Skipped::Nulls => value == none.as_ptr(),
        Skipped::NullsAndIdentity => value == none.as_ptr() || identity.contains(&name),
    };
    let (mut position, mut name, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    with_critical_section(dict, || {
        // SAFETY: `dict` is a dict and the interpreter attached. Name and value are borrowed from it and become references of their own
        // before anything can change it.
        unsafe {
            while ffi::PyDict_Next(dict.as_ptr(), &raw mut position, &raw mut name, &raw mut value) != 0 {
                if !is_skipped(name, value) {
                    members.push((Bound::from_borrowed_ptr(py, name), Bound::from_borrowed_ptr(py, value)));
                }
            }
        }
    });
}

/// The attributes that an object has itself. Asked for by name, each would first be offered to the hooks of its class, which takes
/// longer than reading them.
fn own_attributes<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    // SAFETY: `object` is alive and the interpreter attached. The result is a new reference, or null with an error set, which is taken.
    let found = unsafe {
        let dict = ffi::PyObject_GenericGetDict(object.as_ptr(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(object.py(), dict)
    };
    found.ok()?.cast_into().ok()
}

fn own_attribute<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    // SAFETY: As above, and `name` is alive too.
    let found = unsafe {
        let value = ffi::PyObject_GenericGetAttr(object.as_ptr(), name.as_ptr());
        Bound::from_owned_ptr_or_err(object.py(), value)
    };
    found.ok()
}

fn read<'a>(text: &'a Bound<'_, PyString>) -> Result<&'a str, Unreadable> {
    text.to_str().map_err(|_| Unreadable("text with half a surrogate pair".into()))
}
