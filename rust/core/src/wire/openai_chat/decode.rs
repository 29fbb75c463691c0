//! Chat chunks to deltas.
//!
//! The order in which a chunk says its deltas is fixed here, so that a stream means the same whichever way it comes: envelope; for
//! each choice role, thinking, text, refusal, audio, images, tool calls, empty text, extras, finish; usage; error.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

use super::schema::{
    Arguments, Choice, Chunk, Content, ContentPart, Delta as ChoiceDelta, Function, Groq, ReasoningDetail,
    ThinkingBlock, ToolCall,
};
use crate::delta::{CallDelta, CallSort, Delta, Field, Identity, Located, Origin};
use crate::error::Malformed;
use crate::sse::Frame;
use crate::wire::json::{Extras, Raw, Str};

/// The data of the last event.
pub const TERMINATOR: &[u8] = b"[DONE]";

/// The deltas of one chunk.
pub type Decoded<'a> = Vec<Located<'a>>;

/// Reads a server-sent event.
pub fn decode_frame<'a>(frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
    let mut deltas = Deltas::new(out);
    if let Some(error) = frame.error {
        let text = str::from_utf8(error).map_err(|_| Malformed::InvalidUtf8)?;
        deltas.envelope(Delta::Error(json_or_string(text)));
    } else if frame.data == TERMINATOR {
        deltas.envelope(Delta::End);
    } else if frame.event == b"error" {
        let text = str::from_utf8(frame.data).map_err(|_| Malformed::InvalidUtf8)?;
        let inner = serde_json::from_str::<Chunk<'a>>(text).ok().and_then(|chunk| chunk.error);
        deltas.envelope(Delta::Error(inner.map_or_else(|| json_or_string(text), |error| error.0)));
    } else {
        let text = str::from_utf8(frame.data).map_err(|_| Malformed::InvalidUtf8)?;
        decode_json(text, out)?;
    }
    Ok(())
}

/// Reads a chunk from JSON text.
pub fn decode_json<'a>(text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
    Deltas::new(out).chunk(serde_json::from_str(text)?);
    Ok(())
}

/// Reads a chunk from anything that serde can read, such as a Python object.
pub fn decode_value<'a, D: Deserializer<'a>>(value: D, out: &mut Decoded<'a>) -> Result<(), D::Error> {
    Deltas::new(out).chunk(Chunk::deserialize(value)?);
    Ok(())
}

/// What an error says is JSON, or else words.
fn json_or_string(text: &str) -> Cow<'_, str> {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(serde_json::Value::from(text).to_string()),
    }
}

