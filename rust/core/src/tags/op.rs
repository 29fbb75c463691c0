//! What the markers make of a text, before it has numbers and places.

use std::borrow::Cow;

use crate::event::{Part, Quirk};

/// What the markers make of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op<'t> {
    /// More text.
    Text(Cow<'t, str>),
    /// The text before this and the text behind it are not one.
    EndText,
    /// A block begins.
    Open(Opened),
    /// The block that is open grows.
    Grow(Part, Cow<'t, str>),
    /// Something is to be known of the block that is open.
    Note(&'static str, String),
    /// The block that is open is whole.
    Close,
    /// Something is not as it should be.
    Quirk(Quirk),
    /// A stop sequence: nothing behind it counts.
    Stopped(String),
}

/// A block that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    Thinking,
    Call { name: String, id: Option<String> },
    Result { call_id: Option<String>, is_failure: bool },
}

impl Op<'_> {
    /// The same, not borrowed from the text.
    pub(super) fn into_owned<'b>(self) -> Op<'b> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Text(text) => Op::Text(own(text)),
            Self::Grow(part, text) => Op::Grow(part, own(text)),
            Self::EndText => Op::EndText,
            Self::Open(opened) => Op::Open(opened),
            Self::Note(name, json) => Op::Note(name, json),
            Self::Close => Op::Close,
            Self::Quirk(quirk) => Op::Quirk(quirk),
            Self::Stopped(sequence) => Op::Stopped(sequence),
        }
    }
}
