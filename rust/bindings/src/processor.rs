//! The processor: one stream, its session and its Python state.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use penstock_core::{ChunkText, Error, Grain, Limits, Malformed, Mode, Piece, Protocol, Session, Sink};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use crate::chunks;
use crate::errors::{busy, closed, problem, stream_error};
use crate::from_python::{Unreadable, write_json};
use crate::pauses::Pauses;
use crate::state::{State, StateWriter};
use crate::to_python::parse_read;
use crate::vocabulary::with_tags;

/// What `feed` gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emit {
    Chunks,
    Events,
    Nothing,
}

impl Emit {
    fn from_name(name: &str) -> PyResult<Self> {
        match name {
            "chunks" => Ok(Self::Chunks),
            "events" => Ok(Self::Events),
            "nothing" => Ok(Self::Nothing),
            _ => {
                Err(PyValueError::new_err(format!("emit must be \"chunks\", \"events\" or \"nothing\", not {name:?}")))
            }
        }
    }
}

/// Reads one stream of chat chunks into blocks.
#[pyclass(frozen, module = "penstock._core")]
pub(crate) struct StreamProcessor {
    inner: Mutex<Inner>,
    /// Python's state, once somebody has asked for it.
    state: PyOnceLock<Py<PyAny>>,
    emit: Emit,
}

struct Inner {
    session: Session,
    state: State,
    /// Chunks that were fed and not yet worked on.
    waiting: VecDeque<Py<PyAny>>,
    /// The chunk that is worked on, for the pieces of it.
    chunk: Option<Py<PyAny>>,
    is_finishing: bool,
    /// Memory for a chunk as JSON.
    json: String,
    /// The type of the last chunk that was an object.
    chunk_type: Option<Py<PyType>>,
    /// Whether the stream ended in an error.
    is_over: bool,
}

#[pymethods]
impl StreamProcessor {
    #[new]
    #[pyo3(signature = (*, source = "auto", emit = "chunks", strict = false, limits = None, tags = None))]
    fn new(
        py: Python<'_>,
        source: &str,
        emit: &str,
        strict: bool,
        limits: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let source = read_source(source)?;
        let emit = Emit::from_name(emit)?;
        let mode = if strict { Mode::Strict } else { Mode::Lenient };
        let grain = if emit == Emit::Chunks { Grain::Completion } else { Grain::Chunk };
        let session = Session::new(source, mode, grain, limits.map_or(Ok(Limits::default()), read_limits)?);
        let session = with_tags(session, tags, py)?;
        let inner = Inner {
            session,
            state: State::new(py)?,
            waiting: VecDeque::new(),
            chunk: None,
            is_finishing: false,
            json: String::new(),
            chunk_type: None,
            is_over: false,
        };
        Ok(Self { inner: Mutex::new(inner), state: PyOnceLock::new(), emit })
    }

    /// What is known of the stream so far.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let state = self.state.get_or_try_init(py, || self.lock()?.state.show(py))?;
        Ok(state.clone_ref(py))
    }

    /// The wire format, if it was named or could be told; else None.
    #[getter]
    fn source(&self) -> PyResult<Option<&'static str>> {
        Ok(self.lock()?.session.protocol().map(Protocol::name))
    }

    /// Whether the last item brought an event.
    #[getter]
    fn took_event(&self) -> PyResult<bool> {
        Ok(self.lock()?.session.took_event())
    }

    /// Takes a read of bytes, a chunk as JSON text, or a chunk as an object.
    fn feed<'py>(slf: &Bound<'py, Self>, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        let mut inner = this.lock()?;
        inner.accept(item)?;
        inner.emitted(slf, this.emit)
    }

    /// The input is over.
    fn finish<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = slf.get();
        let mut inner = this.lock()?;
        inner.is_finishing = true;
        inner.emitted(slf, this.emit)
    }

    /// The malformed chunks that were skipped since the last call.
    fn take_problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let problems = self.lock()?.session.take_problems();
        PyList::new(py, problems.into_iter().map(|found| problem(py, found)))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// Goes on by one chunk.
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut inner = self.lock()?;
        let next = inner.next_chunk(py);
        inner.is_over |= next.is_err();
        next
    }
}

