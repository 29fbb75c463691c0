//! The reader of blocks: one stream, as the chunks and block events that `penstock.items` describes.

use std::sync::{Mutex, MutexGuard};

use penstock_core::{Event, Grain, Limits, Mode, Protocol, Session, Sink};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyType};

use crate::errors::{busy, closed, problem, stream_error};
use crate::items::{ItemWriter, OpenBlocks};
use crate::pauses::Pauses;
use crate::processor::{feed_chunk, feed_read, read_limits, read_source};
use crate::state::{State, StateWriter};
use crate::vocabulary::with_tags;

/// Reads one stream into chunks and block events.
#[pyclass(frozen, module = "penstock._core")]
pub(crate) struct BlockReader {
    inner: Mutex<Inner>,
    /// Python's state, once somebody has asked for it.
    state: PyOnceLock<Py<PyAny>>,
}

struct Inner {
    session: Session,
    state: State,
    reader: penstock_core::BlockReader,
    open: OpenBlocks,
    /// What was ready when an error came.
    ready: Option<Py<PyList>>,
    chunk_type: Option<Py<PyType>>,
    /// Memory for chunks that come as objects, written as JSON.
    json: String,
    is_over: bool,
}

#[pymethods]
impl BlockReader {
    #[new]
    #[pyo3(signature = (*, source = "auto", strict = false, limits = None, tags = None, first_index = 0))]
    fn new(
        py: Python<'_>,
        source: &str,
        strict: bool,
        limits: Option<&Bound<'_, PyAny>>,
        tags: Option<&Bound<'_, PyAny>>,
        first_index: usize,
    ) -> PyResult<Self> {
        let mode = if strict { Mode::Strict } else { Mode::Lenient };
        let limits = limits.map_or(Ok(Limits::default()), read_limits)?;
        let session = Session::new(read_source(source)?, mode, Grain::Chunk, limits);
        let mut session = with_tags(session, tags, py)?;
        // A stream before this one had a block for each of its calls, at least.
        session.count_tag_calls_from(first_index);
        let inner = Inner {
            session,
            state: State::new(py)?,
            reader: penstock_core::BlockReader::new(first_index),
            open: OpenBlocks::default(),
            ready: None,
            chunk_type: None,
            json: String::new(),
            is_over: false,
        };
        Ok(Self { inner: Mutex::new(inner), state: PyOnceLock::new() })
    }

    /// What is known of the stream so far.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let state = self.state.get_or_try_init(py, || self.lock()?.state.show(py))?;
        Ok(state.clone_ref(py))
    }

    /// The same for whoever looks only at how the stream has ended: no blocks are made for that.
    #[getter]
    fn ending(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(self.lock()?.state.ending(py))
    }

    /// How often which deviation was seen. Unlike the rest of the state, this is watched on each read.
    #[getter]
    fn quirks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        Ok(self.lock()?.state.quirks(py).clone())
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

    /// The number of the next block.
    #[getter]
    fn next_index(&self) -> PyResult<usize> {
        Ok(self.lock()?.reader.next_index())
    }

    /// Takes a read of bytes, a chunk as JSON text, or a chunk as an object; gives what is ready.
    #[pyo3(signature = (item, /))]
    fn feed<'py>(&self, item: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let mut inner = self.lock()?;
        if inner.is_over {
            return Err(closed());
        }
        let Inner { session, chunk_type, .. } = &mut *inner;
        let is_read = feed_read(session, chunk_type, item)?;
        let mut json = std::mem::take(&mut inner.json);
        let given = inner.collect(item.py(), |session, sink| {
            if !is_read {
                sink.writer.expect_chunk();
                feed_chunk(session, item, &mut json, sink)?;
            }
            drain(item.py(), session, sink)
        });
        inner.json = json;
        given
    }

    /// The input is over.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut inner = self.lock()?;
        let given = inner.collect(py, |session, sink| {
            while session.finish(sink).map_err(stream_error)?.is_some() {}
            Ok(())
        });
        inner.is_over = true;
        given
    }

    /// The stream is given up: nothing more can be fed, and nothing completes.
    fn close(&self) -> PyResult<()> {
        let mut inner = self.lock()?;
        inner.is_over = true;
        inner.reader.abandon();
        Ok(())
    }

    /// The host puts a block of its own here: what that completes, and the number of the block.
    fn interpose<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyList>, usize)> {
        let mut inner = self.lock()?;
        let Inner { state, reader, open, .. } = &mut *inner;
        let mut items = ItemWriter::new(py, state.blocks.clone(), open);
        let index = reader.interpose(&mut items);
        Ok((items.finish()?, index))
    }

    /// What was ready when the last call raised.
    fn take_ready<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ready = self.lock()?.ready.take();
        Ok(ready.map_or_else(|| PyList::empty(py), |ready| ready.into_bound(py)))
    }

    /// The malformed chunks that were skipped since the last call.
    fn take_problems<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let problems = self.lock()?.session.take_problems();
        PyList::new(py, problems.into_iter().map(|found| problem(py, found)))
    }
}

impl BlockReader {
    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        self.inner.try_lock().map_err(|_| busy())
    }
}

impl Inner {
    /// Gives what a step of the session brings; if the step fails, what it brought before that is kept.
    fn collect<'py>(
        &mut self,
        py: Python<'py>,
        step: impl FnOnce(&mut Session, &mut ItemSink<'_, 'py>) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyList>> {
        let Self { session, state, reader, open, ready, is_over, .. } = self;
        let items = ItemWriter::new(py, state.blocks.clone(), open);
        let mut sink = ItemSink { writer: StateWriter::new(py, state, None), reader, items };
        let stepped = step(session, &mut sink);
        let ItemSink { writer, items, .. } = sink;
        let written = writer.finish();
        let list = items.list.clone();
        let outcome = stepped.and(written).and(items.finish()).and_then(|list| {
            state.enter(py, session.current_block())?;
            Ok(list)
        });
        if outcome.is_err() {
            *is_over = true;
            *ready = Some(list.unbind());
        }
        outcome
    }
}

fn drain(py: Python<'_>, session: &mut Session, sink: &mut ItemSink<'_, '_>) -> PyResult<()> {
    let mut pauses = Pauses::default();
    loop {
        sink.writer.expect_chunk();
        if session.next_piece(sink).map_err(stream_error)?.is_none() {
            return Ok(());
        }
        pauses.after_chunk(py);
    }
}

/// Hears events, and writes them into the state and into the items.
struct ItemSink<'a, 'py> {
    writer: StateWriter<'a, 'py>,
    reader: &'a mut penstock_core::BlockReader,
    items: ItemWriter<'a, 'py>,
}

impl Sink for ItemSink<'_, '_> {
    fn event(&mut self, event: Event<'_>) {
        // The block first: its name and its text are looked up when an item is made.
        self.writer.event(event);
        self.reader.event(event, &mut self.items);
    }
}
