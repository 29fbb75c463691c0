//! Chat chunks to deltas.
//!
//! The order in which a chunk says its deltas is fixed here, so that a stream means the same whichever way it comes: envelope; for
//! each choice role, thinking, text, refusal, audio, images, tool calls, empty text, extras, finish; usage; error.

use std::borrow::Cow;

use super::body;
use super::reasoning::{self, Said, Sort};
use super::schema::{
    Arguments, Choice, Chunk, Content, ContentPart, Delta as ChoiceDelta, Failure, Function, Groq, ToolCall, given,
};
use super::usage;
use crate::delta::{CallDelta, CallSort, Delta, Field, Identity, Located, Origin};
use crate::error::Malformed;
use crate::sse::Frame;
use crate::wire::json::{Extras, Raw};
use crate::wire::room;
use crate::wire::template::Templates;
use crate::wire::{Decoded, TERMINATOR};

#[cfg(test)]
mod tests;

/// Reads the chunks of one stream, and remembers what each of them repeats.
#[derive(Debug, Default)]
pub struct Decoder {
    has_id: bool,
    has_model: bool,
    has_created: bool,
    /// The other fields of the last chunk's envelope. Chunks mostly repeat them, in the same order.
    notes: Vec<(String, String)>,
    templates: Templates<()>,
}

impl Decoder {
    /// Reads a server-sent event.
    pub fn decode_frame<'a>(&mut self, frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let has_data = !frame.data.is_empty() || frame.error.is_none();
        if frame.event == b"error" && has_data && frame.data != TERMINATOR {
            decode_error(frame.data, out)?;
        } else if has_data && !self.recognise(frame.data, out) {
            self.read(str::from_utf8(frame.data).map_err(|_| Malformed::InvalidUtf8)?, out)?;
        }
        frame.error.map_or(Ok(()), |error| decode_error(error, out))
    }

    /// Reads a chunk from JSON text.
    pub fn decode_json<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if self.recognise(text.as_bytes(), out) { Ok(()) } else { self.read(text, out) }
    }

    /// Takes the terminator, and a chunk that is told by one before.
    fn recognise<'a>(&mut self, data: &'a [u8], out: &mut Decoded<'a>) -> bool {
        let is_end = data == TERMINATOR;
        if is_end {
            Deltas::new(out).envelope(Delta::End);
        }
        is_end || self.templates.decode(data, out).is_some()
    }

    /// Reads a chunk in full.
    fn read<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let start = out.len();
        let read = self.chunk(serde_json::from_str(text)?, out);
        match &read {
            Ok(unheard) => self.templates.remember(text, out.get(start..).unwrap_or_default(), unheard, ()),
            Err(_) => self.templates.forget(),
        }
        read.map(drop).map_err(Malformed::from)
    }

    /// Gives back the strings of the chunk that change nothing.
    fn chunk<'a>(&mut self, mut chunk: Chunk<'a>, out: &mut Decoded<'a>) -> Result<Vec<&'a str>, serde_json::Error> {
        let mut deltas = Deltas::new(out);
        deltas.unheard.extend(chunk.noise);
        self.identify(&mut chunk, &mut deltas);
        for (at, (name, json)) in std::mem::take(&mut chunk.extras).into_iter().enumerate() {
            if self.is_new(at, &name, &json) {
                deltas.envelope(Delta::ResponseNote { name, json });
            }
        }
        deltas.chunk(chunk)?;
        Ok(deltas.unheard)
    }

    /// Whether each field that says which response this is has said so.
    pub fn is_identified(&self) -> bool {
        self.has_id && self.has_model && self.has_created
    }

    /// The fields that say which response this is, until each has said so once.
    fn identify<'a>(&mut self, chunk: &mut Chunk<'a>, deltas: &mut Deltas<'_, 'a>) {
        let texts = [("id", chunk.id.take(), &mut self.has_id), ("model", chunk.model.take(), &mut self.has_model)];
        for (name, value, is_known) in texts {
            if let Some(text) = given(value).filter(|_| !*is_known) {
                *is_known = true;
                deltas.envelope(Delta::Identity { name, value: Identity::Text(text) });
            }
        }
        if let Some(Raw(json)) = chunk.created.take().filter(|created| !self.has_created && !is_nothing(created.0)) {
            self.has_created = true;
            deltas.envelope(Delta::Identity { name: "created", value: Identity::Json(json.into()) });
        }
    }

    /// Whether a note differs from that of the last chunk. Only the place is compared, which keeps the cost of many names linear.
    fn is_new(&mut self, at: usize, name: &str, json: &str) -> bool {
        match self.notes.get_mut(at) {
            Some((known, value)) if known == name && value == json => false,
            Some(known) => {
                *known = (name.to_owned(), json.to_owned());
                true
            }
            None => {
                self.notes.push((name.to_owned(), json.to_owned()));
                true
            }
        }
    }
}

