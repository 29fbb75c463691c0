//! Events to deltas.
//!
//! An event says one thing, under the type in its data; the name of its frame only counts where the data has no type. A body has no type.

use std::borrow::Cow;

use super::body::{self, Ending};
use super::calls::{Came, WholeItem};
use super::items::{Items, NOWHERE, Out, Place};
use super::kinds::{EventKind, Family, event_kind};
use super::parts::{TextPlace, WholePart};
use super::schema::{Event, Response, Words, text_of};
use crate::delta::Delta;
use crate::error::Malformed;
use crate::event::{Part, Quirk};
use crate::sse::Frame;
use crate::wire::{Decoded, TERMINATOR};

/// Reads the events of one stream.
#[derive(Debug, Default)]
pub struct Decoder {
    items: Items,
}

impl Decoder {
    /// Reads a server-sent event.
    pub fn decode_frame<'a>(&mut self, frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        let text = |bytes: &'a [u8]| str::from_utf8(bytes).map_err(|_| Malformed::InvalidUtf8);
        if !frame.data.is_empty() || frame.error.is_none() {
            self.decode(text(frame.data)?, text(frame.event)?, out)?;
        }
        if let Some(error) = frame.error {
            body::fail(json_or_string(text(error)?), &mut Out::new(out));
        }
        Ok(())
    }

    /// Reads an event, or a whole body, from JSON text.
    pub fn decode_json<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        self.decode(text, "", out)
    }

    fn decode<'a>(&mut self, text: &'a str, name: &str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if text.as_bytes() == TERMINATOR {
            return Ok(());
        }
        let mut event: Event<'a> = serde_json::from_str(text)?;
        let out = &mut Out::new(out);
        let kind = event.kind.take().map(|kind| kind.0);
        let kind = match kind {
            Some(kind) => kind,
            None if name.is_empty() => return self.body(text, &event, out),
            None => Cow::Owned(name.to_owned()),
        };
        if !name.is_empty() && kind != name {
            out.quirk(Quirk::EventTypeMismatch);
        }
        self.event(&kind, event, text, out)
    }

    /// A whole response, or an error in its place.
    fn body<'a>(&mut self, text: &'a str, event: &Event<'a>, out: &mut Out<'_, 'a>) -> Result<(), Malformed> {
        let is_response = event.object.as_ref().is_some_and(|object| object.0 == "response");
        match event.error {
            Some(error) if !is_response => body::fail(Cow::Borrowed(error.0), out),
            Some(_) | None => {
                let response: Response<'a> = serde_json::from_str(text)?;
                // Anything is an object; only a response is a finished one.
                if !is_response && response.output.is_none() {
                    return Err(Malformed::WrongShape("missing output".to_owned()));
                }
                body::body(&mut self.items, response, out)?;
            }
        }
        Ok(())
    }

    fn event<'a>(
        &mut self,
        name: &str,
        event: Event<'a>,
        text: &'a str,
        out: &mut Out<'_, 'a>,
    ) -> Result<(), Malformed> {
        match event_kind(name) {
            EventKind::Start => {
                if let Some(mut response) = event.response {
                    body::envelope(&mut response, out);
                }
            }
            EventKind::Completed => self.end(event, Ending::Completed, out)?,
            EventKind::Incomplete => self.end(event, Ending::Incomplete, out)?,
            EventKind::Failed => self.end(event, Ending::Failed, out)?,
            EventKind::Error => body::fail(error_of(event), out),
            EventKind::Audio(field) => self.items.audio(field, text_of(event.delta.as_ref()), out),
            EventKind::Progress => {}
            EventKind::Unknown => self.keep(name, &event, text, out),
            kind @ (EventKind::ItemAdded
            | EventKind::ItemDone
            | EventKind::PartAdded(_)
            | EventKind::PartDone(_)
            | EventKind::Delta(..)
            | EventKind::Done(..)
            | EventKind::Annotation
            | EventKind::PartialImage
            | EventKind::OperationDone) => self.of_item(kind, event, text, out)?,
        }
        Ok(())
    }

    fn end<'a>(&mut self, event: Event<'a>, ending: Ending, out: &mut Out<'_, 'a>) -> Result<(), Malformed> {
        let response = event.response.map(|response| *response).unwrap_or_default();
        Ok(body::end(&mut self.items, response, ending, out)?)
    }

    /// The item that an event is about. One that names none is refused.
    fn index(&self, event: &Event<'_>, out: &mut Out<'_, '_>) -> Option<u32> {
        let id = text_of(event.item_id.as_ref());
        let index = self.items.index(event.output_index, id);
        match index {
            Some(index) if self.items.belongs_elsewhere(index, id) => out.quirk(Quirk::Contradiction),
            Some(_) => {}
            None => out.push(Delta::Grow { slot: NOWHERE, part: Part::Text, text: Cow::Borrowed("") }),
        }
        index
    }

    /// An event of one output item.
    fn of_item<'a>(
        &mut self,
        kind: EventKind,
        event: Event<'a>,
        text: &'a str,
        out: &mut Out<'_, 'a>,
    ) -> Result<(), Malformed> {
        let Some(index) = self.index(&event, out) else { return Ok(()) };
        if self.items.is_full(index) {
            out.push(Delta::Refused(Quirk::IndexTooHigh));
            return Ok(());
        }
        match kind {
            EventKind::ItemAdded => {
                if let Some(item) = event.item {
                    self.items.added(index, serde_json::from_str(item.0)?, out);
                }
            }
            EventKind::ItemDone => {
                if let Some(item) = event.item {
                    self.items.done(index, WholeItem::read(item)?, Came::Streamed, out);
                }
            }
            EventKind::PartAdded(family) => {
                if let Some(part) = event.part {
                    self.items.part_added(index, place(family, &event), &WholePart::read(part)?, out);
                }
            }
            EventKind::PartDone(family) => {
                if let Some(part) = event.part {
                    self.items.part_done(index, place(family, &event), WholePart::read(part)?, out);
                }
            }
            EventKind::Delta(Family::Item, _) => self.items.call_delta(index, words(event.delta), out),
            EventKind::Done(Family::Item, _) => self.items.call_done(index, event, out),
            EventKind::Delta(family, kind) => {
                let at = TextPlace { index, place: place(family, &event), kind };
                self.items.text_delta(at, words(event.delta), event.logprobs.unwrap_or_default(), out);
            }
            EventKind::Done(family, kind) => {
                let at = TextPlace { index, place: place(family, &event), kind };
                let text = words(event.text.or(event.refusal));
                self.items.text_done(at, text, event.logprobs.unwrap_or_default(), out);
            }
            EventKind::Annotation => {
                if let Some(annotation) = event.annotation {
                    self.items.annotation(index, place(Family::Content, &event), annotation.0, out);
                }
            }
            EventKind::PartialImage => self.items.note(index, "partial_image", text, out),
            EventKind::OperationDone => self.items.operation_done(index, event),
            EventKind::Start
            | EventKind::Completed
            | EventKind::Incomplete
            | EventKind::Failed
            | EventKind::Error
            | EventKind::Audio(_)
            | EventKind::Progress
            | EventKind::Unknown => {}
        }
        Ok(())
    }

    /// An event that means nothing here: on its block, if that is open, else on the response.
    fn keep<'a>(&mut self, name: &str, event: &Event<'a>, text: &'a str, out: &mut Out<'_, 'a>) {
        let index = self.items.index(event.output_index, text_of(event.item_id.as_ref()));
        match index.and_then(|index| self.items.open_slot(index)) {
            Some(slot) => out.push(Delta::NoteOn { slot, name: name.to_owned().into(), json: text.into() }),
            None => out.push(Delta::ResponseNote { name: name.to_owned().into(), json: text.into() }),
        }
    }
}

fn place(family: Family, event: &Event<'_>) -> Place {
    let index = match family {
        Family::Content => event.content_index,
        Family::Summary => event.summary_index,
        Family::Item | Family::Sealed => None,
    };
    Place { family, index: index.unwrap_or_default() }
}

fn words(field: Option<Words<'_>>) -> Cow<'_, str> {
    field.map_or_else(Cow::default, Words::into_text)
}

/// What an error event says: an object of its own, or the event's fields.
fn error_of(event: Event<'_>) -> Cow<'_, str> {
    if let Some(error) = event.error {
        return Cow::Borrowed(error.0);
    }
    let fields = [("code", event.code), ("message", event.message), ("param", event.param)];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into_text().into())));
    Cow::Owned(serde_json::Value::Object(given.collect()).to_string())
}

/// What an error says is JSON, or else words.
fn json_or_string(text: &str) -> Cow<'_, str> {
    match serde_json::from_str::<&serde_json::value::RawValue>(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(serde_json::Value::from(text).to_string()),
    }
}
