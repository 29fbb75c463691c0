//! The output item that is being written, and its open part.

use super::encode::Encoder;
use crate::event::{BlockKind, Part};
use crate::wire::encode::{Closing, OutBlock};
use crate::wire::output::{Object, Output, compact};

/// What an item holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Message,
    Reasoning,
    Function,
    Custom,
}

/// Which list of its item a part stands in, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Refusal,
    Summary,
    Reasoning,
}

impl PartKind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "output_text",
            Self::Refusal => "refusal",
            Self::Summary => "summary_text",
            Self::Reasoning => "reasoning_text",
        }
    }

    /// The member that has the text.
    fn field(self) -> &'static str {
        if self == Self::Refusal { "refusal" } else { "text" }
    }

    /// What its events are called.
    fn events(self) -> &'static str {
        match self {
            Self::Text => "response.output_text",
            Self::Refusal => "response.refusal",
            Self::Summary => "response.reasoning_summary_text",
            Self::Reasoning => "response.reasoning_text",
        }
    }

    /// What the events of its beginning and end are called, and the member that has its place.
    fn frame(self) -> (&'static str, &'static str) {
        match self {
            Self::Summary => ("response.reasoning_summary_part", "summary_index"),
            Self::Text | Self::Refusal | Self::Reasoning => ("response.content_part", "content_index"),
        }
    }
}

/// The part that is being written.
#[derive(Debug)]
pub(super) struct OpenPart {
    kind: PartKind,
    index: usize,
    pub(super) text: String,
    pub(super) signature: String,
    pub(super) annotations: Vec<String>,
    pub(super) logprobs: Vec<String>,
}

impl OpenPart {
    /// The part that a block is; none if it is a whole item, or reasoning without any text.
    pub(super) fn of(block: &OutBlock) -> Option<Self> {
        let kind = match block.kind {
            BlockKind::Text => PartKind::Text,
            BlockKind::Refusal => PartKind::Refusal,
            BlockKind::Thinking if block.is_sealed() => return None,
            BlockKind::Thinking if block.is_complete && block.text.is_empty() && block.signature.is_empty() => {
                return None;
            }
            BlockKind::Thinking if block.name == "reasoning_text" => PartKind::Reasoning,
            BlockKind::Thinking => PartKind::Summary,
            BlockKind::FunctionCall
            | BlockKind::CustomCall
            | BlockKind::BuiltinCall
            | BlockKind::ServerCall
            | BlockKind::ToolResult
            | BlockKind::Unknown => return None,
        };
        let (text, signature) = (String::new(), String::new());
        Some(Self { kind, index: 0, text, signature, annotations: Vec::new(), logprobs: Vec::new() })
    }

    fn json(&self) -> String {
        Object::text_of(|part| {
            part.text("type", self.kind.name());
            part.text(self.kind.field(), &self.text);
            if self.kind == PartKind::Text {
                part.list("annotations", &self.annotations);
                part.list("logprobs", &self.logprobs);
            }
            if !self.signature.is_empty() {
                part.text("signature", &self.signature);
            }
        })
    }
}

/// Fields of an item that only this format has, and that are passed on.
const KEPT: [&str; 2] = ["phase", "namespace"];

/// The item that is being written.
#[derive(Debug)]
pub(super) struct OpenItem {
    content: Content,
    pub(super) id: String,
    /// The id that the source gave it, if it gave one.
    key: Option<String>,
    pub(super) index: usize,
    call_id: String,
    name: String,
    /// The arguments of a call.
    arguments: String,
    parts: Vec<String>,
    summary: Vec<String>,
    pub(super) part: Option<OpenPart>,
    pub(super) encrypted: String,
    kept: Vec<(String, String)>,
    /// The block that was added last.
    pub(super) newest: usize,
    /// Whether the source said that it was cut.
    pub(super) is_incomplete: bool,
}

impl OpenItem {
    pub(super) fn new(block: &OutBlock, key: Option<String>, content: Content, index: usize, stem: &str) -> Self {
        let made = match content {
            Content::Message => format!("msg_{stem}_{index}"),
            Content::Reasoning => format!("rs_{stem}_{index}"),
            Content::Function => format!("fc_{}", block.id.strip_prefix("call_").unwrap_or(&block.id)),
            Content::Custom => format!("ctc_{}", block.id.strip_prefix("call_").unwrap_or(&block.id)),
        };
        let kept = |name: &&str| Some(((*name).to_owned(), compact(block.note(name)?)));
        Self {
            content,
            id: key.clone().unwrap_or(made),
            key,
            index,
            call_id: block.id.clone(),
            name: block.name.clone(),
            arguments: String::new(),
            parts: Vec::new(),
            summary: Vec::new(),
            part: None,
            encrypted: String::new(),
            kept: KEPT.iter().filter_map(kept).collect(),
            newest: block.number,
            is_incomplete: block.note("status") == Some("\"incomplete\""),
        }
    }

