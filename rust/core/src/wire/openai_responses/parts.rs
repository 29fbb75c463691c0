//! The parts of messages and of reasoning, each a block.
//!
//! A part's block begins with its own event or with its first text. It ends with its own event, with the end of its text if none of its
//! own announced it, and with its item at the latest. Encrypted reasoning comes when the parts are over: it is a block of its own.

use std::borrow::Cow;

use super::items::{ItemBlock, Items, Out, OutputItem, Place};
use super::kinds::{Family, part_kind};
use super::schema::{Item, Part, Words, text_of};
use crate::delta::{BlockHead, Delta};
use crate::event::{BlockKind, Part as BlockPart, Quirk};
use crate::wire::json::{Raw, Str};

/// The wire's name for reasoning that is no summary. Its blocks have it, so that it can be told from a summary.
const RAW_REASONING: &str = "reasoning_text";

/// A part, and its JSON.
pub(crate) struct WholePart<'a> {
    pub(crate) part: Part<'a>,
    pub(crate) json: &'a str,
}

impl<'a> WholePart<'a> {
    pub(crate) fn read(source: Raw<'a>) -> Result<Self, serde_json::Error> {
        Ok(Self { part: serde_json::from_str(source.0)?, json: source.0 })
    }

    /// The elements of a list of parts.
    pub(crate) fn read_all(list: Option<Raw<'a>>) -> Result<Vec<Self>, serde_json::Error> {
        let Some(list) = list else { return Ok(Vec::new()) };
        let parts: Option<Vec<Raw<'a>>> = serde_json::from_str(list.0)?;
        parts.unwrap_or_default().into_iter().map(Self::read).collect()
    }

    fn kind(&self) -> BlockKind {
        part_kind(self.name())
    }

    fn name(&self) -> &str {
        self.part.kind.as_ref().map_or("part", |kind| kind.0.as_ref())
    }

    fn head(&self) -> BlockHead<'a> {
        let kind = self.kind();
        let is_named = kind == BlockKind::Unknown || self.name() == RAW_REASONING;
        let name = if is_named { Cow::Owned(self.name().to_owned()) } else { Cow::Borrowed("") };
        BlockHead { kind, id: None, name }
    }
}

/// Where a text stands, and what it is.
#[derive(Clone, Copy)]
pub(crate) struct TextPlace {
    pub(crate) index: u32,
    pub(crate) place: Place,
    pub(crate) kind: BlockKind,
}

impl TextPlace {
    fn head<'a>(self) -> BlockHead<'a> {
        let is_raw = self.kind == BlockKind::Thinking && self.place.family == Family::Content;
        BlockHead { kind: self.kind, id: None, name: Cow::Borrowed(if is_raw { RAW_REASONING } else { "" }) }
    }
}

impl Items {
    /// The item that holds a part, which may not have been announced.
    fn holder(&mut self, index: u32, family: Family, kind: BlockKind) -> Option<(&mut OutputItem, &mut u64)> {
        if !self.all.contains_key(&index) {
            let is_reasoning = family == Family::Summary || kind == BlockKind::Thinking;
            let name = if is_reasoning { "reasoning" } else { "message" };
            self.insert(index, &Item { kind: Some(Str(Cow::Borrowed(name))), ..Item::default() });
        }
        self.all.get_mut(&index).map(|item| (item, &mut self.slots))
    }

    pub(crate) fn part_added<'a>(&mut self, index: u32, place: Place, whole: &WholePart<'a>, out: &mut Out<'_, 'a>) {
        let Some((item, slots)) = self.holder(index, place.family, whole.kind()) else { return };
        if item.block(place).is_some() {
            return out.quirk(Quirk::SlotReused);
        }
        item.open(slots, place, whole.head(), out);
        if let Some(block) = item.block(place) {
            block.is_framed = true;
        }
    }

    pub(crate) fn part_done<'a>(&mut self, index: u32, place: Place, whole: WholePart<'a>, out: &mut Out<'_, 'a>) {
        let Some((item, slots)) = self.holder(index, place.family, whole.kind()) else { return };
        item.settle_part(slots, place, whole, out);
    }

    /// The block that a text belongs to, which may not have been announced.
    fn text_block(&mut self, at: TextPlace, out: &mut Out<'_, '_>) -> Option<&mut ItemBlock> {
        let (item, slots) = self.holder(at.index, at.place.family, at.kind)?;
        if item.block(at.place).is_none() {
            item.open(slots, at.place, at.head(), out);
        }
        item.block(at.place)
    }

    pub(crate) fn text_delta<'a>(
        &mut self,
        at: TextPlace,
        text: Cow<'a, str>,
        logprobs: Vec<Raw<'a>>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(block) = self.text_block(at, out) else { return };
        if block.kind != at.kind {
            // To a slot that is not there, so that it is left out.
            out.quirk(Quirk::MisplacedDelta);
            return out.push(Delta::Grow { slot: super::items::NOWHERE, part: BlockPart::Text, text });
        }
        block.grow(text, out);
        block.logprobs += logprobs.len();
        for Raw(json) in logprobs {
            block.note("logprobs", json, out);
        }
    }

    pub(crate) fn text_done<'a>(
        &mut self,
        at: TextPlace,
        text: Cow<'a, str>,
        logprobs: Vec<Raw<'a>>,
        out: &mut Out<'_, 'a>,
    ) {
        let Some(block) = self.text_block(at, out) else { return };
        if block.kind != at.kind {
            return out.quirk(Quirk::MisplacedDelta);
        }
        block.settle(text, out);
        block.note_logprobs(logprobs, out);
        if !block.is_framed {
            block.close(out);
        }
    }

    pub(crate) fn annotation<'a>(&mut self, index: u32, place: Place, json: &'a str, out: &mut Out<'_, 'a>) {
        let block = self.all.get_mut(&index).and_then(|item| item.block(place));
        let Some(block) = block else {
            return out.push(Delta::NoteOn {
                slot: super::items::NOWHERE,
                name: "annotations".into(),
                json: json.into(),
            });
        };
        block.annotations += 1;
        block.note("annotations", json, out);
    }
}