/// What providers send for `created` before they have a value.
fn is_nothing(json: &str) -> bool {
    matches!(json, "0" | "0.0" | "false" | "\"\"" | "[]" | "{}")
}

/// Reads an error that is not in a chunk: an object, perhaps under the name `error`, or words.
fn decode_error<'a>(error: &'a [u8], out: &mut Decoded<'a>) -> Result<(), Malformed> {
    let text = str::from_utf8(error).map_err(|_| Malformed::InvalidUtf8)?;
    let inner = serde_json::from_str::<Failure<'a>>(text).ok().and_then(|failure| failure.error);
    let json = inner.map_or_else(|| json_or_string(text), |error| Cow::Borrowed(error.0));
    Deltas::new(out).push(Field::Error, 0, Delta::Error(json));
    Ok(())
}

/// What an error says is JSON, or else words.
fn json_or_string(text: &str) -> Cow<'_, str> {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(serde_json::Value::from(text).to_string()),
    }
}

/// What an answer that was not streamed says that it is.
const BODY: &str = "\"chat.completion\"";

/// Collects the deltas of a chunk, and knows which choice it is in.
struct Deltas<'out, 'a> {
    out: &'out mut Decoded<'a>,
    choice: u32,
    position: usize,
    /// Strings that change nothing: what repeats, and noise.
    unheard: Vec<&'a str>,
}

impl<'out, 'a> Deltas<'out, 'a> {
    fn new(out: &'out mut Decoded<'a>) -> Self {
        Self { out, choice: 0, position: 0, unheard: Vec::new() }
    }

