//! Events to Python's `StreamState`. Its blocks and usage are made when somebody asks for it, and written from then on.

use penstock_core::{BlockKind, Event, Sink, Usage};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};

use crate::blocks::{self, SharedBlocks};
use crate::maker::Maker;
use crate::to_python::{parse, parse_read};

/// The Python classes that the writer makes, looked up once.
struct Classes {
    state: Maker,
    usage: Maker,
    events: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    CLASSES.get_or_try_init(py, || {
        Ok(Classes {
            state: Maker::new(py.import("penstock.blocks")?.getattr("StreamState")?)?,
            usage: Maker::new(py.import("penstock.usage")?.getattr("Usage")?)?,
            events: py.import("penstock.events")?.into_any().unbind(),
        })
    })
}

/// The Python state of one stream.
pub(crate) struct State {
    pub(crate) blocks: SharedBlocks,
    /// Python's `StreamState`.
    object: Py<PyAny>,
    list: Py<PyList>,
    /// How often which deviation was seen.
    quirks: Py<PyDict>,
    /// What is in the list, once somebody has asked for the state.
    python_blocks: Option<Vec<Py<PyAny>>>,
    current: Option<usize>,
    /// The block that the last chunk completed.
    completed: Option<usize>,
    /// The usage that nobody has looked at yet.
    usage: Option<(Usage, String)>,
}

impl State {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let list = PyList::empty(py);
        let quirks = PyDict::new(py);
        let object = classes(py)?.state.make(py, |state| {
            state.set(intern!(py, "blocks"), &list)?;
            state.set(intern!(py, "finish_reasons"), PyDict::new(py))?;
            state.set(intern!(py, "extras"), PyDict::new(py))?;
            state.set(intern!(py, "quirks"), &quirks)
        })?;
        Ok(Self {
            blocks: SharedBlocks::default(),
            object: object.unbind(),
            list: list.unbind(),
            quirks: quirks.unbind(),
            python_blocks: None,
            current: None,
            completed: None,
            usage: None,
        })
    }

    /// Python's state, for somebody who looks at it from now on.
    pub(crate) fn show(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.python_blocks.is_none() {
            let count = self.blocks.lock().iter().count();
            let made: Vec<_> =
                (0..count).map(|block| blocks::make(py, &self.blocks, block)).collect::<PyResult<_>>()?;
            made.iter().try_for_each(|block| self.list.bind(py).append(block))?;
            self.python_blocks = Some(made.into_iter().map(Bound::unbind).collect());
            self.set_block(py, intern!(py, "current_block"), self.current)?;
            self.set_block(py, intern!(py, "just_completed"), self.completed)?;
            self.report_usage(py)?;
        }
        Ok(self.object.clone_ref(py))
    }

    /// Python's state, with no blocks if nobody has asked for any.
    pub(crate) fn ending(&self, py: Python<'_>) -> Py<PyAny> {
        self.object.clone_ref(py)
    }

    /// How often which deviation was seen, as the state has it.
    pub(crate) fn quirks<'py>(&self, py: Python<'py>) -> &Bound<'py, PyDict> {
        self.quirks.bind(py)
    }

    /// The block that the stream is writing is this one now.
    pub(crate) fn enter(&mut self, py: Python<'_>, block: Option<usize>) -> PyResult<()> {
        if self.current == block {
            return Ok(());
        }
        self.current = block;
        self.set_block(py, intern!(py, "current_block"), block)
    }

    /// A chunk begins: nothing has been completed by it yet.
    pub(crate) fn begin_chunk(&mut self, py: Python<'_>) -> PyResult<()> {
        self.blocks.lock().begin_chunk();
        self.forget_completed(py)
    }

    fn forget_completed(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.completed.take().is_some() {
            self.set_block(py, intern!(py, "just_completed"), None)?;
        }
        Ok(())
    }

    /// Tells somebody who looks what was said of the usage last.
    fn report_usage(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.python_blocks.is_none() {
            return Ok(());
        }
        let Some((counts, json)) = self.usage.take() else { return Ok(()) };
        let Usage { input, output, cache_read, cache_write, reasoning } = counts;
        let usage = classes(py)?.usage.make(py, |usage| {
            usage.set_some(intern!(py, "input_tokens"), input)?;
            usage.set_some(intern!(py, "output_tokens"), output)?;
            usage.set_some(intern!(py, "cache_read_tokens"), cache_read)?;
            usage.set_some(intern!(py, "cache_write_tokens"), cache_write)?;
            usage.set_some(intern!(py, "reasoning_tokens"), reasoning)?;
            usage.set(intern!(py, "_json"), json)
        })?;
        self.object.bind(py).setattr(intern!(py, "usage"), usage)
    }

    fn set_block(&self, py: Python<'_>, name: &Bound<'_, PyString>, block: Option<usize>) -> PyResult<()> {
        let Some(blocks) = &self.python_blocks else { return Ok(()) };
        self.object.bind(py).setattr(name, block.and_then(|block| blocks.get(block)))
    }
}

