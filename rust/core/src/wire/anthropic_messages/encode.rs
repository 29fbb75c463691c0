//! Blocks to Messages events.
//!
//! The last `message_delta` waits for the end of the stream, because it has the usage, which others send behind their finish.

use super::usage::{fresh_input, write_cached, write_input};
use crate::event::{BlockKind, Part};
use crate::failure::{Failure, FailureKind};
use crate::usage::Usage;
use crate::wire::encode::{Answer, Closing, Encode, OutBlock, Reason, Way, is_nothing, loss_of_raw};
use crate::wire::output::{Object, Output, compact, push_escaped, push_number};
use crate::wire::strict;

/// Writes Messages events.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "four things that have been seen or not, each by itself")]
pub struct Encoder {
    has_begun: bool,
    /// The counts that the beginning gave: what does not change is not said again.
    begun: Usage,
    /// The number of the open block, or of the next one.
    index: usize,
    /// Whether the client is called.
    has_calls: bool,
    /// What is written when the open block ends: its signature must be the last, and sealed reasoning is a block of its own.
    signature: String,
    data: String,
    /// Whether the input of a custom tool was begun.
    has_input: bool,
    /// The arguments of the open call: the format's clients parse them when the block stops.
    input: String,
    reason: Option<Reason>,
    has_refusal: bool,
}

/// What stands behind the text of a delta.
const TAIL: &str = "\"}}\n\n";

/// Fields of a block that only this format has, and that its beginning says.
const HEAD_NOTES: [&str; 3] = ["caller", "server_name", "is_error"];

fn event(out: &mut Output, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
    out.event(Some(name), |json| {
        json.text("type", name);
        fill(json);
    });
}

impl Encoder {
    fn start(&self, out: &mut Output, fill: impl FnOnce(&mut Object<'_>)) {
        event(out, "content_block_start", |json| {
            json.number("index", self.index as u64);
            json.object("content_block", fill);
        });
    }

    fn stop(&mut self, out: &mut Output) {
        event(out, "content_block_stop", |json| json.number("index", self.index as u64));
        self.index += 1;
    }

    fn delta(&self, block: &OutBlock, part: Part, kind: &str, field: &str, text: &str, out: &mut Output) {
        out.grow((block.number, part), text, TAIL, Some("content_block_delta"), |json| {
            json.push_str("{\"type\":\"content_block_delta\",\"index\":");
            push_number(json, self.index as u64);
            json.push_str(",\"delta\":{\"type\":\"");
            json.push_str(kind);
            json.push_str("\",\"");
            json.push_str(field);
            json.push_str("\":\"");
        });
    }

    fn arguments(&mut self, block: &OutBlock, text: &str, out: &mut Output) {
        if block.kind != BlockKind::CustomCall {
            self.input.push_str(text);
            return self.delta(block, Part::Arguments, "input_json_delta", "partial_json", text, out);
        }
        // The format's tools take an object: free text is its one member.
        let mut escaped = String::new();
        if !std::mem::replace(&mut self.has_input, true) {
            escaped.push_str("{\"input\":\"");
        }
        push_escaped(&mut escaped, text);
        self.delta(block, Part::Arguments, "input_json_delta", "partial_json", &escaped, out);
    }

    fn open_call(&mut self, block: &OutBlock, is_native: bool, out: &mut Output) {
        let kind = match block.kind {
            BlockKind::ServerCall if block.note("server_name").is_some() => "mcp_tool_use",
            BlockKind::ServerCall => "server_tool_use",
            BlockKind::FunctionCall
            | BlockKind::CustomCall
            | BlockKind::BuiltinCall
            | BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::ToolResult
            | BlockKind::Refusal
            | BlockKind::Unknown => "tool_use",
        };
        self.has_calls |= kind == "tool_use";
        self.has_input = false;
        self.start(out, |start| {
            start.text("type", kind);
            start.text("id", &block.id);
            start.text("name", &block.name);
            start.json("input", "{}");
            head_notes(block, is_native, start);
        });
    }

    fn sealed(&mut self, data: &str, out: &mut Output) {
        self.start(out, |start| {
            start.text("type", "redacted_thinking");
            start.text("data", data);
        });
        self.stop(out);
    }

    /// A block that is kept raw: its beginning, then its deltas.
    fn raw(&mut self, block: &OutBlock, out: &mut Output) {
        let mut values = block.raw.iter().map(|json| compact(json));
        let begun = values.next().unwrap_or_else(|| "{}".to_owned());
        event(out, "content_block_start", |json| {
            json.number("index", self.index as u64);
            json.json("content_block", &begun);
        });
        for delta in values {
            event(out, "content_block_delta", |json| {
                json.number("index", self.index as u64);
                json.json("delta", &delta);
            });
        }
        self.stop(out);
    }

    fn result(&mut self, block: &OutBlock, out: &mut Output) {
        self.start(out, |start| {
            start.text("type", &block.name);
            start.text("tool_use_id", &block.call_id);
            start.kept("content", block.raw.first().map_or("null", String::as_str));
            head_notes(block, true, start);
        });
        self.stop(out);
    }

    fn close_call(&mut self, block: &OutBlock, closing: Closing, out: &mut Output) -> Result<(), Failure> {
        if let Some(failure) = self.refuses(block, closing) {
            return Err(failure);
        }
        if block.kind == BlockKind::CustomCall {
            let rest = if self.has_input { "\"}" } else { "{\"input\":\"\"}" };
            self.delta(block, Part::Arguments, "input_json_delta", "partial_json", rest, out);
        }
        self.input.clear();
        self.stop(out);
        Ok(())
    }

    fn message_delta(&self, reason: &str, error: Option<&Failure>, answer: &Answer, out: &mut Output) {
        event(out, "message_delta", |json| {
            json.object("delta", |delta| {
                delta.text("stop_reason", reason);
                let sequence = answer.note("stop_sequence").filter(|_| reason == "stop_sequence");
                delta.kept("stop_sequence", sequence.unwrap_or("null"));
                for name in ["stop_details", "container"] {
                    if let Some(value) = answer.note(name) {
                        delta.kept(name, value);
                    }
                }
            });
            json.object("usage", |usage| {
                write_input(&self.begun, &answer.usage, usage);
                usage.number("output_tokens", answer.usage.output.unwrap_or(0));
                if let Some(reasoning) = answer.usage.reasoning {
                    usage.object("output_tokens_details", |details| details.number("thinking_tokens", reasoning));
                }
            });
            if let Some(failure) = error {
                json.json("error", &error_of(failure));
            }
        });
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
            BlockKind::ServerCall if is_native => Way::Live,
            BlockKind::ToolResult | BlockKind::Unknown if is_native => Way::Whole,
            BlockKind::BuiltinCall => Way::Never("builtin_call"),
            BlockKind::ServerCall => Way::Never("server_call"),
            BlockKind::ToolResult => Way::Never("tool_result"),
            BlockKind::Unknown => Way::Never(loss_of_raw(name)),
        }
    }