    fn located(&self, field: Field, element: usize, delta: Delta<'a>) -> Located<'a> {
        let origin = Origin::new(self.position, field, element);
        Located { choice: self.choice, origin, delta }
    }

    fn push(&mut self, field: Field, element: usize, delta: Delta<'a>) {
        let located = self.located(field, element, delta);
        self.out.push(located);
    }

    fn envelope(&mut self, delta: Delta<'a>) {
        self.push(Field::Envelope, 0, delta);
    }

    fn chunk(&mut self, chunk: Chunk<'a>) -> Result<(), serde_json::Error> {
        let is_body = chunk.object.is_some_and(|object| object.0 == BODY);
        let groq_usage = chunk.x_groq.as_ref().and_then(|groq| usage_of_groq(groq.0));
        if let Some(Raw(json)) = chunk.x_groq {
            self.envelope(Delta::ResponseNote { name: Cow::Borrowed("x_groq"), json: json.into() });
        }
        for (position, choice) in chunk.choices.unwrap_or_default().into_iter().enumerate() {
            self.position = position;
            self.choice = choice.index.unwrap_or_else(|| u32::try_from(position).unwrap_or(u32::MAX));
            self.choice(choice, is_body)?;
        }
        (self.position, self.choice) = (0, 0);
        if let Some(json) = chunk.usage.map(|usage| usage.0).or(groq_usage) {
            let counts = Box::new(usage::counts(json));
            self.push(Field::Usage, 0, Delta::Usage { counts, json: json.into() });
        }
        if let Some(Raw(json)) = chunk.error {
            self.push(Field::Error, 0, Delta::Error(json.into()));
        }
        Ok(())
    }

    fn choice(&mut self, mut choice: Choice<'a>, is_body: bool) -> Result<(), serde_json::Error> {
        self.push(Field::Envelope, 0, Delta::Announced);
        let has_delta = choice.delta.is_some();
        if let Some(delta) = choice.delta {
            self.delta(*delta);
        } else if let Some(Raw(json)) = choice.message.take_if(|_| is_body) {
            self.delta(body::delta_of(json)?);
        }
        if let Some(Raw(json)) = choice.logprobs {
            self.note(Cow::Borrowed("logprobs"), json.into(), false);
        }
        for (name, value) in [("message", choice.message), ("text", choice.text)] {
            // Beside a delta they repeat what it says.
            if let Some(Raw(json)) = value.filter(|_| !has_delta) {
                self.note(Cow::Borrowed(name), json.into(), true);
            }
        }
        self.notes(choice.extras);
        if let Some(word) = given(choice.finish_reason) {
            let reason = finish_reason(&word).map_or_else(|| word.clone(), Cow::Borrowed);
            self.push(Field::FinishReason, 0, Delta::Stop { reason, native: word });
        }
        Ok(())
    }

    fn delta(&mut self, mut delta: ChoiceDelta<'a>) {
        if let Some(role) = given(delta.role.take()) {
            self.push(Field::Role, 0, Delta::Identity { name: "role", value: Identity::Text(role) });
        }
        let strange = if delta.has_thinking() { self.thinking(&mut delta) } else { Vec::new() };
        let is_empty = matches!(&delta.content, Some(Content::Text(text)) if text.is_empty());
        match delta.content {
            Some(Content::Text(text)) if !is_empty => self.push(Field::Content, 0, Delta::Text(text)),
            Some(Content::Parts(parts)) => self.parts(parts),
            Some(Content::Text(_)) | None => {}
        }
        if let Some(text) = given(delta.refusal) {
            self.push(Field::Refusal, 0, Delta::Refusal(text));
        }
        if let Some(Raw(json)) = delta.audio {
            self.push(Field::Audio, 0, Delta::Raw { kind: Cow::Borrowed("audio"), json: json.into(), whole: false });
        }
        for (element, Raw(json)) in delta.images.into_iter().flatten().enumerate() {
            self.push(
                Field::Image,
                element,
                Delta::Raw { kind: Cow::Borrowed("image"), json: json.into(), whole: true },
            );
        }
        for (element, call) in delta.tool_calls.into_iter().flatten().enumerate() {
            self.push(Field::ToolCall, element, Delta::Call(Box::new(call_of(call))));
        }
        if let Some(function) = delta.function_call {
            self.push(Field::FunctionCall, 0, Delta::Call(Box::new(legacy_call_of(function))));
        }
        if is_empty {
            // Behind the tool calls: whether an empty text is an artefact of the tool phase is known only now.
            self.push(Field::Content, 0, Delta::Text(Cow::Borrowed("")));
        }
        self.out.extend(strange);
        for Raw(json) in delta.annotations.into_iter().flatten() {
            self.note(Cow::Borrowed("annotations"), json.into(), false);
        }
        self.notes(delta.extras);
    }

    fn notes(&mut self, extras: Extras<'a>) {
        for (name, json) in extras {
            self.note(name, json, true);
        }
    }

    fn note(&mut self, name: Cow<'a, str>, json: Cow<'a, str>, repeats: bool) {
        self.push(Field::Extra, 0, Delta::Note { name, json, repeats });
    }

    /// Gives back the details that mean nothing here.
    fn thinking(&mut self, delta: &mut ChoiceDelta<'a>) -> Decoded<'a> {
        let (said, strange) = reasoning::merged(delta);
        for Said { field, element, sort, text } in said {
            let delta = match sort {
                Sort::Text => Delta::Thinking(text),
                Sort::Signature => Delta::Signature(text),
                Sort::Data => Delta::ThinkingData(text),
                Sort::Repeated => {
                    if let Cow::Borrowed(text) = text {
                        self.unheard.push(text);
                    }
                    Delta::Repeated
                }
            };
            self.push(field, element, delta);
        }
        let note = |(element, json)| {
            let name = Cow::Borrowed("reasoning_details");
            self.located(Field::OtherDetail, element, Delta::Note { name, json: Cow::Owned(json), repeats: false })
        };
        strange.into_iter().map(note).collect()
    }

    /// Parts are rare, so they are copied out of the chunk.
    fn parts(&mut self, parts: Vec<Raw<'a>>) {
        for (element, Raw(json)) in parts.into_iter().enumerate() {
            let delta = match serde_json::from_str::<ContentPart<'_>>(json) {
                Ok(part) => delta_of_part(part),
                Err(_) => None,
            };
            let delta =
                delta.unwrap_or_else(|| Delta::Raw { kind: kind_of_part(json), json: json.into(), whole: true });
            self.push(Field::ContentPart, element, delta);
        }
    }
}

fn delta_of_part(part: ContentPart<'_>) -> Option<Delta<'static>> {
    let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
    match part.kind?.0.as_ref() {
        "text" => Some(Delta::Text(own(part.text?.0))),
        "refusal" => Some(Delta::Refusal(own(part.refusal?.0))),
        "thinking" => Some(Delta::Thinking(Cow::Owned(flat_text(part.thinking?)?))),
        _ => None,
    }
}

/// The text of a string, or of a list that holds nothing but text parts.
fn flat_text(content: Content<'_>) -> Option<String> {
    match content {
        Content::Text(text) => Some(text.into_owned()),
        Content::Parts(parts) => {
            let text = |part: &Raw<'_>| {
                let part = serde_json::from_str::<ContentPart<'_>>(part.0).ok()?;
                Some(part.text?.0.into_owned())
            };
            parts.iter().map(text).collect()
        }
    }
}

fn kind_of_part(json: &str) -> Cow<'static, str> {
    let part = room::part(json);
    let kind = part.get("type").and_then(serde_json::Value::as_str);
    kind.map_or(Cow::Borrowed("part"), |kind| Cow::Owned(kind.to_owned()))
}

