//! The shape of an event, as the vendor documents it.

use crate::wire::json::{Str, wire_object};

wire_object! {
    /// One event, of any type, or a whole body.
    Event {
        "type" => kind: Str<'a>,
    }
}
