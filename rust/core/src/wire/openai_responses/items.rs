//! What is remembered of each output item: its blocks, and what was said of them so far.
//!
//! Rules. (1) An item is known by its `output_index`: ids may differ on every event. (2) What was streamed counts: whatever repeats it
//! later is compared with it, and a difference is a contradiction. (3) A block is opened once and closed once.

use std::borrow::Cow;
use std::collections::HashMap;

use super::kinds::{Family, Shape, shape};
use super::schema::{Item, text_of};
use crate::delta::{BlockHead, Delta, Located, Origin};
use crate::event::{BlockKind, Part, Quirk};
use crate::wire::Decoded;

/// A slot that is never opened: what is sent there is refused.
pub(crate) const NOWHERE: u64 = u64::MAX;

/// Collects deltas, and knows where in the chunk they stand.
pub(crate) struct Out<'out, 'a> {
    deltas: &'out mut Decoded<'a>,
    origin: Origin,
}

impl<'out, 'a> Out<'out, 'a> {
    pub(crate) fn new(deltas: &'out mut Decoded<'a>) -> Self {
        Self { deltas, origin: Origin::of_event() }
    }

    /// What comes next stands there.
    pub(crate) fn stand_at(&mut self, origin: Origin) {
        self.origin = origin;
    }

    pub(crate) fn push(&mut self, delta: Delta<'a>) {
        self.deltas.push(Located { choice: 0, origin: self.origin, delta });
    }

    pub(crate) fn quirk(&mut self, quirk: Quirk) {
        self.push(Delta::Quirk(quirk));
    }
}

/// A place in an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) family: Family,
    pub(crate) index: u32,
}

impl Place {
    /// The item itself.
    pub(crate) const ITEM: Self = Self { family: Family::Item, index: 0 };
    /// Its encrypted reasoning.
    pub(crate) const SEALED: Self = Self { family: Family::Sealed, index: 0 };
}

/// One block of an item.
#[derive(Debug)]
pub(crate) struct ItemBlock {
    pub(crate) place: Place,
    pub(crate) slot: u64,
    pub(crate) kind: BlockKind,
    /// What it has of its text or arguments.
    pub(crate) text: String,
    pub(crate) is_open: bool,
    /// Whether an event of its own said that it begins, so that another will say that it ends.
    pub(crate) is_framed: bool,
    pub(crate) annotations: usize,
    pub(crate) logprobs: usize,
}

impl ItemBlock {
    pub(crate) fn grow<'a>(&mut self, text: Cow<'a, str>, out: &mut Out<'_, 'a>) {
        let part = match self.kind {
            BlockKind::Text | BlockKind::Thinking | BlockKind::Refusal | BlockKind::ToolResult => Part::Text,
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                Part::Arguments
            }
            BlockKind::Unknown => Part::Raw,
        };
        if self.is_open {
            self.text.push_str(&text);
        }
        out.push(Delta::Grow { slot: self.slot, part, text });
    }

    /// Takes the whole text: all of it if nothing was streamed, else only to compare.
    pub(crate) fn settle<'a>(&mut self, text: Cow<'a, str>, out: &mut Out<'_, 'a>) {
        if self.text == *text {
            return;
        }
        if self.text.is_empty() && self.is_open {
            self.grow(text, out);
        } else {
            out.quirk(Quirk::Contradiction);
        }
    }

    pub(crate) fn note<'a>(&self, name: impl Into<Cow<'a, str>>, json: impl Into<Cow<'a, str>>, out: &mut Out<'_, 'a>) {
        out.push(Delta::NoteOn { slot: self.slot, name: name.into(), json: json.into() });
    }

    pub(crate) fn close(&mut self, out: &mut Out<'_, '_>) {
        if std::mem::take(&mut self.is_open) {
            out.push(Delta::Close { slot: self.slot });
        }
    }
}

/// One output item.
#[derive(Debug)]
pub(crate) struct OutputItem {
    /// The wire's name for what it is.
    pub(crate) kind: String,
    pub(crate) shape: Shape,
    pub(crate) id: String,
    pub(crate) call_id: String,
    pub(crate) name: String,
    /// What is noted on each of its blocks.
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) blocks: Vec<ItemBlock>,
    /// Arguments that came with its beginning. They count if nothing else comes.
    pub(crate) announced: String,
    /// Encrypted reasoning that came with its beginning, likewise.
    pub(crate) sealed: String,
    /// Commands or patches that were whole before the item was.
    pub(crate) operations: Vec<(u32, String)>,
    pub(crate) is_done: bool,
}

impl OutputItem {
    fn new(item: &Item<'_>) -> Self {
        let kind = item.kind.as_ref().map_or("item", |kind| kind.0.as_ref());
        let shape = shape(kind);
        Self {
            kind: kind.to_owned(),
            shape,
            id: text_of(item.id.as_ref()).to_owned(),
            call_id: text_of(item.call_id.as_ref()).to_owned(),
            name: text_of(item.name.as_ref()).to_owned(),
            notes: Vec::new(),
            blocks: Vec::new(),
            announced: String::new(),
            sealed: text_of(item.encrypted_content.as_ref()).to_owned(),
            operations: Vec::new(),
            is_done: false,
        }
    }

    pub(crate) fn block(&mut self, place: Place) -> Option<&mut ItemBlock> {
        self.blocks.iter_mut().rev().find(|block| block.place == place)
    }

