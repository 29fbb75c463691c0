//! The framer alone, for whoever has another use for server-sent events.

use std::sync::Mutex;

use penstock_core::Frame;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{busy, stream_error};
use crate::processor::read_bytes;

/// Splits reads of bytes into server-sent events, after the WHATWG rules.
#[pyclass(frozen, module = "penstock._core")]
pub(crate) struct SseFramer {
    framer: Mutex<penstock_core::SseFramer>,
}

fn sse_event<'py>(py: Python<'py>, frame: &Frame<'_>) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("penstock.sse")?.getattr("SseEvent")?;
    let kind = if frame.event.is_empty() { b"message" } else { frame.event };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    class.call1((text(kind), text(frame.data), text(frame.last_id)))
}

#[pymethods]
impl SseFramer {
    #[new]
    #[pyo3(signature = (*, limit_bytes = 8_388_608))]
    fn new(limit_bytes: usize) -> Self {
        Self { framer: Mutex::new(penstock_core::SseFramer::new(limit_bytes)) }
    }

    /// Takes a read, and gives the events that it completes.
    fn feed<'py>(&self, py: Python<'py>, read: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let mut framer = self.framer.try_lock().map_err(|_| busy())?;
        read_bytes(read, |bytes| framer.feed(bytes))?;
        let events = PyList::empty(py);
        while let Some(frame) = framer.next_frame().map_err(stream_error)? {
            // A frame without data has an `error` field only, which the standard does not know.
            if frame.error.is_none() || !frame.data.is_empty() {
                events.append(sse_event(py, &frame)?)?;
            }
        }
        Ok(events)
    }

    /// The event that the input ended in, if it had data but no blank line.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut framer = self.framer.try_lock().map_err(|_| busy())?;
        framer.finish().map(|frame| sse_event(py, &frame)).transpose()
    }

    /// The reconnection time in milliseconds that the stream asked for last.
    #[getter]
    fn retry(&self) -> PyResult<Option<u64>> {
        Ok(self.framer.try_lock().map_err(|_| busy())?.retry())
    }
}
