//! Whole items: their beginning, their end, and calls, of which every repetition is compared.

use std::borrow::Cow;

use super::items::{Items, NOWHERE, Out, OutputItem, Place};
use super::kinds::{Family, Shape, shape};
use super::parts::WholePart;
use super::schema::{Event, Item, Operation, Words, text_of};
use crate::delta::{BlockHead, Delta, Identity};
use crate::event::{BlockKind, Part, Quirk};
use crate::wire::json::Raw;

/// An item with its parts, and its JSON.
pub(crate) struct WholeItem<'a> {
    pub(crate) item: Item<'a>,
    content: Vec<WholePart<'a>>,
    summary: Vec<WholePart<'a>>,
    json: &'a str,
}

/// How an item came.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// Event by event.
    Streamed,
    /// In a whole body.
    InBody,
}

impl<'a> WholeItem<'a> {
    pub(crate) fn read(Raw(json): Raw<'a>) -> Result<Self, serde_json::Error> {
        let item: Item<'a> = serde_json::from_str(json)?;
        let kind = item.kind.as_ref().map_or("", |kind| kind.0.as_ref());
        let (content, summary) = match shape(kind) {
            Shape::Message => (WholePart::read_all(item.content)?, Vec::new()),
            Shape::Reasoning => (WholePart::read_all(item.content)?, WholePart::read_all(item.summary)?),
            Shape::Call(_) | Shape::Result | Shape::Other => (Vec::new(), Vec::new()),
        };
        Ok(Self { item, content, summary, json })
    }
}

/// Arguments, and whether they are JSON that came as such.
struct Arguments<'a> {
    text: Cow<'a, str>,
    is_json: bool,
}

/// Whether an item says under two names what is to be done: which of them a client acts on is not known.
fn is_two_faced(item: &Item<'_>) -> bool {
    let words = [&item.arguments, &item.input, &item.code].into_iter().filter(|words| words.is_some()).count();
    let values = [item.action, item.actions, item.operation, item.queries].into_iter().flatten().count();
    words + values > 1
}

/// The arguments of an item, under whatever name its type has for them.
fn arguments_of<'a>(item: &mut Item<'a>) -> Option<Arguments<'a>> {
    let words = item.arguments.take().or(item.input.take()).or(item.code.take());
    let json = item.action.or(item.actions).or(item.operation).or(item.queries);
    match words {
        Some(Words::Text(text)) => Some(Arguments { text, is_json: false }),
        Some(Words::Json(json)) => Some(Arguments { text: Cow::Owned(json), is_json: true }),
        None => json.map(|Raw(json)| Arguments { text: Cow::Borrowed(json), is_json: true }),
    }
}

fn is_given(text: &str) -> bool {
    !text.is_empty()
}

impl OutputItem {
    fn head<'a>(&self, kind: BlockKind) -> BlockHead<'a> {
        let takes_item_id = matches!(kind, BlockKind::BuiltinCall | BlockKind::ServerCall);
        let id = Some(&self.call_id).filter(|id| is_given(id));
        let id = id.or(Some(&self.id).filter(|id| takes_item_id && is_given(id)));
        let is_named = matches!(kind, BlockKind::FunctionCall | BlockKind::CustomCall) || self.kind == "mcp_call";
        let name = if is_named { &self.name } else { &self.kind };
        BlockHead { kind, id: id.map(|id| Cow::Owned(id.clone())), name: Cow::Owned(name.clone()) }
    }

    /// Opens the block of an item that is one block.
    fn begin(&mut self, slots: &mut u64, pending: &mut Vec<String>, out: &mut Out<'_, '_>) {
        let kind = match self.shape {
            Shape::Message | Shape::Reasoning => return,
            Shape::Call(kind) => kind,
            Shape::Result => BlockKind::ToolResult,
            Shape::Other => BlockKind::Unknown,
        };
        match kind {
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall => {
                pending.push(self.call_id.clone());
            }
            BlockKind::ToolResult => pending.retain(|id| *id != self.call_id),
            BlockKind::ServerCall | BlockKind::Unknown | BlockKind::Text | BlockKind::Thinking | BlockKind::Refusal => {
            }
        }
        self.open(slots, Place::ITEM, self.head(kind), out);
    }

    /// Whether a repetition of a call is the call that was streamed, but for its arguments.
    fn is_called_so(&self, item: &Item<'_>) -> bool {
        let agrees = |known: &str, given: &str| known.is_empty() || given.is_empty() || known == given;
        agrees(&self.call_id, text_of(item.call_id.as_ref())) && agrees(&self.name, text_of(item.name.as_ref()))
    }

