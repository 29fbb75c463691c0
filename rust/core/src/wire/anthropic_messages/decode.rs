//! Events to deltas.
//!
//! Rules. (1) An event's type says what it is; its name in the stream only where it has no type. (2) What the vendor's SDK derives from
//! events beside them (`text`, `input_json` …, snapshots) says nothing new. (3) Nothing that is not known is lost: a field goes to its
//! block or to the response, an event to the response.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use super::body::{self, Started};
use super::deltas;
use super::schema::{Event, Message};
use super::usage::Cumulative;
use crate::delta::{Delta, Field, Located, Origin};
use crate::error::Malformed;
use crate::event::{Part, Quirk};
use crate::sse::Frame;
use crate::wire::json::{Extras, Raw, RawObject, Str};
use crate::wire::template::Templates;
use crate::wire::{Decoded, TERMINATOR};

/// Reads the events of one stream.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The blocks that have started, by their number.
    blocks: BTreeMap<u64, Started>,
    /// The ids of the calls.
    ids: HashSet<String>,
    usage: Cumulative,
    has_started: bool,
    is_finished: bool,
    /// The last deltas of the block that grows.
    templates: Templates,
}

/// Where deltas go, and what says them.
pub(super) struct Output<'out, 'a> {
    out: &'out mut Decoded<'a>,
    origin: Origin,
}

impl<'out, 'a> Output<'out, 'a> {
    pub(super) fn new(out: &'out mut Decoded<'a>, origin: Origin) -> Self {
        Self { out, origin }
    }

    fn of_event(out: &'out mut Decoded<'a>) -> Self {
        Self::new(out, Origin::of_event())
    }

    fn of_field(out: &'out mut Decoded<'a>, field: Field) -> Self {
        Self::new(out, Origin { choice: 0, field, element: 0 })
    }

    pub(super) fn push(&mut self, delta: Delta<'a>) {
        self.out.push(Located { choice: 0, origin: self.origin, delta });
    }

    pub(super) fn grow(&mut self, slot: u64, part: Part, text: Cow<'a, str>) {
        self.push(Delta::Grow { slot, part, text });
    }

    /// Fields that go to the extras of a block.
    pub(super) fn notes(&mut self, slot: u64, extras: Extras<'a>) {
        for (name, json) in extras {
            self.push(Delta::NoteOn { slot, name, json });
        }
    }

    /// Fields that go to the extras of the response.
    fn response_notes(&mut self, extras: Extras<'a>) {
        for (name, json) in extras {
            self.push(Delta::ResponseNote { name, json });
        }
    }
}

