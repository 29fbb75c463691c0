//! Blocks to chat chunks.
//!
//! Each choice begins with a chunk that says its role. Calls are numbered anew, and each is said from its beginning to its end before the next.

use crate::event::{BlockKind, Part};
use crate::failure::Failure;
use crate::usage::Usage;
use crate::wire::encode::{Answer, Closing, Encode, OutBlock, Reason, Way, loss_of_raw};
use crate::wire::output::{Object, Output, compact, push_string};

/// Writes chat chunks.
#[derive(Debug, Default)]
pub struct Encoder {
    /// What every chunk begins with, once the answer has begun.
    envelope: String,
    /// The choices that have begun.
    choices: Vec<Begun>,
    /// The number of the open call.
    call: usize,
    /// Whether arguments were written for it.
    has_arguments: bool,
    /// How many choices have finished.
    finished: usize,
}

/// A choice that has begun: how much each of its lists has. Readers join lists by the number of each element.
#[derive(Debug, Default)]
struct Begun {
    choice: u32,
    calls: usize,
    details: usize,
    annotations: usize,
    images: usize,
}

/// What stands behind the text of a delta, and behind that of a call's arguments.
const TAIL: &str = "\"},\"finish_reason\":null}]}\n\n";
const CALL_TAIL: &str = "\"}}]},\"finish_reason\":null}]}\n\n";

impl Encoder {
    fn envelope(answer: &Answer) -> String {
        let mut out = String::from("{\"id\":");
        push_string(&mut out, &answer.written_id("chatcmpl-"));
        out.push_str(",\"object\":\"chat.completion.chunk\",\"created\":");
        out.push_str(&answer.created.to_string());
        out.push_str(",\"model\":");
        push_string(&mut out, &answer.model);
        out
    }

