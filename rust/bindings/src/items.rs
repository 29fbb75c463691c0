//! What the reader of blocks hears, as the Python objects of `penstock.items`.

use penstock_core::{Block, BlockKind, ChunkPart, DOUBTS, Item, Listener};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::blocks::SharedBlocks;
use crate::maker::Maker;
use crate::to_python::parse;

/// What the chunks of open blocks are, each made once.
#[derive(Default)]
pub(crate) struct Metas(Vec<Meta>);

struct Meta {
    index: usize,
    part: ChunkPart,
    object: Py<PyAny>,
}

impl Metas {
    fn get(&self, index: usize, part: ChunkPart) -> Option<&Py<PyAny>> {
        self.0.iter().rev().find(|meta| meta.index == index && meta.part == part).map(|meta| &meta.object)
    }

    fn forget(&mut self, index: usize) {
        self.0.retain(|meta| meta.index != index);
    }
}

/// Makes the Python items.
pub(crate) struct ItemWriter<'a, 'py> {
    py: Python<'py>,
    blocks: SharedBlocks,
    metas: &'a mut Metas,
    pub(crate) list: Bound<'py, PyList>,
    /// The first thing that went wrong: a listener cannot say so itself.
    error: Option<PyErr>,
}

impl<'a, 'py> ItemWriter<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, blocks: SharedBlocks, metas: &'a mut Metas) -> Self {
        Self { py, blocks, metas, list: PyList::empty(py), error: None }
    }

    pub(crate) fn finish(self) -> PyResult<Bound<'py, PyList>> {
        self.error.map_or(Ok(self.list), Err)
    }

    fn write(&mut self, item: Item<'_>) -> PyResult<()> {
        match item {
            Item::Started { index, kind } => self.start(index, kind),
            Item::Chunk { index, block, part, text } => self.chunk(index, block, part, text),
            Item::Completed { index, block, from } => self.complete(index, block, from),
        }
    }

    fn start(&self, index: usize, kind: BlockKind) -> PyResult<()> {
        let classes = classes(self.py)?;
        let block = match kind {
            BlockKind::Text | BlockKind::Refusal => &classes.text,
            BlockKind::Thinking => &classes.thinking,
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                &classes.tool_call
            }
            BlockKind::ToolResult => &classes.tool_result,
            BlockKind::Unknown => &classes.unknown,
        };
        self.boundary(&classes.start, index, block.bind(self.py))
    }

    fn complete(&mut self, index: usize, block: usize, from: usize) -> PyResult<()> {
        self.metas.forget(index);
        let block = self.whole(block, from)?;
        self.boundary(&classes(self.py)?.complete, index, &block)
    }

    fn boundary(&self, class: &Maker, index: usize, block: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = self.py;
        self.list.append(class.make(py, |event| {
            event.set_item(intern!(py, "index"), index)?;
            event.set_item(intern!(py, "block"), block)
        })?)
    }

    fn chunk(&mut self, index: usize, block: usize, part: ChunkPart, text: &str) -> PyResult<()> {
        if part == ChunkPart::Name {
            // The name has grown, and each meta says it.
            self.metas.forget(index);
        }
        let meta = match self.metas.get(index, part) {
            Some(meta) => meta.bind(self.py).clone(),
            None => self.meta(index, block, part)?,
        };
        self.list.append(PyTuple::new(self.py, [PyString::new(self.py, text).into_any(), meta])?)
    }

    fn meta(&mut self, index: usize, block: usize, part: ChunkPart) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let blocks = self.blocks.lock();
        let Some(block) = blocks.get(block) else { return Err(gone()) };
        let (kind, choice) = (block.kind, block.choice);
        let (tool_id, tool_name) = tool_of(block);
        drop(blocks);
        let meta = classes(py)?.meta.make(py, |meta| {
            let is_deep = kind.is_call() || kind == BlockKind::ToolResult;
            meta.set_item(intern!(py, "type"), type_name(py, kind))?;
            meta.set_item(intern!(py, "visible"), matches!(kind, BlockKind::Text | BlockKind::Refusal))?;
            meta.set_item(intern!(py, "block_index"), index)?;
            set(meta, intern!(py, "depth"), is_deep.then_some(1))?;
            set(meta, intern!(py, "tool_call_part"), part_name(part))?;
            set(meta, intern!(py, "tool_id"), tool_id)?;
            set(meta, intern!(py, "tool_name"), tool_name)?;
            set(meta, intern!(py, "choice"), (choice > 0).then_some(choice))
        })?;
        self.metas.0.push(Meta { index, part, object: meta.clone().unbind() });
        Ok(meta)
    }

    /// The block as its completion shows it.
    fn whole(&self, block: usize, from: usize) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let blocks = self.blocks.lock();
        let Some(block) = blocks.get(block) else { return Err(gone()) };
        let text = PyString::new(py, block.text.get(from..).unwrap_or_default());
        let (kind, choice, raw) = (block.kind, block.choice, block.raw.clone());
        let (tool_id, tool_name) = tool_of(block);
        let kind_name = kind_name(block);
        let is_true = |field: &str| block.notes.iter().any(|(name, json)| name == field && json == "true");
        let is_error = is_true("is_error");
        let flags: Vec<&str> = DOUBTS.into_iter().filter(|flag| is_true(flag)).collect();
        // Making an object may run code that looks at a block.
        drop(blocks);
        let (content, input, raw_input) = said(kind, text)?;
        let parts = parts_of(py, kind, &raw)?;
        let flags = if flags.is_empty() { None } else { Some(PyTuple::new(py, flags)?) };
        classes(py)?.block.make(py, |block| {
            block.set_item(intern!(py, "type"), type_name(py, kind))?;
            set(block, intern!(py, "content"), content)?;
            set(block, intern!(py, "tool_id"), tool_id)?;
            set(block, intern!(py, "tool_name"), tool_name)?;
            set(block, intern!(py, "input"), input)?;
            set(block, intern!(py, "raw_input"), raw_input)?;
            set(block, intern!(py, "kind"), kind_name)?;
            set(block, intern!(py, "parts"), parts)?;
            set(block, intern!(py, "is_error"), is_error.then_some(true))?;
            set(block, intern!(py, "flags"), flags)?;
            set(block, intern!(py, "choice"), (choice > 0).then_some(choice))
        })
    }
}

