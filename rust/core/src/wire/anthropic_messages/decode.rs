//! Events to deltas.
//!
//! Rules. (1) An event's type says what it is; its name in the stream only where it has no type. (2) What the vendor's SDK derives from
//! events beside them (`text`, `input_json` …, snapshots) says nothing new. (3) Nothing that is not known is lost: a field goes to its
//! block or to the response, an event to the response.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use super::body::{self, Sort, Started};
use super::deltas;
use super::schema::{Event, Message, RawStart};
use super::usage::Cumulative;
use crate::delta::{Delta, Field, Located, Origin};
use crate::error::Malformed;
use crate::event::{Part, Quirk};
use crate::sse::Frame;
use crate::wire::json::{Extras, Fields, Raw, RawObject, Str};
use crate::wire::output::string_of;
use crate::wire::template::Templates;
use crate::wire::{Decoded, TERMINATOR};

/// Reads the events of one stream.
#[derive(Debug)]
pub struct Decoder {
    /// The blocks that have started, by their number.
    blocks: BTreeMap<u64, Started>,
    /// The ids of the calls.
    ids: HashSet<String>,
    usage: Cumulative,
    has_started: bool,
    is_finished: bool,
    /// The last deltas and stops, and for which blocks they mean that.
    templates: Templates<Means>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { templates: STANDARD.clone(), ..Self::without_templates() }
    }
}

/// What the events that come often look like, as the vendor writes them, and the starts that they need: no stream has to learn them.
const OFTEN: [&str; 7] = [
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"-"}}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"-"}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"text"}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"-"}}"#,
];

static STANDARD: LazyLock<Templates<Means>> = LazyLock::new(|| {
    let mut decoder = Decoder::without_templates();
    for event in OFTEN {
        // They are by the book. One that were not would only be learnt by each stream.
        let _read = decoder.decode_json(event, &mut Vec::new());
    }
    decoder.templates
});