/// The text of a field, unless it is empty, which says as little as an absent one.
fn given(field: Option<Str<'_>>) -> Option<Cow<'_, str>> {
    field.map(|text| text.0).filter(|text| !text.is_empty())
}

/// Collects the deltas of a chunk, and knows which choice it is in.
struct Deltas<'out, 'a> {
    out: &'out mut Decoded<'a>,
    choice: u32,
    position: usize,
}

impl<'out, 'a> Deltas<'out, 'a> {
    fn new(out: &'out mut Decoded<'a>) -> Self {
        Self { out, choice: 0, position: 0 }
    }

    fn push(&mut self, field: Field, element: usize, delta: Delta<'a>) {
        let origin = Origin { choice: self.position, field, element };
        self.out.push(Located { choice: self.choice, origin, delta });
    }

    fn envelope(&mut self, delta: Delta<'a>) {
        self.push(Field::Envelope, 0, delta);
    }

    fn chunk(&mut self, chunk: Chunk<'a>) {
        for (name, value) in [("id", chunk.id), ("model", chunk.model)] {
            if let Some(Str(text)) = value {
                self.envelope(Delta::Identity { name, value: Identity::Text(text) });
            }
        }
        if let Some(Raw(json)) = chunk.created {
            self.envelope(Delta::Identity { name: "created", value: Identity::Json(json) });
        }
        let groq_usage = chunk.x_groq.as_ref().and_then(|groq| usage_of_groq(&groq.0));
        let x_groq = chunk.x_groq.map(|groq| (Cow::Borrowed("x_groq"), groq.0));
        for (name, json) in chunk.extras.into_iter().chain(x_groq) {
            self.envelope(Delta::ResponseNote { name, json });
        }
        for (position, choice) in chunk.choices.unwrap_or_default().into_iter().enumerate() {
            self.position = position;
            self.choice = choice.index.unwrap_or_else(|| u32::try_from(position).unwrap_or(u32::MAX));
            self.choice(choice);
        }
        (self.position, self.choice) = (0, 0);
        if let Some(json) = chunk.usage.map(|usage| usage.0).or(groq_usage) {
            self.push(Field::Usage, 0, Delta::Usage(json));
        }
        if let Some(Raw(json)) = chunk.error {
            self.envelope(Delta::Error(json));
        }
    }

    fn choice(&mut self, choice: Choice<'a>) {
        self.push(Field::Envelope, 0, Delta::Announced);
        if let Some(delta) = choice.delta {
            self.delta(delta);
        }
        if let Some(Raw(json)) = choice.logprobs {
            self.note(Cow::Borrowed("logprobs"), json, false);
        }
        self.notes(choice.extras);
        if let Some(word) = given(choice.finish_reason) {
            self.push(Field::FinishReason, 0, Delta::Stop(word));
        }
    }

    fn delta(&mut self, delta: ChoiceDelta<'a>) {
        if let Some(Str(role)) = delta.role {
            self.push(Field::Role, 0, Delta::Identity { name: "role", value: Identity::Text(role) });
        }
        self.thinking(delta.thinking_blocks, delta.reasoning_details, delta.reasoning_content, delta.reasoning);
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
            self.push(Field::Audio, 0, Delta::Raw { kind: Cow::Borrowed("audio"), json, whole: false });
        }
        for (element, Raw(json)) in delta.images.into_iter().flatten().enumerate() {
            self.push(Field::Image, element, Delta::Raw { kind: Cow::Borrowed("image"), json, whole: true });
        }
        for (element, call) in delta.tool_calls.into_iter().flatten().enumerate() {
            self.push(Field::ToolCall, element, Delta::Call(call_of(call)));
        }
        if let Some(function) = delta.function_call {
            self.push(Field::FunctionCall, 0, Delta::Call(legacy_call_of(function)));
        }
        if is_empty {
            // Behind the tool calls: whether an empty text is an artefact of the tool phase is known only now.
            self.push(Field::Content, 0, Delta::Text(Cow::Borrowed("")));
        }
        for Raw(json) in delta.annotations.into_iter().flatten() {
            self.note(Cow::Borrowed("annotations"), json, false);
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

    /// Providers send the same reasoning in several fields: the first that has text is taken.
    fn thinking(
        &mut self,
        blocks: Option<Vec<ThinkingBlock<'a>>>,
        details: Option<Vec<ReasoningDetail<'a>>>,
        content: Option<Str<'a>>,
        reasoning: Option<Str<'a>>,
    ) {
        let before = self.out.len();
        let mut has_text = self.thinking_blocks(blocks.unwrap_or_default());
        has_text |= self.reasoning_details(details.unwrap_or_default(), has_text);
        if has_text {
            return;
        }
        let fields = [(Field::ReasoningContent, content), (Field::Reasoning, reasoning)];
        let plain = fields.into_iter().find_map(|(field, text)| Some((field, given(text)?)));
        if let Some((field, text)) = plain {
            self.push(field, 0, Delta::Thinking(text));
            // The text is what signatures and data beside it are about, so it comes before them.
            self.out.get_mut(before..).unwrap_or_default().rotate_right(1);
        }
    }

    fn thinking_blocks(&mut self, blocks: Vec<ThinkingBlock<'a>>) -> bool {
        let mut has_text = false;
        for (element, block) in blocks.into_iter().enumerate() {
            let text = given(block.thinking);
            has_text |= text.is_some();
            let said = [
                text.map(Delta::Thinking),
                given(block.signature).map(Delta::Signature),
                given(block.data).map(Delta::ThinkingData),
            ];
            for delta in said.into_iter().flatten() {
                self.push(Field::ThinkingBlock, element, delta);
            }
        }
        has_text
    }

    fn reasoning_details(&mut self, details: Vec<ReasoningDetail<'a>>, is_taken: bool) -> bool {
        let mut has_text = false;
        for (element, detail) in details.into_iter().enumerate() {
            let kind = detail.kind.as_ref().map_or("", |kind| kind.0.as_ref());
            let text = match kind {
                "reasoning.text" => given(detail.text),
                "reasoning.summary" => given(detail.summary),
                "reasoning.encrypted" => None,
                _ => {
                    let (name, json) = (Cow::Borrowed("reasoning_details"), Cow::Owned(detail.to_json()));
                    self.push(Field::ReasoningDetail, element, Delta::Note { name, json, repeats: false });
                    continue;
                }
            };
            let text = text.filter(|_| !is_taken);
            has_text |= text.is_some();
            let said = [
                text.map(Delta::Thinking),
                given(detail.signature).map(Delta::Signature),
                given(detail.data).map(Delta::ThinkingData),
            ];
            for delta in said.into_iter().flatten() {
                self.push(Field::ReasoningDetail, element, delta);
            }
        }
        has_text
    }

    /// Parts are rare, so they are copied out of the chunk.
    fn parts(&mut self, parts: Vec<Raw<'a>>) {
        for (element, Raw(json)) in parts.into_iter().enumerate() {
            let delta = match serde_json::from_str::<ContentPart<'_>>(&json) {
                Ok(part) => delta_of_part(part),
                Err(_) => None,
            };
            let delta = delta.unwrap_or_else(|| Delta::Raw { kind: kind_of_part(&json), json, whole: true });
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
                let part = serde_json::from_str::<ContentPart<'_>>(&part.0).ok()?;
                Some(part.text?.0.into_owned())
            };
            parts.iter().map(text).collect()
        }
    }
}

fn kind_of_part(json: &str) -> Cow<'static, str> {
    let part = serde_json::from_str::<serde_json::Value>(json).unwrap_or_default();
    let kind = part.get("type").and_then(serde_json::Value::as_str);
    kind.map_or(Cow::Borrowed("part"), |kind| Cow::Owned(kind.to_owned()))
}

fn usage_of_groq<'a>(json: &str) -> Option<Cow<'a, str>> {
    let usage = serde_json::from_str::<Groq<'_>>(json).ok()?.usage?;
    Some(Cow::Owned(usage.0.into_owned()))
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

impl ReasoningDetail<'_> {
    /// The detail as JSON again, for types that have no meaning here.
    fn to_json(&self) -> String {
        let named = [
            ("type", &self.kind),
            ("text", &self.text),
            ("summary", &self.summary),
            ("signature", &self.signature),
            ("data", &self.data),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), serde_json::Value::from(text.as_ref()?.0.as_ref()))));
        let extras = self
            .extras
            .iter()
            .map(|(name, json)| (name.clone().into_owned(), serde_json::from_str(json).unwrap_or_default()));
        serde_json::Value::Object(named.chain(extras).collect()).to_string()
    }
}