    fn changes(&self, kind: BlockKind) -> Option<&'static str> {
        match kind {
            BlockKind::Refusal => Some("refusal_as_text"),
            BlockKind::CustomCall => Some("custom_as_function"),
            BlockKind::Text
            | BlockKind::Thinking
            | BlockKind::FunctionCall
            | BlockKind::BuiltinCall
            | BlockKind::ServerCall
            | BlockKind::ToolResult
            | BlockKind::Unknown => None,
        }
    }

    fn begin(&mut self, _: u32, answer: &Answer, out: &mut Output) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        self.begun = answer.usage;
        event(out, "message_start", |json| {
            json.object("message", |message| {
                message.text("id", &answer.written_id("msg_"));
                message.text("type", "message");
                message.text("role", "assistant");
                message.text("model", &answer.model);
                message.json("content", "[]");
                message.json("stop_reason", "null");
                message.json("stop_sequence", "null");
                message.object("usage", |usage| {
                    let fresh = fresh_input(&answer.usage).unwrap_or(0);
                    usage.number("input_tokens", fresh);
                    write_cached(&answer.usage, usage);
                    usage.number("output_tokens", answer.usage.output.unwrap_or(0));
                });
            });
        });
    }

    fn open(&mut self, block: &OutBlock, answer: &Answer, out: &mut Output) {
        self.begin(0, answer, out);
        match block.kind {
            BlockKind::Text | BlockKind::Refusal => {
                self.has_refusal |= block.kind == BlockKind::Refusal;
                self.start(out, |start| {
                    start.text("type", "text");
                    start.text("text", "");
                });
            }
            BlockKind::Thinking if block.is_sealed() => {}
            BlockKind::Thinking => self.start(out, |start| {
                start.text("type", "thinking");
                start.text("thinking", "");
                start.text("signature", "");
            }),
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                self.open_call(block, answer.is_native(), out);
            }
            BlockKind::ToolResult | BlockKind::Unknown => {}
        }
    }

    fn grow(&mut self, block: &OutBlock, part: Part, text: &str, out: &mut Output) {
        match part {
            Part::Text if block.kind == BlockKind::Thinking => {
                self.delta(block, part, "thinking_delta", "thinking", text, out);
            }
            Part::Text if matches!(block.kind, BlockKind::Text | BlockKind::Refusal) => {
                self.delta(block, part, "text_delta", "text", text, out);
            }
            Part::Arguments => self.arguments(block, text, out),
            Part::Signature => self.signature.push_str(text),
            Part::Data => self.data.push_str(text),
            Part::Text | Part::Name | Part::Raw => {}
        }
    }

    fn note(&mut self, block: &OutBlock, name: &str, json: &str, out: &mut Output) -> bool {
        if name != "citations" || block.kind != BlockKind::Text {
            return HEAD_NOTES.contains(&name);
        }
        let citation = compact(json);
        event(out, "content_block_delta", |json| {
            json.number("index", self.index as u64);
            json.object("delta", |delta| {
                delta.text("type", "citations_delta");
                delta.json("citation", &citation);
            });
        });
        true
    }

    fn refuses(&self, block: &OutBlock, closing: Closing) -> Option<Failure> {
        if !block.kind.is_call() || block.kind == BlockKind::CustomCall {
            return None;
        }
        let arguments = if self.input.is_empty() { &block.text } else { &self.input };
        let message = match closing {
            Closing::Whole if is_nothing(arguments) => None,
            Closing::Whole => strict::fault(arguments),
            Closing::Partial | Closing::Cut => {
                Some("the model ended inside a tool call, or called a tool with something that is not a JSON object")
            }
        };
        message.map(|message| Failure::new(FailureKind::Api, message))
    }

    fn close(&mut self, block: &OutBlock, closing: Closing, _: &Answer, out: &mut Output) -> Result<(), Failure> {
        match block.kind {
            BlockKind::FunctionCall | BlockKind::CustomCall | BlockKind::BuiltinCall | BlockKind::ServerCall => {
                self.close_call(block, closing, out)?;
            }
            BlockKind::ToolResult => self.result(block, out),
            BlockKind::Unknown => self.raw(block, out),
            BlockKind::Thinking if block.is_sealed() => {}
            BlockKind::Text | BlockKind::Refusal | BlockKind::Thinking => {
                let signature = std::mem::take(&mut self.signature);
                if !signature.is_empty() {
                    self.delta(block, Part::Signature, "signature_delta", "signature", &signature, out);
                }
                self.stop(out);
            }
        }
        let data = std::mem::take(&mut self.data);
        if !data.is_empty() {
            self.sealed(&data, out);
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
        let word = self.stop_reason(&reason, answer).ok_or_else(Failure::unknown_reason)?;
        self.message_delta(word, None, answer, out);
        event(out, "message_stop", |_| {});
        Ok(())
    }

    fn fail(&mut self, failure: &Failure, _: &Answer, out: &mut Output) {
        event(out, "error", |json| json.json("error", &error_of(failure)));
    }

    fn cut(&mut self, failure: &Failure, answer: &Answer, out: &mut Output) {
        self.begin(0, answer, out);
        self.message_delta("max_tokens", Some(failure), answer, out);
        event(out, "message_stop", |_| {});
    }

    fn ping(&mut self, out: &mut Output) {
        event(out, "ping", |_| {});
    }
}

impl Encoder {
    /// The format's word. Whether a tool is called is told by what was written, not by what the source says.
    fn stop_reason(&self, reason: &Reason, answer: &Answer) -> Option<&'static str> {
        let is_native = answer.is_native();
        Some(match reason.word.as_str() {
            "stop" | "tool_calls" if self.has_calls => "tool_use",
            "stop" | "tool_calls" if self.has_refusal => "refusal",
            "stop" if is_native && reason.native == "stop_sequence" => "stop_sequence",
            "stop" | "tool_calls" => "end_turn",
            "length" if is_native && reason.native == "model_context_window_exceeded" => {
                "model_context_window_exceeded"
            }
            "length" => "max_tokens",
            "content_filter" => "refusal",
            "pause" => "pause_turn",
            "compaction" if is_native => "compaction",
            _ => return None,
        })
    }
}

fn head_notes(block: &OutBlock, is_native: bool, start: &mut Object<'_>) {
    for name in HEAD_NOTES.into_iter().filter(|_| is_native) {
        if let Some(value) = block.note(name) {
            start.kept(name, value);
        }
    }
}

fn error_of(failure: &Failure) -> String {
    Object::text_of(|error| {
        error.text("type", failure.kind.name());
        error.text("message", &failure.message);
    })
}
