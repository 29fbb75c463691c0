//! Blocks to Responses events.
//!
//! Rules. (1) Every event has the next sequence number. (2) An item says what it is when it begins, and all of it when it ends; the
//! last event repeats the items as they ended. (3) Blocks that came from one item, which their `item_id` says, are written as one item.

use super::item::{Content, OpenItem, OpenPart};
use crate::event::{BlockKind, Part};
use crate::failure::Failure;
use crate::usage::Usage;
use crate::wire::encode::{Answer, Closing, Encode, OutBlock, Reason, Way, loss_of_raw};
use crate::wire::output::{Object, Output, compact};

/// Writes Responses events.
#[derive(Debug, Default)]
pub struct Encoder {
    pub(super) sequence: u64,
    has_begun: bool,
    /// The id and the model that the beginning named: the end names no others.
    id: String,
    model: String,
    /// What the ids that are made have in common.
    pub(super) stem: String,
    /// The items as they ended.
    pub(super) output: Vec<String>,
    pub(super) item: Option<OpenItem>,
    reason: Option<Reason>,
    /// Whether the open block takes text.
    pub(super) is_sealed: bool,
}

/// What the response's status says.
enum Status<'a> {
    InProgress,
    Completed,
    Incomplete(&'a str),
    Failed(&'a Failure),
}

impl Status<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed(_) => "failed",
        }
    }
}

