//! What the reader of blocks hears, as the Python objects of `penstock.items`.

use penstock_core::{Block, BlockKind, ChunkPart, DOUBTS, Item, Listener};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use crate::blocks::SharedBlocks;
use crate::maker::Maker;
use crate::to_python::{parse, parse_without_floats};

/// The open blocks, and what is made once for all items of each.
#[derive(Default)]
pub(crate) struct OpenBlocks(Vec<OpenBlock>);

struct OpenBlock {
    index: usize,
    number: Py<PyInt>,
    metas: Vec<(ChunkPart, Py<PyAny>)>,
    /// The text of its last chunk and the length of that. Where it is all of the text, the whole block has the same object.
    last_text: Option<(usize, Py<PyString>)>,
}

impl OpenBlocks {
    fn enter(&mut self, py: Python<'_>, index: usize) -> Py<PyInt> {
        let number = PyInt::new(py, index).unbind();
        self.0.push(OpenBlock { index, number: number.clone_ref(py), metas: Vec::new(), last_text: None });
        number
    }

    fn get(&mut self, index: usize) -> Option<&mut OpenBlock> {
        self.0.iter_mut().rfind(|open| open.index == index)
    }

    fn leave(&mut self, index: usize) -> Option<OpenBlock> {
        let at = self.0.iter().rposition(|open| open.index == index)?;
        Some(self.0.swap_remove(at))
    }
}

impl OpenBlock {
    fn meta(&self, part: ChunkPart) -> Option<&Py<PyAny>> {
        self.metas.iter().find(|(known, _)| *known == part).map(|(_, meta)| meta)
    }
}

/// Makes the Python items.
pub(crate) struct ItemWriter<'a, 'py> {
    py: Python<'py>,
    blocks: SharedBlocks,
    open: &'a mut OpenBlocks,
    pub(crate) list: Bound<'py, PyList>,
    /// The first thing that went wrong: a listener cannot say so itself.
    error: Option<PyErr>,
}