    fn settle_call<'a>(&mut self, whole: WholeItem<'a>, out: &mut Out<'_, 'a>) {
        let WholeItem { mut item, json, .. } = whole;
        let is_called_so = self.is_called_so(&item);
        let is_two_faced = is_two_faced(&item);
        let name = text_of(item.name.as_ref());
        let operation = item.action.or(item.operation);
        let is_done_so = operation.is_none_or(|operation| self.does(operation));
        let is_raw = matches!(self.shape, Shape::Call(BlockKind::BuiltinCall | BlockKind::ServerCall));
        let is_named_late = self.name.is_empty() && is_given(name) && !is_raw;
        let announced = std::mem::take(&mut self.announced);
        let Some(block) = self.blocks.iter_mut().find(|block| block.place == Place::ITEM) else { return };
        if is_named_late {
            out.push(Delta::Grow { slot: block.slot, part: Part::Name, text: Cow::Owned(name.to_owned()) });
        }
        match arguments_of(&mut item) {
            Some(Arguments { text, is_json }) => {
                if is_json && !is_raw {
                    out.quirk(Quirk::ArgumentsAsObject);
                }
                block.settle(text, out);
            }
            None if block.text.is_empty() => block.settle(Cow::Owned(announced.clone()), out),
            None => {}
        }
        let is_announced_so = announced.is_empty() || announced == block.text;
        if !(is_called_so && is_done_so && is_announced_so) || is_two_faced {
            out.quirk(Quirk::Contradiction);
        }
        if is_raw {
            block.note("item", json, out);
        }
        block.close(out);
    }

    /// Whether what was streamed of commands or a patch is what the item says.
    fn does(&self, Raw(json): Raw<'_>) -> bool {
        let Ok(operation) = serde_json::from_str::<Operation<'_>>(json) else { return self.operations.is_empty() };
        let commands = operation.commands.unwrap_or_default();
        let said = |index: u32| match &operation.diff {
            Some(diff) => Some(diff),
            None => commands.get(index as usize),
        };
        self.operations.iter().all(|(index, text)| said(*index).is_some_and(|said| said.0 == text.as_str()))
    }

    fn settle_raw<'a>(&mut self, whole: WholeItem<'a>, out: &mut Out<'_, 'a>) {
        let WholeItem { item, json, .. } = whole;
        let is_result = self.shape == Shape::Result;
        let Some(block) = self.block(Place::ITEM) else { return };
        if let Some(Words::Text(text)) = item.output.or(item.result).filter(|_| is_result) {
            block.settle(text, out);
        }
        out.push(Delta::Grow { slot: block.slot, part: Part::Raw, text: Cow::Borrowed(json) });
        block.close(out);
    }
}