/// Hears events and writes them into the state, and into a list if somebody asked for events.
pub(crate) struct StateWriter<'a, 'py> {
    py: Python<'py>,
    state: &'a mut State,
    events: Option<&'a Bound<'py, PyList>>,
    /// Whether chunks stand among the events.
    pub(crate) lists_chunks: bool,
    /// Whether the next event is the first of a chunk.
    is_at_start: bool,
    /// The first thing that went wrong: a sink cannot say so itself.
    error: Option<PyErr>,
}

impl<'a, 'py> StateWriter<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, state: &'a mut State, events: Option<&'a Bound<'py, PyList>>) -> Self {
        Self { py, state, events, lists_chunks: false, is_at_start: false, error: None }
    }

    /// The next event begins a chunk. What the last one completed stays known until then.
    pub(crate) fn expect_chunk(&mut self) {
        self.is_at_start = true;
    }

    pub(crate) fn finish(self) -> PyResult<()> {
        self.error.map_or(Ok(()), Err)
    }

    fn set(&self, name: &Bound<'py, PyString>, value: impl IntoPyObject<'py>) -> PyResult<()> {
        self.state.object.bind(self.py).setattr(name, value)
    }

    fn write(&mut self, event: &Event<'_>) -> PyResult<()> {
        let py = self.py;
        match *event {
            Event::BlockStarted { block, .. } => self.start(block),
            Event::BlockGrew { .. } | Event::BlockNoted { .. } => Ok(()),
            Event::BlockReopened { block } => self.set_complete(block, false),
            Event::BlockCompleted { block } => self.complete(block),
            Event::ResponseNoted { name, json } => self.note(name, json),
            Event::ChoiceFinished { choice, reason, native } => {
                if choice == 0 {
                    self.set(intern!(py, "finish_reason"), reason)?;
                    self.set(intern!(py, "native_finish_reason"), native)?;
                }
                self.state.object.bind(py).getattr(intern!(py, "finish_reasons"))?.set_item(choice, reason)
            }
            Event::UsageReported { counts, json } => {
                self.state.usage = Some((counts, json.to_owned()));
                self.state.report_usage(py)
            }
            Event::ErrorReported { json } => self.set(intern!(py, "error"), parse(py, json)?),
            Event::QuirkSeen(quirk) => self.count(quirk.name()),
            Event::StreamEnded { interrupted } => self.set(intern!(py, "interrupted"), interrupted),
        }
    }

    fn start(&mut self, block: usize) -> PyResult<()> {
        let State { blocks, list, python_blocks, .. } = &mut *self.state;
        let Some(python_blocks) = python_blocks else { return Ok(()) };
        let object = blocks::make(self.py, blocks, block)?;
        list.bind(self.py).append(&object)?;
        python_blocks.push(object.unbind());
        Ok(())
    }

    fn set_complete(&self, block: usize, is_complete: bool) -> PyResult<()> {
        let made = self.state.python_blocks.as_ref().and_then(|blocks| blocks.get(block));
        made.map_or(Ok(()), |made| made.setattr(self.py, intern!(self.py, "is_complete"), is_complete))
    }

    fn complete(&mut self, block: usize) -> PyResult<()> {
        self.set_complete(block, true)?;
        self.state.completed = Some(block);
        self.state.set_block(self.py, intern!(self.py, "just_completed"), Some(block))
    }

    fn note(&self, name: &str, json: &str) -> PyResult<()> {
        let py = self.py;
        let value = parse(py, json)?;
        let field = match name {
            "id" => Some(intern!(py, "id")),
            "model" => Some(intern!(py, "model")),
            "role" => Some(intern!(py, "role")),
            _ => None,
        };
        if let Some(field) = field.filter(|_| value.is_instance_of::<PyString>()) {
            return self.set(field, value);
        }
        self.state.object.bind(py).getattr(intern!(py, "extras"))?.set_item(name, value)
    }

    fn count(&self, quirk: &str) -> PyResult<()> {
        let quirks = self.state.quirks(self.py);
        let seen = quirks.get_item(quirk)?.map_or(Ok(0), |seen| seen.extract::<u64>())?;
        quirks.set_item(quirk, seen + 1)
    }

    fn list(&self, event: &Event<'_>) -> PyResult<()> {
        let Some(events) = self.events else { return Ok(()) };
        let module = classes(self.py)?.events.bind(self.py);
        let object = match *event {
            Event::BlockStarted { block, kind, id, name, call_id, choice, .. } => {
                module.call_method1("BlockStarted", (block, type_name(kind), id, name, choice, call_id))
            }
            Event::BlockGrew { block, part, text } => module.call_method1("BlockGrew", (block, part.name(), text)),
            Event::BlockNoted { block, name, json } => module.call_method1("BlockNoted", (block, name, json)),
            Event::BlockReopened { block } => module.call_method1("BlockReopened", (block,)),
            Event::BlockCompleted { block } => module.call_method1("BlockCompleted", (block,)),
            Event::ResponseNoted { name, json } => module.call_method1("ResponseNoted", (name, json)),
            Event::ChoiceFinished { choice, reason, native } => {
                module.call_method1("ChoiceFinished", (choice, reason, native))
            }
            Event::UsageReported { json, .. } => module.call_method1("UsageReported", (json,)),
            Event::ErrorReported { json } => module.call_method1("ErrorReported", (json,)),
            Event::QuirkSeen(quirk) => module.call_method1("QuirkSeen", (quirk.name(),)),
            Event::StreamEnded { interrupted } => module.call_method1("StreamEnded", (interrupted,)),
        };
        events.append(object?)
    }
}

/// What users call a kind of block.
pub(crate) fn type_name(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Text => "content",
        BlockKind::Thinking => "thinking",
        BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => "tool_call",
        BlockKind::ToolResult => "tool_result",
        BlockKind::Refusal => "refusal",
        BlockKind::Unknown => "unknown",
    }
}

impl Sink for StateWriter<'_, '_> {
    fn chunk(&mut self, json: &[u8]) {
        if self.lists_chunks
            && let Some(events) = self.events
            && self.error.is_none()
        {
            self.error = parse_read(self.py, json).and_then(|chunk| events.append(chunk)).err();
        }
    }

    fn event(&mut self, event: Event<'_>) {
        let is_first = std::mem::take(&mut self.is_at_start);
        self.state.blocks.change(|blocks| {
            if is_first {
                blocks.begin_chunk();
            }
            blocks.event(event);
        });
        if is_first {
            self.error = self.error.take().or(self.state.forget_completed(self.py).err());
        }
        // What a block says is looked up when somebody asks.
        let is_silent = self.events.is_none() && matches!(event, Event::BlockGrew { .. } | Event::BlockNoted { .. });
        if !is_silent && self.error.is_none() {
            self.error = self.write(&event).and_then(|()| self.list(&event)).err();
        }
    }
}
