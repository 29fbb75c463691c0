//! The translator: one stream, read in one format and written in another, with a gate in between if one is asked for.

use std::sync::{Mutex, MutexGuard};

use penstock_core::{
    Error, Failure, FailureKind, Grain, Limits, Malformed, Mode, OnInterrupt, OutletOptions, Protocol, Session, Target,
    TextOrder, Translator as Core, Verdict,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::asks::{read_gate, take_asks};
use crate::errors::{busy, closed, problem, stream_error};
use crate::from_python::{Unreadable, write_json};
use crate::options::{choose, read_target};
use crate::pauses::{SLICE, pause};
use crate::processor::{is_chunk, read_bytes, read_limits, read_source};
use crate::state::{State, StateWriter};
use crate::vocabulary::with_tags;

/// Reads longer than this are translated without the interpreter's lock.
const LONG_READ: usize = 16 << 10;

/// Translates one stream.
#[pyclass(frozen, module = "penstock._core")]
pub(crate) struct Translator {
    inner: Mutex<Inner>,
    target: Target,
}

struct Inner {
    core: Core,
    /// What a policy looks at, if one does.
    state: Option<State>,
    /// The events since they were taken, if somebody takes them.
    events: Option<Py<PyList>>,
    /// Memory for a chunk as JSON.
    json: String,
    /// Whether chunks that come as bytes stand among them, as dicts.
    lists_chunks: bool,
    has_failed: bool,
}

#[pymethods]
impl Translator {
    #[new]
    #[pyo3(signature = (
        *, target, id, created, source = "auto", strict = false, limits = None, coalesce = true, on_interrupt = "error",
        text_after_calls = "in_order", model = None, tags = None, gate = None, emit = "nothing"
    ))]
    #[allow(clippy::too_many_arguments, reason = "options by name; users meet them in Python")]
    fn new(
        py: Python<'_>,
        target: &str,
        id: String,
        created: u64,
        source: &str,
        strict: bool,
        limits: Option<&Bound<'_, PyAny>>,
        coalesce: bool,
        on_interrupt: &str,
        text_after_calls: &str,
        model: Option<String>,
        tags: Option<&Bound<'_, PyAny>>,
        gate: Option<Vec<String>>,
        emit: &str,
    ) -> PyResult<Self> {
        let target = read_target(target)?;
        let limits = limits.map_or(Ok(Limits::default()), read_limits)?;
        let gate = gate.map(|asks| read_gate(&asks)).transpose()?;
        let options = OutletOptions {
            target,
            on_interrupt: choose(
                "on_interrupt",
                on_interrupt,
                &[("error", OnInterrupt::Error), ("close", OnInterrupt::Close)],
            )?,
            text_order: choose(
                "text_after_calls",
                text_after_calls,
                &[("in_order", TextOrder::AsItCame), ("before_calls", TextOrder::BeforeCalls)],
            )?,
            coalesces: coalesce,
            gate,
            held_bytes: limits.held_bytes,
            model,
            id,
            created,
        };
        let mode = match (strict, gate) {
            (true, _) => Mode::Strict,
            (false, Some(_)) => Mode::Guarded,
            (false, None) => Mode::Lenient,
        };
        let session = Session::new(read_source(source)?, mode, Grain::Chunk, limits);
        let session = with_tags(session, tags, py)?;
        let core = Core::new(session, options);
        let emit = choose("emit", emit, &[("nothing", 0_u8), ("state", 1), ("events", 2), ("chunks", 3)])?;
        let state = (emit > 0).then(|| State::new(py)).transpose()?;
        let events = (emit > 1).then(|| PyList::empty(py).unbind());
        let inner = Inner { core, state, events, lists_chunks: emit > 2, json: String::new(), has_failed: false };
        Ok(Self { inner: Mutex::new(inner), target })
    }

    /// The wire format that is read, if it was named or could be told; else None.
    #[getter]
    fn source(&self) -> PyResult<Option<&'static str>> {
        Ok(self.lock()?.core.source().map(Protocol::name))
    }

    /// The wire format that is written.
    #[getter]
    fn target(&self) -> &'static str {
        self.target.protocol().name()
    }

    /// What is known of the stream so far, if it was asked for.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.lock()?.state.as_mut().map(|state| state.show(py)).transpose()
    }

    /// Whether the answer has been written to its end, or to its error.
    #[getter]
    fn is_over(&self) -> PyResult<bool> {
        Ok(self.lock()?.core.outlet().is_over())
    }

    /// Whether the stream has said its end: nothing more of it is read.
    #[getter]
    fn has_ended(&self) -> PyResult<bool> {
        Ok(self.lock()?.core.has_ended())
    }

    /// Whether the last item brought an event.
    #[getter]
    fn took_event(&self) -> PyResult<bool> {
        Ok(self.lock()?.core.session().took_event())
    }

    /// Whether there is something to ask a policy.
    #[getter]
    fn has_asks(&self) -> PyResult<bool> {
        Ok(self.lock()?.core.outlet().has_asks())
    }

    /// The kind and the message of the error that the answer was ended with; None if there is none.
    #[getter]
    fn failure(&self) -> PyResult<Option<(&'static str, String)>> {
        let inner = self.lock()?;
        Ok(inner.core.outlet().failure().map(|failure| (failure.kind.name(), failure.message.clone())))
    }

    /// What was not written, by name, and how often.
    #[getter]
    fn losses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let losses = PyDict::new(py);
        for &(name, count) in self.lock()?.core.outlet().losses() {
            losses.set_item(name, count)?;
        }
        Ok(losses)
    }

    /// The ids of the calls: as written, to as they came.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ids = PyDict::new(py);
        for (written, came) in self.lock()?.core.outlet().ids() {
            ids.set_item(written, came)?;
        }
        Ok(ids)
    }

    /// Takes a read of bytes, a chunk as JSON text, or a chunk as an object; gives what can be written by now.
    fn feed<'py>(&self, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let mut inner = self.lock()?;
        if inner.core.is_finished() || inner.has_failed {
            return Err(closed());
        }
        let fed = inner.feed(item);
        inner.has_failed |= fed.is_err();
        fed?;
        Ok(inner.take(item.py()))
    }

    /// The input is over; gives the rest.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut inner = self.lock()?;
        inner.watched(py, |core, watch| core.finish(watch), Core::finish)?;
        Ok(inner.take(py))
    }

    /// The input cannot go on; gives the end that says so.
    #[pyo3(signature = (message, kind = "api_error"))]
    fn interrupt<'py>(&self, py: Python<'py>, message: &str, kind: &str) -> PyResult<Bound<'py, PyBytes>> {
        let kind = FailureKind::from_name(kind).ok_or_else(|| {
            PyValueError::new_err(format!("kind must be a kind of error such as \"api_error\", not {kind:?}"))
        })?;
        let mut inner = self.lock()?;
        inner.core.interrupt(Failure::new(kind, message));
        Ok(inner.take(py))
    }

    /// A sign of life in the target's format.
    fn ping<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut inner = self.lock()?;
        inner.core.outlet_mut().ping();
        Ok(inner.take(py))
    }

    /// The malformed chunks that were skipped since the last call.
    fn take_problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let problems = self.lock()?.core.take_problems();
        PyList::new(py, problems.into_iter().map(|found| problem(py, found)))
    }

    /// The events since the last call, if they were asked for.
    fn take_events<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut inner = self.lock()?;
        let fresh = PyList::empty(py);
        match &mut inner.events {
            Some(events) => Ok(std::mem::replace(events, fresh.unbind()).into_bound(py)),
            None => Ok(fresh),
        }
    }

    /// What a policy is asked since the last call: `("call", block, (call, fault))`, `("thinking", block, (type, kind))`, `("block", block, (type, kind))`,
    /// `("text", block, text)` or `("text_end", block, None)`.
    fn take_asks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        take_asks(py, &mut self.lock()?.core)
    }

    /// A block may leave. As for every verdict: one on a call counts only if that is still the one of this digest, and what it gives is
    /// whether it was taken, and what can be written by now.
    fn allow<'py>(&self, py: Python<'py>, block: usize, digest: &str) -> PyResult<Bound<'py, PyTuple>> {
        self.decide(py, block, digest, Verdict::Allow)
    }

    /// A call may not leave: its place is taken by the reason.
    fn deny<'py>(&self, py: Python<'py>, block: usize, digest: &str, reason: String) -> PyResult<Bound<'py, PyTuple>> {
        self.decide(py, block, digest, Verdict::Deny(reason))
    }

    /// Another call leaves in the place of one.
    fn replace<'py>(
        &self,
        py: Python<'py>,
        block: usize,
        digest: &str,
        name: String,
        arguments: String,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.decide(py, block, digest, Verdict::Replace { name, arguments })
    }

    /// Whether the call of this digest waits for its verdict.
    fn waits_for(&self, block: usize, digest: &str) -> PyResult<bool> {
        Ok(self.lock()?.core.outlet().call(block).is_some_and(|call| call.digest() == digest))
    }

    /// What the policy gives back of a block's text.
    fn write_text<'py>(&self, py: Python<'py>, block: usize, text: &str) -> PyResult<Bound<'py, PyBytes>> {
        let mut inner = self.lock()?;
        inner.core.outlet_mut().write_text(block, text);
        Ok(inner.take(py))
    }

    /// The policy has given back all of a block's text.
    fn end_text<'py>(&self, py: Python<'py>, block: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut inner = self.lock()?;
        inner.core.outlet_mut().end_text(block);
        Ok(inner.take(py))
    }
}

