//! The digest of a call's fields, for Python's `ToolCall`: the same that a verdict is held against.

use penstock_core::FieldHash;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// SHA-256 over texts and numbers, in hexadecimal.
#[pyfunction]
#[pyo3(signature = (*fields))]
pub(crate) fn digest_of(fields: &Bound<'_, PyTuple>) -> PyResult<String> {
    let mut hash = FieldHash::default();
    for field in fields {
        match field.cast::<PyString>() {
            Ok(text) => hash.add_text(text.to_str()?),
            Err(_) => hash.add_number(field.extract()?),
        }
    }
    Ok(hash.finish())
}
