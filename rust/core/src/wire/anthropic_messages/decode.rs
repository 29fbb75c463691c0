//! Events to deltas.

use serde::{Deserialize, Deserializer};

use super::schema::Event;
use crate::delta::{Delta, Located, Origin};
use crate::error::Malformed;
use crate::sse::Frame;
use crate::wire::{Decoded, TERMINATOR};

/// Reads the events of one stream.
#[derive(Debug, Default)]
pub struct Decoder {}

impl Decoder {
    /// Reads a server-sent event.
    pub fn decode_frame<'a>(&mut self, frame: &Frame<'a>, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        self.decode_json(str::from_utf8(frame.data).map_err(|_| Malformed::InvalidUtf8)?, out)
    }

    /// Reads an event, or a whole body, from JSON text.
    pub fn decode_json<'a>(&mut self, text: &'a str, out: &mut Decoded<'a>) -> Result<(), Malformed> {
        if text.as_bytes() == TERMINATOR {
            out.push(Located { choice: 0, origin: Origin::of_event(), delta: Delta::End });
            return Ok(());
        }
        self.event(serde_json::from_str(text)?, out);
        Ok(())
    }

    /// Reads an event, or a whole body, from anything that serde can read, such as a Python object.
    pub fn decode_value<'a, D: Deserializer<'a>>(&mut self, value: D, out: &mut Decoded<'a>) -> Result<(), D::Error> {
        self.event(Event::deserialize(value)?, out);
        Ok(())
    }

    fn event<'a>(&mut self, _event: Event<'a>, _out: &mut Decoded<'a>) {}
}