impl Listener for ItemWriter<'_, '_> {
    fn item(&mut self, item: Item<'_>) {
        if self.error.is_none() {
            self.error = self.write(item).err();
        }
    }
}

type Object<'py> = Option<Bound<'py, PyAny>>;

/// The text of a block as its content, or as the input of a call: parsed, or raw where it cannot be.
fn said(kind: BlockKind, text: Bound<'_, PyString>) -> PyResult<(Object<'_>, Object<'_>, Object<'_>)> {
    let py = text.py();
    let text = text.into_any();
    Ok(match kind {
        BlockKind::FunctionCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
            let input = classes(py)?.read_input.bind(py).call1((&text,))?;
            if input.is_none() { (None, None, Some(text)) } else { (None, Some(input), None) }
        }
        BlockKind::CustomCall => (None, None, Some(text)),
        BlockKind::Text | BlockKind::Thinking | BlockKind::ToolResult | BlockKind::Refusal => (Some(text), None, None),
        BlockKind::Unknown => (None, None, None),
    })
}

/// What a block has besides text. The content of a result is a list of parts already.
fn parts_of<'py>(py: Python<'py>, kind: BlockKind, raw: &[String]) -> PyResult<Option<Bound<'py, PyList>>> {
    if raw.is_empty() {
        return Ok(None);
    }
    let parts = PyList::empty(py);
    for json in raw {
        let value = parse(py, json)?;
        match value.cast::<PyList>() {
            Ok(list) if kind == BlockKind::ToolResult => list.iter().try_for_each(|part| parts.append(part))?,
            Ok(_) | Err(_) => parts.append(value)?,
        }
    }
    Ok(Some(parts))
}

fn gone() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("the block is gone")
}

/// The id and the name of the tool that a block is of, as far as they are known.
fn tool_of(block: &Block) -> (Option<String>, Option<String>) {
    let known = |text: &String| (!text.is_empty()).then(|| text.clone());
    match block.kind {
        BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
            (known(&block.id), known(&block.name))
        }
        BlockKind::ToolResult => (known(&block.call_id), None),
        BlockKind::Text | BlockKind::Thinking | BlockKind::Refusal | BlockKind::Unknown => (None, None),
    }
}

fn type_name(py: Python<'_>, kind: BlockKind) -> &Bound<'_, PyString> {
    match kind {
        BlockKind::Text | BlockKind::Refusal => intern!(py, "text"),
        BlockKind::Thinking => intern!(py, "thinking"),
        BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
            intern!(py, "tool_call")
        }
        BlockKind::ToolResult => intern!(py, "tool_result"),
        BlockKind::Unknown => intern!(py, "unknown"),
    }
}

/// What sort of block it is, where it is not the ordinary one.
fn kind_name(block: &Block) -> Option<String> {
    match block.kind {
        BlockKind::Text | BlockKind::Thinking | BlockKind::FunctionCall => None,
        BlockKind::Refusal => Some("refusal".to_owned()),
        BlockKind::CustomCall => Some("custom".to_owned()),
        BlockKind::BuiltinCall => Some("builtin".to_owned()),
        BlockKind::ServerCall => Some("server".to_owned()),
        BlockKind::ToolResult | BlockKind::Unknown => {
            let is_ordinary = matches!(block.name.as_str(), "" | "tool_result");
            (!is_ordinary).then(|| block.name.clone())
        }
    }
}

fn part_name(part: ChunkPart) -> Option<&'static str> {
    match part {
        ChunkPart::Text => None,
        ChunkPart::Name => Some("name"),
        ChunkPart::Id => Some("id"),
        ChunkPart::Input => Some("input"),
    }
}

/// Sets a field that is not the default.
fn set<'py>(
    fields: &Bound<'py, PyDict>,
    name: &Bound<'py, PyString>,
    value: Option<impl IntoPyObject<'py>>,
) -> PyResult<()> {
    value.map_or(Ok(()), |value| fields.set_item(name, value))
}

/// What the writer makes, looked up once.
struct Classes {
    meta: Maker,
    start: Maker,
    complete: Maker,
    block: Maker,
    /// A block of each type as its start shows it. It says nothing else, so all starts share it.
    text: Py<PyAny>,
    thinking: Py<PyAny>,
    tool_call: Py<PyAny>,
    tool_result: Py<PyAny>,
    unknown: Py<PyAny>,
    read_input: Py<PyAny>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

fn classes(py: Python<'_>) -> PyResult<&'static Classes> {
    CLASSES.get_or_try_init(py, || {
        let items = py.import("penstock.items")?;
        let maker = |name: &str| Maker::new(items.getattr(name)?);
        let block = items.getattr("MembraneBlock")?;
        let typed = |name: &str| PyResult::Ok(block.call1((name,))?.unbind());
        Ok(Classes {
            meta: maker("ChunkMeta")?,
            start: maker("BlockStart")?,
            complete: maker("BlockComplete")?,
            block: maker("MembraneBlock")?,
            text: typed("text")?,
            thinking: typed("thinking")?,
            tool_call: typed("tool_call")?,
            tool_result: typed("tool_result")?,
            unknown: typed("unknown")?,
            read_input: items.getattr("read_input")?.unbind(),
        })
    })
}