impl Decoder {
    /// Reads a server-sent event.
    pub fn decode_frame<'a>(&mut self, frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if !frame.data.is_empty() || frame.error.is_none() {
            self.decode_named(frame.event, utf8(frame.data)?, out)?;
        }
        if let Some(error) = frame.error {
            Output::of_event(out).push(Delta::Error(json_or_words(utf8(error)?)));
        }
        Ok(())
    }

    fn decode_named<'a>(&mut self, name: &'a [u8], text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if text.as_bytes() == TERMINATOR {
            return Ok(());
        }
        // Under another name it would be counted as a mismatch.
        let is_delta = name.is_empty() || name == b"content_block_delta";
        if is_delta && self.templates.decode(text, out) {
            return Ok(());
        }
        let mut event: Event<'a> = match serde_json::from_str(text) {
            Err(_) if name == b"error" => {
                Output::of_event(out).push(Delta::Error(json_or_words(text)));
                return Ok(());
            }
            read => read?,
        };
        let (is_typed, start) = (event.kind.is_some(), out.len());
        match &event.kind {
            Some(kind) if !name.is_empty() && kind.0.as_bytes() != name => {
                Output::of_event(out).push(Delta::Quirk(Quirk::EventTypeMismatch));
            }
            Some(_) => {}
            None => event.kind = str::from_utf8(name).ok().map(|name| Str(Cow::Borrowed(name))),
        }
        self.event(event, Some(text), out)?;
        match out.get(start..) {
            // It needs its own type to mean the same under no name.
            Some(deltas @ [Located { delta: Delta::Grow { .. }, .. }]) if is_delta && is_typed => {
                self.templates.remember(text, deltas, &[]);
            }
            // Any other event may change what a delta means.
            Some(_) | None => self.templates.forget(),
        }
        Ok(())
    }

    /// Reads an event, or a whole body, from JSON text.
    pub fn decode_json<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        self.decode_named(b"", text, out)
    }

    fn event<'a>(&mut self, event: Event<'a>, source: Option<&'a str>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        match event.kind.as_ref().map_or("", |kind| kind.0.as_ref()) {
            "content_block_delta" => self.block_delta(event, out)?,
            "content_block_start" => self.block_start(event, out)?,
            "content_block_stop" => block_stop(event, out)?,
            "message_start" => self.message_start(event, out)?,
            "message_delta" => self.message_delta(event, out),
            "message_stop" => message_stop(event, out),
            "ping" | "text" | "thinking" | "signature" | "citation" | "input_json" | "compaction" => {}
            "message" => body::read(json_of(&event, source), out, |json, out| self.body(json, out))?,
            "error" => error(event, source, out),
            "" if event.error.is_some() => error(event, source, out),
            _ => unknown(event, source, out)?,
        }
        Ok(())
    }

    fn block_delta<'a>(&mut self, event: Event<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let (Some(slot), Some(delta)) = (event.index, event.delta) else { return Err(missing("index or delta")) };
        let mut out = Output::of_event(out);
        let block = self.blocks.get_mut(&slot);
        if block.as_ref().is_some_and(|block| block.is_shadowed) {
            out.push(Delta::Refused(Quirk::SlotReused));
            return Ok(());
        }
        deltas::say(slot, block, delta, &mut out);
        out.notes(slot, event.extras);
        Ok(())
    }

    fn block_start<'a>(&mut self, event: Event<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let (Some(slot), Some(RawObject(json))) = (event.index, event.content_block) else {
            return Err(missing("index or content_block"));
        };
        if let Some(block) = self.blocks.get_mut(&slot) {
            block.is_shadowed = true;
            Output::of_event(out).push(Delta::Refused(Quirk::SlotReused));
            return Ok(());
        }
        let before = out.len();
        let started = body::read(json, out, |json, out| body::block(slot, json, &mut Output::of_event(out)))?;
        if self.is_finished {
            // Nothing starts any more: its opening is refused, and the rest with it.
            out.truncate(before + 1);
            return Ok(());
        }
        let mut out = Output::of_event(out);
        out.notes(slot, event.extras);
        self.remember(slot, started, &mut out);
        Ok(())
    }

    fn remember(&mut self, slot: u64, started: Started, out: &mut Output<'_, '_>) {
        if slot != self.blocks.len() as u64 {
            out.push(Delta::Quirk(Quirk::SlotSkipped));
        }
        if let Some(id) = &started.id
            && !self.ids.insert(id.clone())
        {
            out.push(Delta::Quirk(Quirk::IdReused));
        }
        self.blocks.insert(slot, started);
    }

    fn message_start<'a>(&mut self, event: Event<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let Some(Raw(json)) = event.message else { return Err(missing("message")) };
        if std::mem::replace(&mut self.has_started, true) {
            Output::of_event(out).push(Delta::Refused(Quirk::RepeatedStart));
            return Ok(());
        }
        if !self.blocks.is_empty() {
            // What came before the start may have been said of another message.
            Output::of_event(out).push(Delta::Quirk(Quirk::MisplacedDelta));
        }
        body::read(json, out, |json, out| self.started_message(json, out))?;
        Output::of_event(out).response_notes(event.extras);
        Ok(())
    }

    fn started_message<'a>(&mut self, json: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let mut message: Message<'a> = serde_json::from_str(json)?;
        body::envelope(&mut message, &mut Output::of_event(out));
        // A message starts empty and unfinished. Whoever sends more is heard, and counted.
        let content = message.content.unwrap_or_default();
        if !content.is_empty() {
            Output::of_event(out).push(Delta::Quirk(Quirk::MisplacedDelta));
            body::content(content, Field::Event, out)?;
        }
        if let Some(reason) = message.stop_reason.filter(|reason| !reason.0.is_empty()) {
            let mut out = Output::of_event(out);
            out.push(Delta::Quirk(Quirk::MisplacedDelta));
            let json = Cow::Owned(serde_json::Value::from(reason.0.as_ref()).to_string());
            out.push(Delta::ResponseNote { name: Cow::Borrowed("stop_reason"), json });
        }
        self.usage(message.usage, &mut Output::of_event(out));
        Ok(())
    }

    fn message_delta<'a>(&mut self, event: Event<'a>, out: &mut Decoded<'a>) {
        let mut out = Output::of_event(out);
        let delta = event.delta.unwrap_or_default();
        out.response_notes(delta.extras);
        out.response_notes(event.extras);
        self.usage(event.usage, &mut out);
        self.stop(delta.stop_reason, &mut out);
    }

    /// A whole message, as an unstreamed answer is one.
    fn body<'a>(&mut self, json: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let mut message: Message<'a> = serde_json::from_str(json)?;
        body::envelope(&mut message, &mut Output::of_field(out, Field::Envelope));
        body::content(message.content.unwrap_or_default(), Field::MessageContent, out)?;
        self.usage(message.usage, &mut Output::of_field(out, Field::Usage));
        self.stop(message.stop_reason, &mut Output::of_field(out, Field::FinishReason));
        Output::of_field(out, Field::Envelope).push(Delta::End);
        Ok(())
    }

    fn usage(&mut self, usage: Option<RawObject<'_>>, out: &mut Output<'_, '_>) {
        if let Some(RawObject(json)) = usage {
            let (counts, json) = self.usage.add(&json);
            out.push(Delta::Usage { counts, json: Cow::Owned(json) });
        }
    }

    fn stop<'a>(&mut self, reason: Option<Str<'a>>, out: &mut Output<'_, 'a>) {
        if let Some(Str(native)) = reason.filter(|reason| !reason.0.is_empty()) {
            self.is_finished = true;
            let reason = finish_reason(&native).map_or_else(|| native.clone(), Cow::Borrowed);
            out.push(Delta::Stop { reason, native });
        }
    }
}