impl StreamProcessor {
    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        self.inner.try_lock().map_err(|_| busy())
    }
}

impl Inner {
    /// Chunks are given one by one by the processor itself, as an iterator; everything else at once.
    fn emitted<'py>(&mut self, processor: &Bound<'py, StreamProcessor>, emit: Emit) -> PyResult<Bound<'py, PyAny>> {
        let py = processor.py();
        if emit == Emit::Chunks {
            return Ok(processor.clone().into_any());
        }
        let events = (emit == Emit::Events).then(|| PyList::empty(py));
        let run = self.run(py, events.as_ref());
        self.is_over |= run.is_err();
        run.map(|()| events.map_or_else(|| PyTuple::empty(py).into_any(), Bound::into_any))
    }

    fn accept(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.is_finishing || self.is_over {
            return Err(closed());
        }
        if !feed_read(&mut self.session, &mut self.chunk_type, item)? {
            self.waiting.push_back(item.clone().unbind());
        }
        Ok(())
    }

    /// Takes everything that was fed.
    fn run<'py>(&mut self, py: Python<'py>, events: Option<&Bound<'py, PyList>>) -> PyResult<()> {
        let Self { session, state, waiting, json, .. } = self;
        let mut writer = StateWriter::new(py, state, events);
        while let Some(item) = waiting.pop_front() {
            writer.expect_chunk();
            feed_chunk(session, item.bind(py), json, &mut writer)?;
        }
        let mut pauses = Pauses::default();
        loop {
            writer.expect_chunk();
            if session.next_piece(&mut writer).map_err(stream_error)?.is_none() {
                break;
            }
            pauses.after_chunk(py);
        }
        while self.is_finishing && session.finish(&mut writer).map_err(stream_error)?.is_some() {}
        writer.finish()?;
        self.state.enter(py, self.session.current_block())
    }

    /// Takes the next piece, and gives the chunk that belongs to it.
    fn next_chunk<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.state.begin_chunk(py)?;
        let chunk = self.take_chunk(py)?;
        self.state.enter(py, self.session.current_block())?;
        Ok(chunk)
    }

    fn take_chunk<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let state_object = self.state.show(py)?;
        loop {
            let mut writer = StateWriter::new(py, &mut self.state, None);
            let mut piece = self.session.next_piece(&mut writer).map_err(stream_error)?;
            if piece.is_none() && self.waiting.is_empty() && self.is_finishing {
                piece = self.session.finish(&mut writer).map_err(stream_error)?;
            }
            if let Some(piece) = piece {
                if chunks::is_refused(&piece) {
                    continue;
                }
                let chunk = chunk_of(state_object.bind(py), &piece, &mut self.chunk)?;
                return writer.finish().map(|()| Some(chunk));
            }
            let Some(item) = self.waiting.pop_front() else { return writer.finish().map(|()| None) };
            let item = item.into_bound(py);
            if let Some(piece) = feed_chunk(&mut self.session, &item, &mut self.json, &mut writer)? {
                if chunks::is_refused(&piece) {
                    continue;
                }
                self.chunk = Some(item.clone().unbind());
                let chunk = chunk_of(state_object.bind(py), &piece, &mut self.chunk)?;
                return writer.finish().map(|()| Some(chunk));
            }
        }
    }
}

/// Takes a read of bytes; false if the item is a chunk instead.
pub(crate) fn feed_read(
    session: &mut Session,
    chunk_type: &mut Option<Py<PyType>>,
    item: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    if item.is_instance_of::<PyBytes>() {
        return read_bytes(item, |bytes| session.feed(bytes)).map(|()| true);
    }
    // A stream has chunks of one type, mostly, so the type that was a chunk before is not asked again.
    let kind = item.get_type();
    let is_known = chunk_type.as_ref().is_some_and(|known| known.is(&kind));
    if !is_known && !is_chunk(item)? {
        if PyBuffer::<u8>::get(item).is_ok() {
            return read_bytes(item, |bytes| session.feed(bytes)).map(|()| true);
        }
        return Err(PyTypeError::new_err(format!(
            "expected bytes of server-sent events, or a chunk as JSON text, dict or model object, not {}",
            kind.name()?
        )));
    }
    if !is_known {
        *chunk_type = Some(kind.unbind());
    }
    Ok(false)
}