impl ItemBlock {
    /// Notes what only the end of the text has.
    fn note_logprobs<'a>(&mut self, logprobs: Vec<Raw<'a>>, out: &mut Out<'_, 'a>) {
        if self.logprobs > 0 {
            return;
        }
        self.logprobs = logprobs.len();
        for Raw(json) in logprobs {
            self.note("logprobs", json, out);
        }
    }

    /// Takes the signature over reasoning, which only the end of its part has.
    fn sign<'a>(&self, signature: Option<Words<'a>>, out: &mut Out<'_, 'a>) {
        let signature = signature.filter(|_| self.is_open && self.kind == BlockKind::Thinking);
        if let Some(Words::Text(text)) = signature {
            out.push(Delta::Grow { slot: self.slot, part: BlockPart::Signature, text });
        }
    }

    fn note_annotations<'a>(&mut self, annotations: Vec<Raw<'a>>, out: &mut Out<'_, 'a>) {
        let known = self.annotations;
        self.annotations = known.max(annotations.len());
        for Raw(json) in annotations.into_iter().skip(known) {
            self.note("annotations", json, out);
        }
    }
}

impl OutputItem {
    /// Takes a whole part: opens its block if nothing of it was streamed, compares it if something was, and closes it.
    fn settle_part<'a>(&mut self, slots: &mut u64, place: Place, whole: WholePart<'a>, out: &mut Out<'_, 'a>) {
        if self.block(place).is_none() {
            self.open(slots, place, whole.head(), out);
        }
        let kind = whole.kind();
        let Some(block) = self.block(place) else { return };
        if block.kind != kind {
            out.quirk(Quirk::Contradiction);
            return block.close(out);
        }
        let part = whole.part;
        match kind {
            BlockKind::Unknown if block.text.is_empty() && block.is_open => block.grow(Cow::Borrowed(whole.json), out),
            BlockKind::Unknown => {}
            BlockKind::Refusal => block.settle(part.refusal.map_or_else(Cow::default, Words::into_text), out),
            BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::FunctionCall
            | BlockKind::CustomCall
            | BlockKind::BuiltinCall
            | BlockKind::ServerCall
            | BlockKind::ToolResult => {
                block.settle(part.text.map_or_else(Cow::default, Words::into_text), out);
                block.note_annotations(part.annotations.unwrap_or_default(), out);
                block.note_logprobs(part.logprobs.unwrap_or_default(), out);
                block.sign(part.signature, out);
            }
        }
        block.close(out);
    }

    pub(crate) fn settle_parts<'a>(
        &mut self,
        slots: &mut u64,
        family: Family,
        parts: Vec<WholePart<'a>>,
        out: &mut Out<'_, 'a>,
    ) {
        for (index, part) in (0..).zip(parts) {
            self.settle_part(slots, Place { family, index }, part, out);
        }
    }

    /// The block of its own that encrypted reasoning gets, and an item that has nothing else.
    pub(crate) fn seal<'a>(&mut self, slots: &mut u64, item: &Item<'a>, out: &mut Out<'_, 'a>) {
        let given = text_of(item.encrypted_content.as_ref());
        // What comes last is whole.
        let data = if given.is_empty() { std::mem::take(&mut self.sealed) } else { given.to_owned() };
        if data.is_empty() && !self.blocks.is_empty() {
            return;
        }
        self.close_all(out);
        self.open(
            slots,
            Place::SEALED,
            BlockHead { kind: BlockKind::Thinking, id: None, name: Cow::Borrowed("") },
            out,
        );
        let Some(block) = self.block(Place::SEALED) else { return };
        if !data.is_empty() {
            out.push(Delta::Grow { slot: block.slot, part: BlockPart::Data, text: Cow::Owned(data) });
        }
        block.close(out);
    }
}