    /// A chunk that says one thing of a choice.
    fn chunk(&self, choice: u32, out: &mut Output, fill: impl FnOnce(&mut Object<'_>)) {
        let mut said = Object::text_of(fill);
        said.insert_str(1, &format!("\"index\":{choice},"));
        out.line_of(&["data: ", &self.envelope, ",\"choices\":[", &said, "]}"]);
    }

    /// A chunk whose delta says one thing.
    fn delta(&self, choice: u32, out: &mut Output, fill: impl FnOnce(&mut Object<'_>)) {
        self.chunk(choice, out, |said| {
            said.object("delta", fill);
            said.json("finish_reason", "null");
        });
    }

    fn grow_field(&self, block: &OutBlock, part: Part, field: &str, text: &str, out: &mut Output) {
        out.grow((block.number, part), text, TAIL, None, |json| {
            self.push_delta(json, block.choice, field);
            json.push('"');
        });
    }

    /// Begins a chunk whose delta has one member, up to its value.
    fn push_delta(&self, json: &mut String, choice: u32, field: &str) {
        json.push_str(&self.envelope);
        json.push_str(",\"choices\":[{\"index\":");
        json.push_str(&choice.to_string());
        json.push_str(",\"delta\":{\"");
        json.push_str(field);
        json.push_str("\":");
    }

    fn grow_arguments(&mut self, block: &OutBlock, text: &str, out: &mut Output) {
        self.has_arguments = true;
        let call = self.call;
        let field = if block.kind == BlockKind::CustomCall { "custom\":{\"input" } else { "function\":{\"arguments" };
        out.grow((block.number, Part::Arguments), text, CALL_TAIL, None, |json| {
            self.push_delta(json, block.choice, "tool_calls\":[{\"index");
            json.push_str(&call.to_string());
            json.push_str(",\"");
            json.push_str(field);
            json.push_str("\":\"");
        });
    }

    fn open_call(&mut self, block: &OutBlock, out: &mut Output) {
        self.call = self.next(block.choice, |begun| &mut begun.calls);
        self.has_arguments = false;
        let (sort, input) =
            if block.kind == BlockKind::CustomCall { ("custom", "input") } else { ("function", "arguments") };
        let call = Object::text_of(|call| {
            call.number("index", self.call as u64);
            call.text("id", &block.id);
            call.text("type", sort);
            call.object(sort, |tool| {
                tool.text("name", &block.name);
                tool.text(input, "");
            });
        });
        self.delta(block.choice, out, |delta| delta.list("tool_calls", &[call]));
    }

    fn has_calls(&self, choice: u32) -> bool {
        self.choices.iter().any(|begun| begun.choice == choice && begun.calls > 0)
    }

    /// The number of the next element of a choice's list.
    fn next(&mut self, choice: u32, list: impl FnOnce(&mut Begun) -> &mut usize) -> usize {
        let Some(begun) = self.choices.iter_mut().find(|begun| begun.choice == choice) else { return 0 };
        let count = list(begun);
        *count += 1;
        *count - 1
    }

    fn detail(&mut self, block: &OutBlock, kind: &str, field: &str, text: &str, out: &mut Output) {
        let index = self.next(block.choice, |begun| &mut begun.details);
        let detail = Object::text_of(|detail| {
            detail.number("index", index as u64);
            detail.text("type", kind);
            detail.text(field, text);
        });
        self.delta(block.choice, out, |delta| delta.list("reasoning_details", &[detail]));
    }

    /// One more JSON value of sound, or an image: blocks that only chat has.
    fn raw(&mut self, block: &OutBlock, json: &str, out: &mut Output) {
        let value = compact(json);
        if block.name == "audio" {
            return self.delta(block.choice, out, |delta| delta.json("audio", &value));
        }
        let image = numbered(&value, self.next(block.choice, |begun| &mut begun.images));
        self.delta(block.choice, out, |delta| delta.list("images", &[image]));
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
            BlockKind::Unknown if is_native && matches!(name, "audio" | "image") => Way::Live,
            BlockKind::Unknown => Way::Never(loss_of_raw(name)),
            BlockKind::BuiltinCall => Way::Never("builtin_call"),
            BlockKind::ServerCall => Way::Never("server_call"),
            BlockKind::ToolResult => Way::Never("tool_result"),
        }
    }

    fn begin(&mut self, choice: u32, answer: &Answer, out: &mut Output) {
        if self.envelope.is_empty() {
            self.envelope = Self::envelope(answer);
        }
        if self.choices.iter().all(|begun| begun.choice != choice) {
            self.choices.push(Begun { choice, ..Begun::default() });
            self.delta(choice, out, |delta| {
                delta.text("role", "assistant");
                delta.text("content", "");
            });
        }
    }

    fn open(&mut self, block: &OutBlock, answer: &Answer, out: &mut Output) {
        self.begin(block.choice, answer, out);
        if block.kind.is_call() {
            self.open_call(block, out);
        }
    }

    fn grow(&mut self, block: &OutBlock, part: Part, text: &str, out: &mut Output) {
        match (part, block.kind) {
            (Part::Text, BlockKind::Thinking) => self.grow_field(block, part, "reasoning_content", text, out),
            (Part::Text, BlockKind::Refusal) => self.grow_field(block, part, "refusal", text, out),
            (Part::Text, _) => self.grow_field(block, part, "content", text, out),
            (Part::Arguments, _) => self.grow_arguments(block, text, out),
            (Part::Signature, _) => self.detail(block, "reasoning.text", "signature", text, out),
            (Part::Data, _) => self.detail(block, "reasoning.encrypted", "data", text, out),
            (Part::Raw, _) => self.raw(block, text, out),
            (Part::Name, _) => {}
        }
    }

    fn note(&mut self, block: &OutBlock, name: &str, json: &str, out: &mut Output) -> bool {
        match name {
            "annotations" => {
                let annotation = numbered(&compact(json), self.next(block.choice, |begun| &mut begun.annotations));
                self.delta(block.choice, out, |delta| delta.list("annotations", &[annotation]));
            }
            "logprobs" => self.chunk(block.choice, out, |said| {
                said.object("delta", |_| {});
                said.kept("logprobs", json);
                said.json("finish_reason", "null");
            }),
            "signature" if block.kind.is_call() => {
                self.detail(block, "reasoning.text", "signature", &unquoted(json), out);
            }
            "data" if block.kind.is_call() => {
                self.detail(block, "reasoning.encrypted", "data", &unquoted(json), out);
            }
            _ => return false,
        }
        true
    }

    fn close(&mut self, block: &OutBlock, closing: Closing, _: &Answer, out: &mut Output) -> Result<(), Failure> {
        let takes_json = block.kind.is_call() && block.kind != BlockKind::CustomCall;
        if takes_json && !self.has_arguments && closing == Closing::Whole {
            self.grow_arguments(block, "{}", out);
        }
        Ok(())
    }

    fn finish(&mut self, choice: u32, reason: &Reason, answer: &Answer, out: &mut Output) -> Result<(), Failure> {
        self.begin(choice, answer, out);
        let word = match reason.word.as_str() {
            "tool_calls" if !self.has_calls(choice) => "stop",
            "stop" if !answer.is_native() && self.has_calls(choice) => "tool_calls",
            word @ ("stop" | "length" | "tool_calls" | "content_filter") => word,
            "pause" | "compaction" => "stop",
            _ => return Err(Failure::unknown_reason()),
        };
        self.finished += 1;
        self.chunk(choice, out, |said| {
            said.object("delta", |_| {});
            said.text("finish_reason", word);
        });
        Ok(())
    }

    fn end(&mut self, answer: &Answer, out: &mut Output) -> Result<(), Failure> {
        if self.finished == 0 {
            return Err(Failure::unexplained());
        }
        if answer.usage != Usage::default() {
            let usage = usage_of(&answer.usage);
            out.line(&format!("data: {},\"choices\":[],\"usage\":{usage}}}", self.envelope));
        }
        out.line("data: [DONE]");
        Ok(())
    }

    fn fail(&mut self, failure: &Failure, _: &Answer, out: &mut Output) {
        out.event(None, |event| event.json("error", &error_of(failure)));
    }

    fn cut(&mut self, failure: &Failure, answer: &Answer, out: &mut Output) {
        self.begin(0, answer, out);
        let error = error_of(failure);
        self.chunk(0, out, |said| {
            said.object("delta", |_| {});
            said.text("finish_reason", "length");
            said.json("error_info", &error);
        });
        out.line("data: [DONE]");
    }

    fn ping(&mut self, out: &mut Output) {
        out.line(": ping");
    }
}

/// An object with its number in its list. What has one keeps it.
fn numbered(json: &str, index: usize) -> String {
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).unwrap_or_default();
    match json.strip_prefix('{').filter(|_| !members.contains_key("index")) {
        Some("}") => format!("{{\"index\":{index}}}"),
        Some(rest) => format!("{{\"index\":{index},{rest}"),
        None => json.to_owned(),
    }
}

/// The string that a JSON text is; empty if it is none.
fn unquoted(json: &str) -> String {
    serde_json::from_str(json).unwrap_or_default()
}

fn error_of(failure: &Failure) -> String {
    Object::text_of(|error| {
        error.text("message", &failure.message);
        error.text("type", failure.kind.name());
        error.json("param", "null");
        error.text("code", failure.kind.code());
    })
}

/// The counts in the format's convention: those that are known.
pub(crate) fn usage_of(usage: &Usage) -> String {
    let total = usage.input.zip(usage.output).map(|(input, output)| input.saturating_add(output));
    Object::text_of(|json| {
        json.number_if("prompt_tokens", usage.input);
        json.number_if("completion_tokens", usage.output);
        json.number_if("total_tokens", total);
        if usage.cache_read.is_some() || usage.cache_write.is_some() {
            json.object("prompt_tokens_details", |details| {
                details.number_if("cached_tokens", usage.cache_read);
                details.number_if("cache_write_tokens", usage.cache_write);
            });
        }
        if usage.reasoning.is_some() {
            json.object("completion_tokens_details", |details| {
                details.number_if("reasoning_tokens", usage.reasoning);
            });
        }
    })
}
