//! Events to Python's `StreamState` and blocks. Text stays in Rust: a block asks its source when somebody looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_core::wire::progress::JsonProgress;
use penstock_core::{Block, BlockKind, Blocks, Event, Sink, Usage};
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};

use crate::to_python::parse;

/// The blocks of one stream, shared between its processor and the sources of its Python blocks.
#[derive(Clone, Default)]
pub(crate) struct SharedBlocks(Arc<Mutex<Blocks>>);

impl SharedBlocks {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Blocks> {
        // A panic elsewhere leaves text that is whole up to its last delta.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a Python block finds its text.
#[pyclass(frozen, module = "penstock._core")]
pub(crate) struct BlockSource {
    blocks: SharedBlocks,
    block: usize,
    /// The text that was asked for last, and how long it was in bytes.
    seen: Mutex<Option<(usize, Py<PyString>)>>,
    /// How far the arguments were looked at, and how much of JSON they were.
    progress: Mutex<(usize, JsonProgress)>,
}

impl BlockSource {
    fn read<T>(&self, read: impl FnOnce(&Block) -> T) -> PyResult<T> {
        let blocks = self.blocks.lock();
        blocks.get(self.block).map(read).ok_or_else(|| PyAttributeError::new_err("the block is gone"))
    }

    /// The text as one Python string, made anew only if it has grown.
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(|block| match &*seen {
            Some((length, text)) if *length == block.text.len() => text.bind(py).clone(),
            Some(_) | None => {
                let text = PyString::new(py, &block.text);
                *seen = Some((block.text.len(), text.clone().unbind()));
                text
            }
        })
    }

    fn extras<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let extras = PyDict::new(py);
        for (name, json) in self.read(|block| block.notes.clone())? {
            let value = parse(py, &json)?;
            match extras.get_item(&name)? {
                Some(values) => values.cast_into::<PyList>()?.append(value)?,
                None => extras.set_item(name, PyList::new(py, [value])?)?,
            }
        }
        Ok(extras)
    }

    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for json in self.read(|block| block.raw.clone())? {
            list.append(parse(py, &json)?)?;
        }
        Ok(list)
    }
}

#[pymethods]
impl BlockSource {
    /// The block's field `name`, as it is now.
    #[pyo3(signature = (name, /))]
    fn value<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let string = |text: PyResult<String>| Ok(PyString::new(py, &text?).into_any());
        match name {
            "content" | "arguments" => Ok(self.text(py)?.into_any()),
            "name" => string(self.read(|block| block.name.clone())),
            "signature" => string(self.read(|block| block.signature.clone())),
            "data" => string(self.read(|block| block.data.clone())),
            "extras" => Ok(self.extras(py)?.into_any()),
            "raw" => Ok(self.raw(py)?.into_any()),
            _ => Err(PyAttributeError::new_err(format!("a block has no field {name}"))),
        }
    }

    /// Whether the text so far is one whole JSON value. Only what came since the last look is looked at.
    fn is_whole_json(&self) -> PyResult<bool> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(|block| {
            let (seen, json) = &mut *progress;
            json.push(block.text.get(*seen..).unwrap_or_default());
            *seen = block.text.len();
            json.is_whole()
        })
    }

    /// What the last chunk added to the block's text or arguments.
    fn delta(&self) -> String {
        self.blocks.lock().delta(self.block).to_owned()
    }
}

/// The Python classes that the writer makes, looked up once.
struct Classes {
    state: Py<PyAny>,
    usage: Py<PyAny>,
    content: Py<PyAny>,
    thinking: Py<PyAny>,
    tool_call: Py<PyAny>,
    refusal: Py<PyAny>,
    tool_result: Py<PyAny>,
    unknown: Py<PyAny>,
    events: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    CLASSES.get_or_try_init(py, || {
        let blocks = py.import("penstock.blocks")?;
        let class = |name: &str| PyResult::Ok(blocks.getattr(name)?.unbind());
        Ok(Classes {
            state: class("StreamState")?,
            usage: py.import("penstock.usage")?.getattr("Usage")?.unbind(),
            content: class("ContentStreamBlock")?,
            thinking: class("ThinkingStreamBlock")?,
            tool_call: class("ToolCallStreamBlock")?,
            refusal: class("RefusalStreamBlock")?,
            tool_result: class("ToolResultStreamBlock")?,
            unknown: class("UnknownStreamBlock")?,
            events: py.import("penstock.events")?.into_any().unbind(),
        })
    })
}

/// The Python state of one stream.
pub(crate) struct State {
    pub(crate) blocks: SharedBlocks,
    /// Python's `StreamState`.
    pub(crate) object: Py<PyAny>,
    list: Py<PyList>,
    python_blocks: Vec<Py<PyAny>>,
    current: Option<usize>,
    has_completed: bool,
}

impl State {
    pub(crate) fn new(py: Python<'_>) -> PyResult<Self> {
        let object = classes(py)?.state.call0(py)?;
        let list = object.getattr(py, "blocks")?.cast_bound::<PyList>(py)?.clone().unbind();
        let blocks = SharedBlocks::default();
        Ok(Self { blocks, object, list, python_blocks: Vec::new(), current: None, has_completed: false })
    }