    /// Whether a block of that item, and of that sort, is added to this one.
    pub(super) fn goes_on(&self, key: Option<&str>, content: Content) -> bool {
        let takes_more = matches!(content, Content::Message | Content::Reasoning);
        takes_more && self.content == content && key.is_some() && self.key.as_deref() == key
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.content, Content::Function | Content::Custom)
    }

    pub(super) fn keep(&mut self, name: &str, json: &str) -> bool {
        if !KEPT.contains(&name) {
            return false;
        }
        if self.kept.iter().all(|(known, _)| known != name) {
            self.kept.push((name.to_owned(), compact(json)));
        }
        true
    }

    /// The item as it begins.
    pub(super) fn begun(&self) -> String {
        self.json(Some("in_progress"))
    }

    /// The item as it ends.
    pub(super) fn whole(&self, closing: Closing) -> String {
        match (closing, self.content) {
            (Closing::Whole, _) if self.is_incomplete => self.json(Some("incomplete")),
            (Closing::Whole, Content::Reasoning) => self.json(None),
            (Closing::Whole, _) => self.json(Some("completed")),
            (Closing::Partial | Closing::Cut, _) => self.json(Some("incomplete")),
        }
    }

    fn json(&self, status: Option<&str>) -> String {
        Object::text_of(|item| {
            item.text("id", &self.id);
            match self.content {
                Content::Message => {
                    item.text("type", "message");
                    item.text("role", "assistant");
                    item.list("content", &self.parts);
                }
                Content::Reasoning => {
                    item.text("type", "reasoning");
                    item.list("summary", &self.summary);
                    if !self.parts.is_empty() {
                        item.list("content", &self.parts);
                    }
                    if !self.encrypted.is_empty() {
                        item.text("encrypted_content", &self.encrypted);
                    }
                }
                Content::Function => self.call("function_call", "arguments", item),
                Content::Custom => self.call("custom_tool_call", "input", item),
            }
            if let Some(status) = status.filter(|word| self.content != Content::Reasoning || *word != "in_progress") {
                item.text("status", status);
            }
            for (name, json) in &self.kept {
                item.json(name, json);
            }
        })
    }

    fn call(&self, kind: &str, field: &str, item: &mut Object<'_>) {
        item.text("type", kind);
        item.text("call_id", &self.call_id);
        item.text("name", &self.name);
        item.text(field, &self.arguments);
    }
}

impl Encoder {
    pub(super) fn begin_part(&mut self, mut part: OpenPart, out: &mut Output) {
        let Some(item) = &mut self.item else { return };
        let list = if part.kind == PartKind::Summary { &item.summary } else { &item.parts };
        part.index = list.len();
        let (frame, place) = part.kind.frame();
        let (index, begun) = (part.index as u64, part.json());
        item.part = Some(part);
        self.item_event(&format!("{frame}.added"), out, |json| {
            json.number(place, index);
            json.json("part", &begun);
        });
    }

    pub(super) fn end_part(&mut self, out: &mut Output) {
        let Some(part) = self.item.as_mut().and_then(|item| item.part.take()) else { return };
        let (frame, place) = part.kind.frame();
        let (index, whole) = (part.index as u64, part.json());
        self.item_event(&format!("{}.done", part.kind.events()), out, |json| {
            json.number(place, index);
            json.text(part.kind.field(), &part.text);
            if part.kind == PartKind::Text {
                json.list("logprobs", &part.logprobs);
            }
        });
        self.item_event(&format!("{frame}.done"), out, |json| {
            json.number(place, index);
            json.json("part", &whole);
        });
        let Some(item) = &mut self.item else { return };
        if part.kind == PartKind::Summary { item.summary.push(whole) } else { item.parts.push(whole) }
    }

    /// A text or the arguments of a call grow.
    pub(super) fn grow_text(&mut self, block: &OutBlock, part: Part, text: &str, out: &mut Output) {
        let Some(item) = &mut self.item else { return };
        let (events, tail) = match (&mut item.part, item.content) {
            (Some(open), _) => {
                open.text.push_str(text);
                let tail = if open.kind == PartKind::Text { "\",\"logprobs\":[]}\n\n" } else { "\"}\n\n" };
                (open.kind.events(), tail)
            }
            (None, Content::Function) => ("response.function_call_arguments", "\"}\n\n"),
            (None, Content::Custom) => ("response.custom_tool_call_input", "\"}\n\n"),
            (None, Content::Message | Content::Reasoning) => return,
        };
        if item.part.is_none() {
            item.arguments.push_str(text);
        }
        let place = item.part.as_ref().map(|open| (open.kind.frame().1, open.index));
        let name = format!("{events}.delta");
        let sequence = &mut self.sequence;
        out.grow((block.number, part), text, tail, Some(&name), |json| {
            let number = *sequence;
            *sequence += 1;
            Object::write_open(json, |event| {
                event.text("type", &name);
                event.number("sequence_number", number);
                event.text("item_id", &item.id);
                event.number("output_index", item.index as u64);
                if let Some((place, index)) = place {
                    event.number(place, index as u64);
                }
                event.json("delta", "\"");
            });
        });
    }

    pub(super) fn annotate(&mut self, json: &str, out: &mut Output) {
        let Some(open) = self.item.as_mut().and_then(|item| item.part.as_mut()) else { return };
        let value = compact(json);
        let (index, count) = (open.index as u64, open.annotations.len() as u64);
        open.annotations.push(value.clone());
        self.item_event("response.output_text.annotation.added", out, |json| {
            json.number("content_index", index);
            json.number("annotation_index", count);
            json.json("annotation", &value);
        });
    }

    pub(super) fn close_call(&mut self, block: &OutBlock, closing: Closing, out: &mut Output) {
        let is_custom = block.kind == BlockKind::CustomCall;
        let is_empty = self.item.as_ref().is_some_and(|item| item.arguments.is_empty());
        if is_empty && !is_custom && closing == Closing::Whole {
            self.grow_text(block, Part::Arguments, "{}", out);
        }
        let Some(item) = &self.item else { return };
        let (name, arguments) = (item.name.clone(), item.arguments.clone());
        let (event, field) = if is_custom {
            ("response.custom_tool_call_input.done", "input")
        } else {
            ("response.function_call_arguments.done", "arguments")
        };
        self.item_event(event, out, |json| {
            if !is_custom {
                json.text("name", &name);
            }
            json.text(field, &arguments);
        });
        self.end_item(closing, out);
    }
}