impl Translator {
    fn decide<'py>(
        &self,
        py: Python<'py>,
        block: usize,
        digest: &str,
        verdict: Verdict,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let mut inner = self.lock()?;
        let is_taken = inner.core.outlet_mut().decide(block, digest, verdict);
        (is_taken, inner.take(py)).into_pyobject(py)
    }

    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        self.inner.try_lock().map_err(|_| busy())
    }
}

impl Inner {
    fn take<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.core.outlet_mut().take(|written| PyBytes::new(py, written.as_bytes()))
    }

    /// Runs the core with whoever watches: a policy's state, or nobody.
    fn watched(
        &mut self,
        py: Python<'_>,
        run: impl FnOnce(&mut Core, &mut StateWriter<'_, '_>) -> Result<(), Error>,
        run_alone: impl FnOnce(&mut Core, &mut ()) -> Result<(), Error>,
    ) -> PyResult<()> {
        let Some(state) = &mut self.state else { return run_alone(&mut self.core, &mut ()).map_err(stream_error) };
        let events = self.events.as_ref().map(|events| events.bind(py).clone());
        let mut writer = StateWriter::new(py, state, events.as_ref());
        writer.lists_chunks = self.lists_chunks;
        writer.expect_chunk();
        let ran = run(&mut self.core, &mut writer);
        writer.finish()?;
        ran.map_err(stream_error)
    }

    fn feed(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = item.py();
        if let Ok(bytes) = item.cast::<PyBytes>() {
            return self.feed_bytes(py, bytes.as_bytes());
        }
        if let Ok(text) = item.cast::<PyString>() {
            return match text.to_str() {
                Ok(text) => self.watched(
                    py,
                    |core, watch| core.feed_json(text, watch),
                    |core, ()| core.feed_json(text, &mut ()),
                ),
                // Half of a surrogate pair.
                Err(_) => self.watched(
                    py,
                    |core, watch| core.feed_malformed(Malformed::InvalidUtf8, watch),
                    |core, ()| core.feed_malformed(Malformed::InvalidUtf8, &mut ()),
                ),
            };
        }
        if is_chunk(item)? {
            return self.feed_object(item);
        }
        let mut copy = Vec::new();
        read_bytes(item, |bytes| copy.extend_from_slice(bytes)).map_err(|_| {
            let kind = item.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "expected bytes of server-sent events, or a chunk as JSON text, dict or model object, not {kind}"
            ))
        })?;
        self.feed_bytes(py, &copy)
    }

    fn feed_object(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut json = std::mem::take(&mut self.json);
        let fed = match write_json(item, self.core.session(), &mut json) {
            Ok(()) => self.watched(
                item.py(),
                |core, watch| core.feed_value(&json, watch),
                |core, ()| core.feed_value(&json, &mut ()),
            ),
            Err(Unreadable(reason)) => {
                let malformed = || Malformed::WrongShape(reason.clone());
                self.watched(
                    item.py(),
                    |core, watch| core.feed_malformed(malformed(), watch),
                    |core, ()| core.feed_malformed(malformed(), &mut ()),
                )
            }
        };
        self.json = json;
        fed
    }

    fn feed_bytes(&mut self, py: Python<'_>, bytes: &[u8]) -> PyResult<()> {
        if self.state.is_none() && bytes.len() > LONG_READ {
            let core = &mut self.core;
            return py.detach(|| core.feed(bytes, &mut ())).map_err(stream_error);
        }
        let (mut slice, mut rest) = bytes.split_at(bytes.len().min(SLICE));
        loop {
            self.watched(py, |core, watch| core.feed(slice, watch), |core, ()| core.feed(slice, &mut ()))?;
            if rest.is_empty() {
                return Ok(());
            }
            pause(py);
            (slice, rest) = rest.split_at(rest.len().min(SLICE));
        }
    }
}