impl Encoder {
    /// Writes an event with its type and its number.
    pub(super) fn event(&mut self, name: &str, out: &mut Output, fill: impl FnOnce(&mut Object<'_>)) {
        let sequence = self.sequence;
        self.sequence += 1;
        out.event(Some(name), |json| {
            json.text("type", name);
            json.number("sequence_number", sequence);
            fill(json);
        });
    }

    /// Writes an event of the open item.
    pub(super) fn item_event(&mut self, name: &str, out: &mut Output, fill: impl FnOnce(&mut Object<'_>)) {
        let Some((id, index)) = self.item.as_ref().map(|item| (item.id.clone(), item.index)) else { return };
        self.event(name, out, |json| {
            json.text("item_id", &id);
            json.number("output_index", index as u64);
            fill(json);
        });
    }

    fn response(&self, status: &Status<'_>, answer: &Answer) -> String {
        Object::text_of(|response| {
            response.text("id", &self.id);
            response.text("object", "response");
            response.number("created_at", answer.created);
            response.text("status", status.name());
            match status {
                Status::Failed(failure) => response.json("error", &error_of(failure)),
                Status::InProgress | Status::Completed | Status::Incomplete(_) => response.json("error", "null"),
            }
            match status {
                Status::Incomplete(reason) => {
                    response.object("incomplete_details", |details| details.text("reason", reason));
                }
                Status::InProgress | Status::Completed | Status::Failed(_) => {
                    response.json("incomplete_details", "null");
                }
            }
            response.text("model", &self.model);
            response.list("output", &self.output);
            // The client knows what it asked for; its types want the fields.
            response.json("parallel_tool_calls", "true");
            response.text("tool_choice", "auto");
            response.json("tools", "[]");
            let is_over = !matches!(status, Status::InProgress);
            match usage_of(&answer.usage).filter(|_| is_over) {
                Some(usage) => response.json("usage", &usage),
                None => response.json("usage", "null"),
            }
        })
    }

    fn status_event(&mut self, name: &str, status: &Status<'_>, answer: &Answer, out: &mut Output) {
        let response = self.response(status, answer);
        self.event(name, out, |json| json.json("response", &response));
    }

    /// Ends the open item, if there is one.
    pub(super) fn end_item(&mut self, closing: Closing, out: &mut Output) {
        if self.item.as_ref().is_some_and(|item| item.part.is_some()) {
            self.end_part(out);
        }
        let Some(item) = self.item.take() else { return };
        let whole = item.whole(closing);
        self.event("response.output_item.done", out, |json| {
            json.number("output_index", item.index as u64);
            json.json("item", &whole);
        });
        self.output.push(whole);
    }

    /// Begins an item, unless the open one goes on.
    fn begin_item(&mut self, block: &OutBlock, content: Content, out: &mut Output) {
        let key = block.note("item_id").map(unquoted);
        let goes_on = self.item.as_ref().is_some_and(|item| item.goes_on(key.as_deref(), content));
        if let Some(item) = self.item.as_mut().filter(|_| goes_on) {
            item.newest = block.number;
            return;
        }
        self.end_item(Closing::Whole, out);
        let item = OpenItem::new(block, key, content, self.output.len(), &self.stem);
        let begun = item.begun();
        let index = item.index;
        self.event("response.output_item.added", out, |json| {
            json.number("output_index", index as u64);
            json.json("item", &begun);
        });
        self.item = Some(item);
    }

    /// A block that this format alone has, as its item was at its end.
    fn foreign_item(&mut self, item: &str, out: &mut Output) {
        self.end_item(Closing::Whole, out);
        let whole = compact(item);
        let index = self.output.len() as u64;
        for name in ["response.output_item.added", "response.output_item.done"] {
            self.event(name, out, |json| {
                json.number("output_index", index);
                json.json("item", &whole);
            });
        }
        self.output.push(whole);
    }

    fn end_with(&mut self, name: &str, status: &Status<'_>, answer: &Answer, out: &mut Output) {
        self.begin(0, answer, out);
        // What was cut has been ended as such. An item that is still open could only have had further parts.
        if self.item.as_ref().is_some_and(|item| !item.is_call()) {
            self.end_item(Closing::Whole, out);
        }
        self.status_event(name, status, answer, out);
    }
}

impl Encode for Encoder {
    fn way(&self, kind: BlockKind, name: &str, is_native: bool) -> Way {
        match kind {
            BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::Refusal
            | BlockKind::FunctionCall
            | BlockKind::CustomCall => Way::Live,
            // Sound belongs to no item.
            BlockKind::Unknown if name == "audio" => Way::Never("audio"),
            BlockKind::ServerCall | BlockKind::BuiltinCall | BlockKind::ToolResult | BlockKind::Unknown
                if is_native =>
            {
                Way::Whole
            }
            BlockKind::BuiltinCall => Way::Never("builtin_call"),
            BlockKind::ServerCall => Way::Never("server_call"),
            BlockKind::ToolResult => Way::Never("tool_result"),
            BlockKind::Unknown => Way::Never(loss_of_raw(name)),
        }
    }

    fn begin(&mut self, _: u32, answer: &Answer, out: &mut Output) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        answer.stem().clone_into(&mut self.stem);
        self.id = answer.written_id("resp_");
        answer.model.clone_into(&mut self.model);
        self.status_event("response.created", &Status::InProgress, answer, out);
        self.status_event("response.in_progress", &Status::InProgress, answer, out);
    }

    fn open(&mut self, block: &OutBlock, answer: &Answer, out: &mut Output) {
        self.begin(0, answer, out);
        self.is_sealed = block.is_sealed();
        match block.kind {
            BlockKind::Text | BlockKind::Refusal => self.begin_item(block, Content::Message, out),
            BlockKind::Thinking => self.begin_item(block, Content::Reasoning, out),
            BlockKind::FunctionCall => self.begin_item(block, Content::Function, out),
            BlockKind::CustomCall => self.begin_item(block, Content::Custom, out),
            BlockKind::BuiltinCall | BlockKind::ServerCall | BlockKind::ToolResult | BlockKind::Unknown => {}
        }
        if let Some(part) = OpenPart::of(block) {
            self.begin_part(part, out);
        }
    }

    fn grow(&mut self, block: &OutBlock, part: Part, text: &str, out: &mut Output) {
        match part {
            Part::Text | Part::Arguments => self.grow_text(block, part, text, out),
            Part::Signature => {
                if let Some(open) = self.item.as_mut().and_then(|item| item.part.as_mut()) {
                    open.signature.push_str(text);
                }
            }
            Part::Data => {
                if let Some(item) = &mut self.item {
                    item.encrypted.push_str(text);
                }
            }
            Part::Name | Part::Raw => {}
        }
    }

    fn note(&mut self, _: &OutBlock, name: &str, json: &str, out: &mut Output) -> bool {
        match name {
            "annotations" => self.annotate(json, out),
            "logprobs" => {
                if let Some(open) = self.item.as_mut().and_then(|item| item.part.as_mut()) {
                    open.logprobs.push(compact(json));
                }
            }
            "item_id" | "status" | "item" => {}
            _ => return self.item.as_mut().is_some_and(|item| item.keep(name, json)),
        }
        true
    }

    fn note_closed(&mut self, block: usize, name: &str, json: &str) -> bool {
        let open = self.item.as_mut().filter(|item| item.newest == block);
        match name {
            // An item is said to be cut when its parts are over.
            "status" => {
                if let Some(item) = open {
                    item.is_incomplete = unquoted(json) == "incomplete";
                }
                true
            }
            "item_id" | "item" => true,
            _ => open.is_some_and(|item| item.keep(name, json)),
        }
    }

    fn close(&mut self, block: &OutBlock, closing: Closing, _: &Answer, out: &mut Output) -> Result<(), Failure> {
        match block.kind {
            BlockKind::Text | BlockKind::Refusal | BlockKind::Thinking => {
                if self.item.as_ref().is_some_and(|item| item.part.is_some()) {
                    self.end_part(out);
                }
                // What has no id of the source's is not added to any more.
                if block.note("item_id").is_none() || closing == Closing::Cut {
                    self.end_item(closing, out);
                }
            }
            BlockKind::FunctionCall | BlockKind::CustomCall => self.close_call(block, closing, out),
            BlockKind::BuiltinCall | BlockKind::ServerCall => {
                self.foreign_item(block.note("item").unwrap_or("{}"), out);
            }
            BlockKind::ToolResult | BlockKind::Unknown => {
                self.foreign_item(block.raw.first().map_or("{}", String::as_str), out);
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: u32, reason: &Reason, _: &Answer, _: &mut Output) -> Result<(), Failure> {
        self.reason = Some(reason.clone());
        Ok(())
    }

    fn end(&mut self, answer: &Answer, out: &mut Output) -> Result<(), Failure> {
        self.begin(0, answer, out);
        let Some(reason) = self.reason.take() else { return Err(Failure::unexplained()) };
        let status = match reason.word.as_str() {
            "stop" | "tool_calls" | "pause" | "compaction" => Status::Completed,
            "length" => Status::Incomplete("max_output_tokens"),
            "content_filter" => Status::Incomplete("content_filter"),
            _ => return Err(Failure::unknown_reason()),
        };
        self.end_item(Closing::Whole, out);
        let name = if matches!(status, Status::Completed) { "response.completed" } else { "response.incomplete" };
        self.status_event(name, &status, answer, out);
        Ok(())
    }

    fn fail(&mut self, failure: &Failure, answer: &Answer, out: &mut Output) {
        self.end_with("response.failed", &Status::Failed(failure), answer, out);
    }

    fn cut(&mut self, _: &Failure, answer: &Answer, out: &mut Output) {
        self.end_with("response.incomplete", &Status::Incomplete("max_output_tokens"), answer, out);
    }

    fn ping(&mut self, out: &mut Output) {
        out.line(": ping");
    }
}

/// The string that a JSON text is; empty if it is none.
fn unquoted(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_default()
}

fn error_of(failure: &Failure) -> String {
    Object::text_of(|error| {
        error.text("code", failure.kind.code());
        error.text("message", &failure.message);
    })
}

/// The counts in the format's convention; none if nothing is known.
pub(crate) fn usage_of(usage: &Usage) -> Option<String> {
    if *usage == Usage::default() {
        return None;
    }
    let (input, output) = (usage.input.unwrap_or(0), usage.output.unwrap_or(0));
    Some(Object::text_of(|json| {
        json.number("input_tokens", input);
        json.object("input_tokens_details", |details| {
            details.number("cached_tokens", usage.cache_read.unwrap_or(0));
            details.number_if("cache_write_tokens", usage.cache_write);
        });
        json.number("output_tokens", output);
        json.object("output_tokens_details", |details| {
            details.number("reasoning_tokens", usage.reasoning.unwrap_or(0));
        });
        json.number("total_tokens", input.saturating_add(output));
    }))
}