    /// Opens a block, and notes on it what is known of its item.
    pub(crate) fn open<'a>(&mut self, slots: &mut u64, place: Place, head: BlockHead<'a>, out: &mut Out<'_, 'a>) {
        let slot = *slots;
        *slots += 1;
        let kind = head.kind;
        out.push(Delta::Open { slot, head });
        let block = ItemBlock {
            place,
            slot,
            kind,
            text: String::new(),
            is_open: true,
            is_framed: false,
            annotations: 0,
            logprobs: 0,
        };
        for (name, json) in &self.notes {
            block.note(name.clone(), json.clone(), out);
        }
        self.blocks.push(block);
    }

    /// Notes on each block what the item has that was not noted yet.
    pub(crate) fn note(&mut self, item: &Item<'_>, out: &mut Out<'_, '_>) {
        for (name, json) in notes_of(item, self.shape) {
            let is_known =
                self.notes.iter().any(|(known, value)| *known == name && (*value == json || name == "item_id"));
            if is_known {
                continue;
            }
            for block in &self.blocks {
                block.note(name.clone(), json.clone(), out);
            }
            self.notes.push((name, json));
        }
    }

    pub(crate) fn close_all(&mut self, out: &mut Out<'_, '_>) {
        for block in &mut self.blocks {
            block.close(out);
        }
    }
}

/// The fields of an item that its blocks have no place for. Where the whole item is kept, there are none.
fn notes_of(item: &Item<'_>, shape: Shape) -> Vec<(String, String)> {
    match shape {
        Shape::Message | Shape::Reasoning | Shape::Call(BlockKind::FunctionCall | BlockKind::CustomCall) => {}
        Shape::Call(_) | Shape::Result | Shape::Other => return Vec::new(),
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let id = Some(text_of(item.id.as_ref())).filter(|id| !id.is_empty());
    // Every item is in progress first and completed at last.
    let status = Some(text_of(item.status.as_ref())).filter(|word| !matches!(*word, "" | "in_progress" | "completed"));
    let id = id.map(|id| ("item_id".to_owned(), quoted(id)));
    let status = status.map(|word| ("status".to_owned(), quoted(word)));
    let extras = item.extras.iter().map(|(name, json)| (name.clone().into_owned(), json.clone().into_owned()));
    id.into_iter().chain(status).chain(extras).collect()
}

/// How many items a response may have: four times the blocks of the longest stream that is read by default.
const ITEMS: usize = 4096;

/// All output items of a response.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) all: HashMap<u32, OutputItem>,
    /// Which item an id belongs to.
    owners: HashMap<String, u32>,
    /// The next block's number.
    pub(crate) slots: u64,
    /// Calls that the client is to answer, by their ids.
    pub(crate) pending: Vec<String>,
    /// The block of sound.
    audio: Option<u64>,
}

impl Items {
    /// Which item an event is about; none if it does not say.
    pub(crate) fn index(&self, output_index: Option<u32>, id: &str) -> Option<u32> {
        output_index.or_else(|| self.owners.get(id).copied())
    }

    /// Whether an id belongs to another item than the one at `index`.
    pub(crate) fn belongs_elsewhere(&self, index: u32, id: &str) -> bool {
        if id.is_empty() || self.all.get(&index).is_some_and(|item| item.id == id) {
            return false;
        }
        self.owners.get(id).is_some_and(|&owner| owner != index)
    }

    /// Whether there is no room for one more item. Their blocks have a limit, but an item may have none.
    pub(crate) fn is_full(&self, index: u32) -> bool {
        self.all.len() >= ITEMS && !self.all.contains_key(&index)
    }

    pub(crate) fn insert(&mut self, index: u32, item: &Item<'_>) {
        let known = OutputItem::new(item);
        if !known.id.is_empty() {
            self.owners.entry(known.id.clone()).or_insert(index);
        }
        self.all.insert(index, known);
    }

    /// The slot of the newest block of an item, if that is open.
    pub(crate) fn open_slot(&self, index: u32) -> Option<u64> {
        self.all.get(&index)?.blocks.last().filter(|block| block.is_open).map(|block| block.slot)
    }

    /// Notes something on the newest block of an item.
    pub(crate) fn note<'a>(&self, index: u32, name: &'static str, json: &'a str, out: &mut Out<'_, 'a>) {
        let slot = self.open_slot(index).unwrap_or(NOWHERE);
        out.push(Delta::NoteOn { slot, name: name.into(), json: json.into() });
    }

    /// Sound, which belongs to no item.
    pub(crate) fn audio(&mut self, name: &str, delta: &str, out: &mut Out<'_, '_>) {
        let slot = self.audio.unwrap_or(self.slots);
        if self.audio.is_none() {
            self.slots += 1;
            self.audio = Some(slot);
            let head = BlockHead { kind: BlockKind::Unknown, id: None, name: Cow::Borrowed("audio") };
            out.push(Delta::Open { slot, head });
        }
        let json = serde_json::json!({ name: delta }).to_string();
        out.push(Delta::Grow { slot, part: Part::Raw, text: Cow::Owned(json) });
    }

    /// The response is over: closes what is open, one by one.
    pub(crate) fn close_all(&mut self, out: &mut Out<'_, '_>) {
        let mut open: Vec<&mut ItemBlock> =
            self.all.values_mut().flat_map(|item| &mut item.blocks).filter(|block| block.is_open).collect();
        open.sort_unstable_by_key(|block| block.slot);
        for block in open {
            out.quirk(Quirk::UnclosedBlock);
            block.close(out);
        }
        if let Some(slot) = self.audio.take() {
            out.push(Delta::Close { slot });
        }
    }
}