impl<'a, 'py> ItemWriter<'a, 'py> {
    pub(crate) fn new(py: Python<'py>, blocks: SharedBlocks, open: &'a mut OpenBlocks) -> Self {
        Self { py, blocks, open, list: PyList::empty(py), error: None }
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

    fn start(&mut self, index: usize, kind: BlockKind) -> PyResult<()> {
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
        let number = self.open.enter(self.py, index);
        self.boundary(&classes.start, &number, block.bind(self.py))
    }

    fn complete(&mut self, index: usize, block: usize, from: usize) -> PyResult<()> {
        let Some(open) = self.open.leave(index) else { return Err(gone()) };
        let block = self.whole(block, from, open.last_text)?;
        self.boundary(&classes(self.py)?.complete, &open.number, &block)
    }

    fn boundary(&self, class: &Maker, number: &Py<PyInt>, block: &Bound<'py, PyAny>) -> PyResult<()> {
        let py = self.py;
        self.list.append(class.make(py, |event| {
            event.set(intern!(py, "index"), number)?;
            event.set(intern!(py, "block"), block)
        })?)
    }

    fn chunk(&mut self, index: usize, block: usize, part: ChunkPart, text: &str) -> PyResult<()> {
        let py = self.py;
        let Some(open) = self.open.get(index) else { return Err(gone()) };
        let chunk = PyString::new(py, text);
        match part {
            ChunkPart::Text => open.last_text = Some((text.len(), chunk.clone().unbind())),
            // The name has grown, and each meta says it.
            ChunkPart::Name => open.metas.clear(),
            ChunkPart::Id | ChunkPart::Input => {}
        }
        let meta = if let Some(meta) = open.meta(part) {
            meta.bind(py).clone()
        } else {
            let meta = meta_of(py, &self.blocks, block, part, &open.number)?;
            open.metas.push((part, meta.clone().unbind()));
            meta
        };
        self.list.append(PyTuple::new(py, [chunk.into_any(), meta])?)
    }

    /// The block as its completion shows it.
    fn whole(
        &self,
        block: usize,
        from: usize,
        last_text: Option<(usize, Py<PyString>)>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        let blocks = self.blocks.lock();
        let Some(block) = blocks.get(block) else { return Err(gone()) };
        let text = block.text.get(from..).unwrap_or_default();
        let said = match last_text {
            Some((length, only)) if length == text.len() => Said::Text(only.into_bound(py).into_any()),
            Some(_) | None => said(py, block.kind, text),
        };
        let (kind, choice, raw) = (block.kind, block.choice, block.raw.clone());
        let (tool_id, tool_name) = tool_of(py, block);
        let kind_name = kind_name(py, block);
        let is_true = |field: &str| block.notes.iter().any(|(name, json)| name == field && json == "true");
        let is_error = is_true("is_error");
        let flags: Vec<&str> = DOUBTS.into_iter().filter(|flag| is_true(flag)).collect();
        // Reading JSON may run code that looks at a block.
        drop(blocks);
        let (content, input, raw_input) = said.into_fields()?;
        let parts = parts_of(py, kind, &raw)?;
        let flags = if flags.is_empty() { None } else { Some(PyTuple::new(py, flags)?) };
        classes(py)?.block.make(py, |block| {
            block.set(intern!(py, "type"), type_name(py, kind))?;
            block.set_some(intern!(py, "content"), content)?;
            block.set_some(intern!(py, "tool_id"), tool_id)?;
            block.set_some(intern!(py, "tool_name"), tool_name)?;
            block.set_some(intern!(py, "input"), input)?;
            block.set_some(intern!(py, "raw_input"), raw_input)?;
            block.set_some(intern!(py, "kind"), kind_name)?;
            block.set_some(intern!(py, "parts"), parts)?;
            block.set_some(intern!(py, "is_error"), is_error.then_some(true))?;
            block.set_some(intern!(py, "flags"), flags)?;
            block.set_some(intern!(py, "choice"), (choice > 0).then_some(choice))
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

/// What the chunks of a block are.
fn meta_of<'py>(
    py: Python<'py>,
    blocks: &SharedBlocks,
    block: usize,
    part: ChunkPart,
    number: &Py<PyInt>,
) -> PyResult<Bound<'py, PyAny>> {
    let blocks = blocks.lock();
    let Some(block) = blocks.get(block) else { return Err(gone()) };
    let (kind, choice) = (block.kind, block.choice);
    let (tool_id, tool_name) = tool_of(py, block);
    drop(blocks);
    classes(py)?.meta.make(py, |meta| {
        let is_deep = kind.is_call() || kind == BlockKind::ToolResult;
        meta.set(intern!(py, "type"), type_name(py, kind))?;
        meta.set(intern!(py, "visible"), matches!(kind, BlockKind::Text | BlockKind::Refusal))?;
        meta.set(intern!(py, "block_index"), number)?;
        meta.set_some(intern!(py, "depth"), is_deep.then_some(1))?;
        meta.set_some(intern!(py, "tool_call_part"), part_name(py, part))?;
        meta.set_some(intern!(py, "tool_id"), tool_id)?;
        meta.set_some(intern!(py, "tool_name"), tool_name)?;
        meta.set_some(intern!(py, "choice"), (choice > 0).then_some(choice))
    })
}

type Object<'py> = Option<Bound<'py, PyAny>>;

/// What the text of a block is.
enum Said<'py> {
    /// Its content.
    Text(Bound<'py, PyAny>),
    /// The input of a call, parsed.
    Input(Bound<'py, PyAny>),
    /// The input of a call that is for Python to read, if it can be read.
    Json(Bound<'py, PyAny>),
    /// The input of a call that is not JSON.
    Raw(Bound<'py, PyAny>),
    Nothing,
}

fn said<'py>(py: Python<'py>, kind: BlockKind, text: &str) -> Said<'py> {
    let string = || PyString::new(py, text).into_any();
    match kind {
        BlockKind::FunctionCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
            match parse_without_floats(py, text) {
                Some(input) if text.starts_with('{') => Said::Input(input),
                Some(_) | None => Said::Json(string()),
            }
        }
        BlockKind::CustomCall => Said::Raw(string()),
        BlockKind::Text | BlockKind::Thinking | BlockKind::ToolResult | BlockKind::Refusal => Said::Text(string()),
        BlockKind::Unknown => Said::Nothing,
    }
}

impl<'py> Said<'py> {
    /// As `content`, `input` and `raw_input`.
    fn into_fields(self) -> PyResult<(Object<'py>, Object<'py>, Object<'py>)> {
        Ok(match self {
            Self::Text(text) => (Some(text), None, None),
            Self::Input(input) => (None, Some(input), None),
            Self::Json(text) => {
                let input = classes(text.py())?.read_input.bind(text.py()).call1((&text,))?;
                if input.is_none() { (None, None, Some(text)) } else { (None, Some(input), None) }
            }
            Self::Raw(text) => (None, None, Some(text)),
            Self::Nothing => (None, None, None),
        })
    }
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
fn tool_of<'py>(py: Python<'py>, block: &Block) -> (Option<Bound<'py, PyString>>, Option<Bound<'py, PyString>>) {
    let known = |text: &str| (!text.is_empty()).then(|| PyString::new(py, text));
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
fn kind_name<'py>(py: Python<'py>, block: &Block) -> Option<Bound<'py, PyString>> {
    match block.kind {
        BlockKind::Text | BlockKind::Thinking | BlockKind::FunctionCall => None,
        BlockKind::Refusal => Some(intern!(py, "refusal").clone()),
        BlockKind::CustomCall => Some(intern!(py, "custom").clone()),
        BlockKind::BuiltinCall => Some(intern!(py, "builtin").clone()),
        BlockKind::ServerCall => Some(intern!(py, "server").clone()),
        BlockKind::ToolResult | BlockKind::Unknown => {
            let is_ordinary = matches!(block.name.as_str(), "" | "tool_result");
            (!is_ordinary).then(|| PyString::new(py, &block.name))
        }
    }
}

fn part_name(py: Python<'_>, part: ChunkPart) -> Option<&Bound<'_, PyString>> {
    match part {
        ChunkPart::Text => None,
        ChunkPart::Name => Some(intern!(py, "name")),
        ChunkPart::Id => Some(intern!(py, "id")),
        ChunkPart::Input => Some(intern!(py, "input")),
    }
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