fn block_stop<'a>(event: Event<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
    let slot = event.index.ok_or_else(|| missing("index"))?;
    let mut out = Output::of_event(out);
    out.notes(slot, event.extras);
    out.push(Delta::Close { slot });
    Ok(())
}

fn message_stop<'a>(event: Event<'a>, out: &mut Decoded<'a>) {
    let mut out = Output::of_event(out);
    out.response_notes(event.extras);
    out.push(Delta::End);
}

fn error<'a>(event: Event<'a>, source: Option<&'a str>, out: &mut Decoded<'a>) {
    let mut out = Output::of_event(out);
    let Some(Raw(json)) = event.error else {
        return out.push(Delta::Error(json_of(&event, source)));
    };
    out.response_notes(event.extras);
    out.push(Delta::Error(json));
}

/// An event of a type that is not known is kept whole.
fn unknown<'a>(event: Event<'a>, source: Option<&'a str>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
    let json = json_of(&event, source);
    let name = event.kind.filter(|kind| !kind.0.is_empty()).ok_or_else(|| missing("type"))?.0;
    Output::of_event(out).push(Delta::ResponseNote { name, json });
    Ok(())
}

fn json_of<'a>(event: &Event<'_>, source: Option<&'a str>) -> Cow<'a, str> {
    source.map_or_else(|| Cow::Owned(event.to_json()), Cow::Borrowed)
}

fn missing(what: &str) -> Malformed {
    Malformed::WrongShape(format!("missing {what}"))
}

fn utf8(bytes: &[u8]) -> Result<&str, Malformed> {
    str::from_utf8(bytes).map_err(|_| Malformed::InvalidUtf8)
}

/// What an error says that is not an event: JSON, or else words.
fn json_or_words(text: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Raw<'_>>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(serde_json::Value::from(text).to_string()),
    }
}

/// The word of the one vocabulary for the vendor's own; none if there is none.
fn finish_reason(word: &str) -> Option<&'static str> {
    match word {
        "end_turn" | "stop_sequence" => Some("stop"),
        "max_tokens" | "model_context_window_exceeded" => Some("length"),
        "tool_use" => Some("tool_calls"),
        "refusal" => Some("content_filter"),
        "pause_turn" => Some("pause"),
        _ => None,
    }
}
