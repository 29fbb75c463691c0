//! Python's blocks. Text stays in Rust: a block asks its source when somebody looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use penstock_core::wire::progress::JsonProgress;
use penstock_core::{Block, BlockKind, Blocks};
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString};

use crate::maker::Maker;
use crate::to_python::parse;

/// The blocks of one stream, shared between its processor and the sources of its Python blocks.
#[derive(Clone, Default)]
pub(crate) struct SharedBlocks(Arc<Mutex<Blocks>>);

impl SharedBlocks {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Blocks> {
        // A panic elsewhere leaves text that is whole up to its last delta.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the blocks. As long as no Python block shares them, that needs no lock.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Blocks)) {
        match Arc::get_mut(&mut self.0) {
            Some(own) => change(own.get_mut().unwrap_or_else(PoisonError::into_inner)),
            None => change(&mut self.lock()),
        }
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

/// The Python class of each kind of block, looked up once.
struct Classes {
    content: Maker,
    thinking: Maker,
    tool_call: Maker,
    refusal: Maker,
    tool_result: Maker,
    unknown: Maker,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    CLASSES.get_or_try_init(py, || {
        let blocks = py.import("penstock.blocks")?;
        let class = |name: &str| Maker::new(blocks.getattr(name)?);
        Ok(Classes {
            content: class("ContentStreamBlock")?,
            thinking: class("ThinkingStreamBlock")?,
            tool_call: class("ToolCallStreamBlock")?,
            refusal: class("RefusalStreamBlock")?,
            tool_result: class("ToolResultStreamBlock")?,
            unknown: class("UnknownStreamBlock")?,
        })
    })
}

/// What a Python block has itself; all else it reads from its source.
struct Known<'py> {
    kind: BlockKind,
    id: Bound<'py, PyString>,
    /// What the wire calls it, where that is its kind.
    name: Option<Bound<'py, PyString>>,
    call_id: Option<Bound<'py, PyString>>,
    choice: u32,
    call: usize,
    is_complete: bool,
}

impl<'py> Known<'py> {
    fn of(py: Python<'py>, block: &Block) -> Self {
        let Block { kind, choice, call, is_complete, .. } = *block;
        let is_result = kind == BlockKind::ToolResult;
        let is_named = is_result || kind == BlockKind::Unknown;
        Self {
            kind,
            id: PyString::new(py, &block.id),
            name: is_named.then(|| PyString::new(py, &block.name)),
            call_id: is_result.then(|| PyString::new(py, &block.call_id)),
            choice,
            call,
            is_complete,
        }
    }
}

/// Makes the Python block of one of the blocks.
pub(crate) fn make<'py>(py: Python<'py>, blocks: &SharedBlocks, block: usize) -> PyResult<Bound<'py, PyAny>> {
    let source = BlockSource { blocks: blocks.clone(), block, seen: Mutex::new(None), progress: Mutex::default() };
    let known = source.read(|block| Known::of(py, block))?;
    let classes = classes(py)?;
    let class = match known.kind {
        BlockKind::Text => &classes.content,
        BlockKind::Thinking => &classes.thinking,
        BlockKind::Refusal => &classes.refusal,
        BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
            &classes.tool_call
        }
        BlockKind::ToolResult => &classes.tool_result,
        BlockKind::Unknown => &classes.unknown,
    };
    class.make(py, |fields| {
        fields.set(intern!(py, "id"), known.id)?;
        fields.set(intern!(py, "choice"), known.choice)?;
        fields.set(intern!(py, "is_complete"), known.is_complete)?;
        fields.set(intern!(py, "_source"), source)?;
        match known.kind {
            BlockKind::Text | BlockKind::Thinking | BlockKind::Refusal => Ok(()),
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                fields.set(intern!(py, "index"), known.call)?;
                fields.set(intern!(py, "kind"), known.kind.call_name())
            }
            BlockKind::ToolResult => {
                fields.set_some(intern!(py, "tool_call_id"), known.call_id)?;
                fields.set_some(intern!(py, "kind"), known.name)
            }
            BlockKind::Unknown => fields.set_some(intern!(py, "kind"), known.name),
        }
    })
}