    /// The block that the stream is writing is this one now.
    pub(crate) fn enter(&mut self, py: Python<'_>, block: Option<usize>) -> PyResult<()> {
        if self.current == block {
            return Ok(());
        }
        self.current = block;
        let object = block.and_then(|block| self.python_blocks.get(block));
        self.object.bind(py).setattr(intern!(py, "current_block"), object)
    }

    /// A chunk begins: nothing has been completed by it yet.
    pub(crate) fn begin_chunk(&mut self, py: Python<'_>) -> PyResult<()> {
        self.blocks.lock().begin_chunk();
        if self.has_completed {
            self.has_completed = false;
            self.object.setattr(py, intern!(py, "just_completed"), py.None())?;
        }
        Ok(())
    }
}

/// Hears events and writes them into the state, and into a list if somebody asked for events.
pub(crate) struct StateWriter<'a, 'py> {
    py: Python<'py>,
    state: &'a mut State,
    events: Option<&'a Bound<'py, PyList>>,
    /// Whether the next event is the first of a chunk.
    is_at_start: bool,
    /// The first thing that went wrong: a sink cannot say so itself.
    error: Option<PyErr>,
}

impl<'a, 'py> StateWriter<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, state: &'a mut State, events: Option<&'a Bound<'py, PyList>>) -> Self {
        Self { py, state, events, is_at_start: false, error: None }
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
            Event::BlockStarted { .. } => self.start(event),
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
                let Usage { input, output, cache_read, cache_write, reasoning } = counts;
                let fields = (input, output, cache_read, cache_write, reasoning, parse(py, json)?);
                self.set(intern!(py, "usage"), classes(py)?.usage.bind(py).call1(fields)?)
            }
            Event::ErrorReported { json } => self.set(intern!(py, "error"), parse(py, json)?),
            Event::QuirkSeen(quirk) => self.count(quirk.name()),
            Event::StreamEnded { interrupted } => self.set(intern!(py, "interrupted"), interrupted),
        }
    }

    fn start(&mut self, event: &Event<'_>) -> PyResult<()> {
        let Event::BlockStarted { block, kind, id, name, call_id, choice, call } = *event else { return Ok(()) };
        let py = self.py;
        let classes = classes(py)?;
        let known = PyDict::new(py);
        known.set_item(intern!(py, "id"), id)?;
        known.set_item(intern!(py, "choice"), choice)?;
        let class = match kind {
            BlockKind::Text => &classes.content,
            BlockKind::Thinking => &classes.thinking,
            BlockKind::Refusal => &classes.refusal,
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                known.set_item(intern!(py, "index"), call)?;
                known.set_item(intern!(py, "kind"), call_kind(kind))?;
                &classes.tool_call
            }
            BlockKind::ToolResult => {
                known.set_item(intern!(py, "tool_call_id"), call_id)?;
                known.set_item(intern!(py, "kind"), name)?;
                &classes.tool_result
            }
            BlockKind::Unknown => {
                known.set_item(intern!(py, "kind"), name)?;
                &classes.unknown
            }
        };
        let source = BlockSource {
            blocks: self.state.blocks.clone(),
            block,
            seen: Mutex::new(None),
            progress: Mutex::default(),
        };
        let make = class.bind(py).getattr(intern!(py, "_from_source"))?;
        let object = make.call((source,), Some(&known))?;
        self.state.list.bind(py).append(&object)?;
        self.state.python_blocks.push(object.unbind());
        Ok(())
    }

    fn set_complete(&self, block: usize, is_complete: bool) -> PyResult<()> {
        let Some(object) = self.state.python_blocks.get(block) else { return Ok(()) };
        object.setattr(self.py, intern!(self.py, "is_complete"), is_complete)
    }

    fn complete(&mut self, block: usize) -> PyResult<()> {
        self.set_complete(block, true)?;
        self.state.has_completed = true;
        self.set(intern!(self.py, "just_completed"), self.state.python_blocks.get(block))
    }

    fn note(&self, name: &str, json: &str) -> PyResult<()> {
        let py = self.py;
        let value = parse(py, json)?;
        let field = matches!(name, "id" | "model" | "role") && value.is_instance_of::<PyString>();
        if field {
            return self.state.object.bind(py).setattr(name, value);
        }
        self.state.object.bind(py).getattr(intern!(py, "extras"))?.set_item(name, value)
    }

    fn count(&self, quirk: &str) -> PyResult<()> {
        let quirks = self.state.object.bind(self.py).getattr(intern!(self.py, "quirks"))?.cast_into::<PyDict>()?;
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

/// What users call a kind of tool call.
fn call_kind(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::CustomCall => "custom",
        BlockKind::BuiltinCall => "builtin",
        BlockKind::ServerCall => "server",
        BlockKind::FunctionCall
        | BlockKind::Text
        | BlockKind::Thinking
        | BlockKind::ToolResult
        | BlockKind::Refusal
        | BlockKind::Unknown => "function",
    }
}

/// What users call a kind of block.
fn type_name(kind: BlockKind) -> &'static str {
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
    fn event(&mut self, event: Event<'_>) {
        if std::mem::take(&mut self.is_at_start) {
            self.error = self.error.take().or(self.state.begin_chunk(self.py).err());
        }
        self.state.blocks.lock().event(event);
        if self.error.is_none() {
            self.error = self.write(&event).and_then(|()| self.list(&event)).err();
        }
    }
}