/// For which blocks an event means what it has meant before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// For those of this sort.
    The(Sort),
    /// For all.
    Any,
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
    fn without_templates() -> Self {
        Self {
            blocks: BTreeMap::new(),
            ids: HashSet::new(),
            usage: Cumulative::default(),
            has_started: false,
            is_finished: false,
            templates: Templates::default(),
        }
    }

    /// Reads a server-sent event.
    pub fn decode_frame<'a>(&mut self, frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let has_data = !frame.data.is_empty() || frame.error.is_none();
        if has_data && !self.recognise(frame.event, frame.data, out) {
            self.read(frame.event, utf8(frame.data)?, out)?;
        }
        if let Some(error) = frame.error {
            Output::of_event(out).push(Delta::Error(json_or_words(utf8(error)?)));
        }
        Ok(())
    }

    /// Takes the terminator, which says nothing here, and an event that is told by one before.
    fn recognise<'a>(&mut self, name: &[u8], data: &'a [u8], out: &mut Decoded<'a>) -> bool {
        if data == TERMINATOR {
            return true;
        }
        let start = out.len();
        let Some(means) = self.templates.decode(data, out) else { return false };
        let is_alike = self.is_alike(name, out.get(start..).unwrap_or_default(), means);
        if !is_alike {
            out.truncate(start);
        }
        is_alike
    }

    /// Reads an event in full.
    fn read<'a>(&mut self, name: &'a [u8], text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let start = out.len();
        let mut event: Event<'a> = match serde_json::from_str(text) {
            Err(_) if name == b"error" => {
                Output::of_event(out).push(Delta::Error(json_or_words(text)));
                return Ok(());
            }
            read => read?,
        };
        let is_typed = event.kind.is_some();
        match &event.kind {
            Some(kind) if !name.is_empty() && kind.0.as_bytes() != name => {
                Output::of_event(out).push(Delta::Quirk(Quirk::EventTypeMismatch));
            }
            Some(_) => {}
            None => event.kind = str::from_utf8(name).ok().map(|name| Str(Cow::Borrowed(name))),
        }
        self.event(event, text, out)?;
        let said = out.get(start..).unwrap_or_default();
        // It needs its own type to mean the same under no name.
        if is_typed && let Some(means) = self.means(said) {
            self.templates.remember(text, said, &[], means);
        }
        Ok(())
    }

    /// For which blocks an event says the same, if what it says follows from its text and the sort of its block.
    fn means(&self, said: &[Located<'_>]) -> Option<Means> {
        match said {
            [Located { delta: Delta::Grow { slot, .. }, .. }] => Some(Means::The(self.blocks.get(slot)?.sort)),
            [Located { delta: Delta::Close { .. }, .. }] => Some(Means::Any),
            _ => None,
        }
    }

    /// Whether an event that was recognised by an earlier one says that of its own block, and under its own name.
    fn is_alike(&self, name: &[u8], said: &[Located<'_>], means: Means) -> bool {
        let is_named = |own: &[u8]| name.is_empty() || name == own;
        match said {
            [Located { delta: Delta::Grow { slot, .. }, .. }] if is_named(b"content_block_delta") => {
                let is_meant = |block: &Started| means == Means::The(block.sort);
                self.blocks.get(slot).is_some_and(|block| is_meant(block) && !block.is_shadowed && !block.has_input)
            }
            [Located { delta: Delta::Close { .. }, .. }] => is_named(b"content_block_stop"),
            _ => false,
        }
    }

    /// Reads an event, or a whole body, from JSON text.
    pub fn decode_json<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if self.recognise(b"", text.as_bytes(), out) { Ok(()) } else { self.read(b"", text, out) }
    }

    fn event<'a>(&mut self, event: Event<'a>, json: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        match event.kind.as_ref().map_or("", |kind| kind.0.as_ref()) {
            "content_block_delta" => self.block_delta(event, out)?,
            "content_block_start" => self.block_start(event, json, out)?,
            "content_block_stop" => block_stop(event, out)?,
            "message_start" => self.message_start(event, out)?,
            "message_delta" => self.message_delta(event, out)?,
            "message_stop" => message_stop(event, out),
            "ping" | "text" | "thinking" | "signature" | "citation" | "input_json" | "compaction" => {}
            "message" => self.body(json, out)?,
            "error" => error(event, json, out),
            "" if event.error.is_some() => error(event, json, out),
            _ => unknown(event, json, out)?,
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
        deltas::say(slot, block, *delta, &mut out);
        out.notes(slot, event.extras);
        Ok(())
    }

    fn block_start<'a>(&mut self, event: Event<'a>, json: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let (Some(slot), Some(block)) = (event.index, event.content_block) else {
            return Err(missing("index or content_block"));
        };
        if let Some(block) = self.blocks.get_mut(&slot) {
            block.is_shadowed = true;
            Output::of_event(out).push(Delta::Refused(Quirk::SlotReused));
            return Ok(());
        }
        let before = out.len();
        let raw_block = || {
            let start: RawStart<'a> = serde_json::from_str(json)?;
            start.content_block.map(|RawObject(json)| json).ok_or_else(|| missing("content_block"))
        };
        let started = body::block(slot, *block, raw_block, &mut Output::of_event(out))?;
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
        let Some(message) = event.message else { return Err(missing("message")) };
        if std::mem::replace(&mut self.has_started, true) {
            Output::of_event(out).push(Delta::Refused(Quirk::RepeatedStart));
            return Ok(());
        }
        if !self.blocks.is_empty() {
            // What came before the start may have been said of another message.
            Output::of_event(out).push(Delta::Quirk(Quirk::MisplacedDelta));
        }
        self.started_message(*message, out)?;
        Output::of_event(out).response_notes(event.extras);
        Ok(())
    }

    fn started_message<'a>(&mut self, mut message: Message<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
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
            let json = Cow::Owned(string_of(&reason.0));
            out.push(Delta::ResponseNote { name: Cow::Borrowed("stop_reason"), json });
        }
        self.usage(message.usage, &mut Output::of_event(out))
    }

    fn message_delta<'a>(&mut self, event: Event<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let mut out = Output::of_event(out);
        let delta = *event.delta.unwrap_or_default();
        out.response_notes(delta.extras);
        out.response_notes(event.extras);
        self.usage(event.usage, &mut out)?;
        self.stop(delta.stop_reason, &mut out);
        Ok(())
    }

    /// A whole message, as an unstreamed answer is one.
    fn body<'a>(&mut self, json: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let mut message: Message<'a> = serde_json::from_str(json)?;
        body::envelope(&mut message, &mut Output::of_field(out, Field::Envelope));
        body::content(message.content.unwrap_or_default(), Field::MessageContent, out)?;
        self.usage(message.usage, &mut Output::of_field(out, Field::Usage))?;
        self.stop(message.stop_reason, &mut Output::of_field(out, Field::FinishReason));
        Output::of_field(out, Field::Envelope).push(Delta::End);
        Ok(())
    }

    fn usage(&mut self, usage: Option<Fields<'_>>, out: &mut Output<'_, '_>) -> Result<(), Malformed> {
        if let Some(said) = usage {
            let (counts, json) = self.usage.add(said)?;
            out.push(Delta::Usage { counts: Box::new(counts), json: Cow::Owned(json) });
        }
        Ok(())
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

fn error<'a>(event: Event<'a>, json: &'a str, out: &mut Decoded<'a>) {
    let mut out = Output::of_event(out);
    let Some(Raw(error)) = event.error else { return out.push(Delta::Error(json.into())) };
    out.response_notes(event.extras);
    out.push(Delta::Error(error.into()));
}

/// An event of a type that is not known is kept whole.
fn unknown<'a>(event: Event<'a>, json: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
    let name = event.kind.filter(|kind| !kind.0.is_empty()).ok_or_else(|| missing("type"))?.0;
    Output::of_event(out).push(Delta::ResponseNote { name, json: json.into() });
    Ok(())
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
