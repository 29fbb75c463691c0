//! What can go wrong in a stream: a kind, and the place where it was seen.

use std::fmt;

/// Why a chunk cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The event's data is not UTF-8.
    InvalidUtf8,
    /// The event's data is not JSON; the text says where in it.
    InvalidJson(String),
    /// The JSON is not of the format's shape; the text says what was expected.
    WrongShape(String),
}

impl Malformed {
    /// The fixed word for this kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvalidUtf8 => "invalid_utf8",
            Self::InvalidJson(_) => "invalid_json",
            Self::WrongShape(_) => "wrong_shape",
        }
    }

    /// What a reader of the log needs beyond the kind. Never the stream's content.
    pub fn detail(&self) -> &str {
        match self {
            Self::InvalidUtf8 => "",
            Self::InvalidJson(detail) | Self::WrongShape(detail) => detail,
        }
    }
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        match error.classify() {
            serde_json::error::Category::Data => Self::WrongShape(without_values(&error)),
            serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof
            | serde_json::error::Category::Io => Self::InvalidJson(error.to_string()),
        }
    }
}

/// The message of a shape error less the value that was found, which is content: `invalid type: string "…", expected u32`.
fn without_values(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match (message.find(": "), message.rfind(", expected ")) {
        (Some(kind), Some(expected)) if kind < expected => {
            format!("{}{}", message.get(..kind).unwrap_or_default(), message.get(expected..).unwrap_or_default())
        }
        (Some(_) | None, Some(_) | None) => message,
    }
}

/// A stream cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What happened.
    pub kind: ErrorKind,
    /// The offset of the event's first byte, or the chunk's number for streams of objects.
    pub offset: u64,
}

/// What ended a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A limit was reached: its name and value.
    Limit {
        /// The field of [`crate::Limits`].
        name: &'static str,
        /// Its value.
        allowed: usize,
    },
    /// A chunk cannot be read, in strict mode.
    Malformed(Malformed),
    /// A deviation that lenient mode puts right, in strict mode.
    Quirk(crate::Quirk),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Limit { name, allowed } => write!(f, "the stream exceeds the limit {name} = {allowed}"),
            ErrorKind::Malformed(malformed) => {
                write!(f, "{} at {}: {}", malformed.name(), self.offset, malformed.detail())
            }
            ErrorKind::Quirk(quirk) => write!(f, "{} at {}", quirk.name(), self.offset),
        }
    }
}

impl std::error::Error for Error {}
