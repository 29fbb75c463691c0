//! The core's errors as Python's, mapped here and nowhere else.

use penstock_core::{Error, ErrorKind, Problem};
use pyo3::prelude::*;

pyo3::import_exception!(penstock.errors, LimitExceeded);
pyo3::import_exception!(penstock.errors, ProtocolError);
pyo3::import_exception!(penstock.errors, ReentrancyError);
pyo3::import_exception!(penstock.errors, StreamClosed);

/// An error that ends the stream.
pub(crate) fn stream_error(error: Error) -> PyErr {
    let Error { kind, offset } = error;
    match kind {
        ErrorKind::Limit { name, allowed } => LimitExceeded::new_err((name, allowed)),
        ErrorKind::Malformed(malformed) => {
            ProtocolError::new_err((malformed.name(), offset, malformed.detail().to_owned()))
        }
        ErrorKind::Quirk(quirk) => ProtocolError::new_err((quirk.name(), offset)),
    }
}

/// A chunk that was skipped, as the error it would have been in strict mode.
pub(crate) fn problem(py: Python<'_>, problem: Problem) -> Py<PyAny> {
    let Problem { malformed, offset } = problem;
    ProtocolError::new_err((malformed.name(), offset, malformed.detail().to_owned())).into_value(py).into_any()
}

/// The input was said to be over.
pub(crate) fn closed() -> PyErr {
    StreamClosed::new_err("nothing can be fed: the stream was finished")
}

/// The processor is busy with a call that has not returned.
pub(crate) fn busy() -> PyErr {
    ReentrancyError::new_err("this processor is at work: it was called again before the last call returned")
}