fn usage_of_groq(json: &str) -> Option<&str> {
    serde_json::from_str::<Groq<'_>>(json).ok()?.usage.map(|usage| usage.0)
}

fn call_of(call: ToolCall<'_>) -> CallDelta<'_> {
    let id = given(call.id);
    if let Some(custom) = call.custom {
        return CallDelta {
            index: call.index,
            id,
            name: given(custom.name),
            arguments: custom.input.unwrap_or_default().0,
            sort: CallSort::Custom,
            arguments_were_json: false,
            notes: call.extras,
        };
    }
    let is_custom = call.kind.is_some_and(|kind| kind.0 == "custom");
    let sort = if is_custom { CallSort::Custom } else { CallSort::Function };
    let function = call.function.unwrap_or_default();
    CallDelta { index: call.index, id, notes: call.extras, ..function_of(function, sort) }
}

fn legacy_call_of(function: Function<'_>) -> CallDelta<'_> {
    function_of(function, CallSort::Legacy)
}

fn function_of(function: Function<'_>, sort: CallSort) -> CallDelta<'_> {
    let (arguments, arguments_were_json) = match function.arguments {
        Some(Arguments::Text(text)) => (text, false),
        Some(Arguments::Json(json)) => (Cow::Owned(json), true),
        None => (Cow::Borrowed(""), false),
    };
    let name = given(function.name);
    CallDelta { index: None, id: None, name, arguments, sort, arguments_were_json, notes: function.extras }
}

/// The word of the one vocabulary for a provider's own, in whatever case; none if there is none. What ended an answer with an error has none.
fn finish_reason(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "complete" => "stop",
        "length" | "max_tokens" | "max_output_tokens" | "model_length" | "model_context_window_exceeded" => "length",
        "tool_calls" | "tool_call" | "tool_use" | "function_call" => "tool_calls",
        "content_filter" | "content_filtered" | "guardrail_intervened" | "refusal" | "safety" | "sensitive" => {
            "content_filter"
        }
        _ => return None,
    })
}