impl Items {
    pub(crate) fn added<'a>(&mut self, index: u32, mut item: Item<'a>, out: &mut Out<'_, 'a>) {
        if self.all.contains_key(&index) {
            return out.quirk(Quirk::SlotReused);
        }
        self.insert(index, &item);
        identify(item.role.take(), out);
        let Some(known) = self.all.get_mut(&index) else { return };
        known.note(&item, out);
        known.begin(&mut self.slots, &mut self.pending, out);
        let words = item.arguments.or(item.input).or(item.code);
        if let (Shape::Call(_), Some(words)) = (known.shape, words) {
            known.announced = words.into_text().into_owned();
        }
    }

    pub(crate) fn done<'a>(&mut self, index: u32, mut whole: WholeItem<'a>, came: Came, out: &mut Out<'_, 'a>) {
        let is_new = !self.all.contains_key(&index);
        if is_new {
            self.insert(index, &whole.item);
        }
        let Some(known) = self.all.get_mut(&index) else { return };
        if std::mem::replace(&mut known.is_done, true) {
            return out.quirk(Quirk::SlotReused);
        }
        if whole.item.kind.as_ref().is_some_and(|kind| kind.0 != known.kind) {
            out.quirk(Quirk::Contradiction);
            return known.close_all(out);
        }
        if is_new && came == Came::Streamed && matches!(known.shape, Shape::Call(_)) {
            out.quirk(Quirk::Contradiction);
        }
        let role = whole.item.role.take();
        known.note(&whole.item, out);
        if is_new {
            known.begin(&mut self.slots, &mut self.pending, out);
        }
        known.settle(&mut self.slots, whole, out);
        known.close_all(out);
        identify(role, out);
    }

    /// Arguments, or a part of them, for a call.
    pub(crate) fn call_delta<'a>(&mut self, index: u32, text: Cow<'a, str>, out: &mut Out<'_, 'a>) {
        match self.all.get_mut(&index).and_then(|item| item.block(Place::ITEM)) {
            Some(block) => block.grow(text, out),
            None => out.push(Delta::Grow { slot: NOWHERE, part: Part::Arguments, text }),
        }
    }

    /// The whole arguments of a call.
    pub(crate) fn call_done<'a>(&mut self, index: u32, event: Event<'a>, out: &mut Out<'_, 'a>) {
        let words = event.arguments.or(event.input).or(event.code);
        let Some(item) = self.all.get_mut(&index).filter(|item| !item.blocks.is_empty()) else {
            let text = words.map_or_else(Cow::default, Words::into_text);
            return out.push(Delta::Grow { slot: NOWHERE, part: Part::Arguments, text });
        };
        let name = text_of(event.name.as_ref());
        if is_given(name) && is_given(&item.name) && name != item.name {
            out.quirk(Quirk::Contradiction);
        }
        if let (Some(block), Some(words)) = (item.block(Place::ITEM), words) {
            if matches!(words, Words::Json(_)) {
                out.quirk(Quirk::ArgumentsAsObject);
            }
            block.settle(words.into_text(), out);
        }
    }

    /// A command or a patch, which the item will repeat.
    pub(crate) fn operation_done(&mut self, index: u32, event: Event<'_>) {
        let text = event.command.or(event.diff).map_or_else(Cow::default, Words::into_text);
        if let Some(item) = self.all.get_mut(&index) {
            item.operations.push((event.command_index.unwrap_or_default(), text.into_owned()));
        }
    }

    /// Whether an item of the whole response is as it was streamed. A call that was not streamed is not taken.
    pub(crate) fn agrees(&self, position: u32, whole: WholeItem<'_>) -> bool {
        let WholeItem { mut item, content, .. } = whole;
        let kind = item.kind.as_ref().map_or("", |kind| kind.0.as_ref());
        let own_shape = shape(kind);
        let is_same = |known: &&OutputItem| known.kind == kind && known.is_called_so(&item);
        let at_position = self.all.get(&position).filter(is_same);
        let call_id = text_of(item.call_id.as_ref());
        let id = text_of(item.id.as_ref());
        let by_id = |known: &&OutputItem| {
            is_same(known) && if is_given(call_id) { known.call_id == call_id } else { is_given(id) && known.id == id }
        };
        let known = at_position.or_else(|| self.all.values().find(by_id));
        match (own_shape, known) {
            (Shape::Call(_), None) => false,
            (Shape::Call(_), Some(known)) => arguments_of(&mut item).is_none_or(|given| known.was_called_with(&given)),
            (Shape::Message, Some(known)) => known.has_said(&content),
            (Shape::Message | Shape::Reasoning | Shape::Result | Shape::Other, _) => true,
        }
    }
}

impl OutputItem {
    fn settle<'a>(&mut self, slots: &mut u64, whole: WholeItem<'a>, out: &mut Out<'_, 'a>) {
        match self.shape {
            Shape::Message => self.settle_parts(slots, Family::Content, whole.content, out),
            Shape::Reasoning => {
                self.settle_parts(slots, Family::Summary, whole.summary, out);
                self.settle_parts(slots, Family::Content, whole.content, out);
                self.seal(slots, &whole.item, out);
            }
            Shape::Call(_) => self.settle_call(whole, out),
            Shape::Result | Shape::Other => self.settle_raw(whole, out),
        }
    }

    fn was_called_with(&self, given: &Arguments<'_>) -> bool {
        let streamed = self.blocks.iter().find(|block| block.place == Place::ITEM).map_or("", |block| &block.text);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        streamed == given.text || (given.is_json && value(streamed) == value(&given.text))
    }

    fn has_said(&self, content: &[WholePart<'_>]) -> bool {
        self.blocks.iter().all(|block| {
            let part = content.get(block.place.index as usize).map(|whole| &whole.part);
            let text = part.map_or("", |part| match block.kind {
                BlockKind::Refusal => text_of(part.refusal.as_ref()),
                BlockKind::Text
                | BlockKind::Thinking
                | BlockKind::FunctionCall
                | BlockKind::CustomCall
                | BlockKind::BuiltinCall
                | BlockKind::ServerCall
                | BlockKind::ToolResult
                | BlockKind::Unknown => text_of(part.text.as_ref()),
            });
            block.kind == BlockKind::Unknown || block.text == text
        })
    }
}

/// The role that the answer is given in.
fn identify<'a>(role: Option<Words<'a>>, out: &mut Out<'_, 'a>) {
    if let Some(Words::Text(role)) = role {
        out.push(Delta::Identity { name: "role", value: Identity::Text(role) });
    }
}