pub(crate) fn feed_chunk<'a>(
    session: &'a mut Session,
    item: &'a Bound<'_, PyAny>,
    json: &mut String,
    sink: &mut impl Sink,
) -> PyResult<Option<Piece<'a>>> {
    let fed: Result<_, Error> = match item.cast::<PyString>().map(|text| text.to_str()) {
        Ok(Ok(text)) => session.feed_json(text, sink),
        // Half of a surrogate pair.
        Ok(Err(_)) => session.feed_malformed(Malformed::InvalidUtf8, sink).map(|()| None),
        Err(_) => match write_json(item, session, json) {
            Ok(()) => session.feed_value(json, sink),
            Err(Unreadable(reason)) => session.feed_malformed(Malformed::WrongShape(reason), sink).map(|()| None),
        },
    };
    fed.map_err(stream_error)
}

fn chunk_of<'py>(
    state: &Bound<'py, PyAny>,
    piece: &Piece<'_>,
    chunk: &mut Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = state.py();
    match piece.chunk {
        ChunkText::Json(json) => *chunk = Some(parse_read(py, json)?.unbind()),
        ChunkText::Text(text) => *chunk = Some(PyString::new(py, text).into_any().unbind()),
        ChunkText::Value | ChunkText::Same => {}
        ChunkText::Failure => return chunks::failure(state),
        ChunkText::Closing(choice) => return chunks::closing(state, choice),
    }
    let whole = chunk.as_ref().map_or_else(|| py.None(), |chunk| chunk.clone_ref(py)).into_bound(py);
    if piece.is_partial || !piece.dropped.is_empty() { chunks::view(&whole, piece) } else { Ok(whole) }
}

/// Whether an item can be a chunk. Asking for its bytes instead would raise, which costs more than reading it.
pub(crate) fn is_chunk(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = item.py();
    Ok(item.is_instance_of::<PyDict>()
        || item.is_instance_of::<PyString>()
        || item.hasattr(intern!(py, "choices"))?
        || item.hasattr(intern!(py, "type"))?
        || item.hasattr(intern!(py, "object"))?)
}

/// Lends out the bytes of a bytes-like object.
pub(crate) fn read_bytes(item: &Bound<'_, PyAny>, take: impl FnOnce(&[u8])) -> PyResult<()> {
    if let Ok(bytes) = item.cast::<PyBytes>() {
        take(bytes.as_bytes());
        return Ok(());
    }
    let buffer = PyBuffer::<u8>::get(item).map_err(|_| {
        let kind = item.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
        PyTypeError::new_err(format!("expected a bytes-like object, not {kind}"))
    })?;
    take(&buffer.to_vec(item.py())?);
    Ok(())
}

pub(crate) fn read_source(name: &str) -> PyResult<Option<Protocol>> {
    match Protocol::from_name(name) {
        Some(protocol) => Ok(Some(protocol)),
        None if name == "auto" => Ok(None),
        None => Err(PyValueError::new_err(format!(
            "source must be \"auto\", \"openai_chat\", \"anthropic_messages\", \"openai_responses\" or \"text\", not {name:?}"
        ))),
    }
}

pub(crate) fn read_limits(limits: &Bound<'_, PyAny>) -> PyResult<Limits> {
    let limit = |name: &str| limits.getattr(name)?.extract::<usize>();
    Ok(Limits {
        frame_bytes: limit("frame_bytes")?,
        argument_bytes: limit("argument_bytes")?,
        blocks: limit("blocks")?,
        calls: limit("calls")?,
        held_bytes: limit("held_bytes")?,
        choices: limit("choices")?,
        deltas: limit("deltas")?,
        tag_bytes: limit("tag_bytes")?,
    })
}
