//! How a stream is read: what is done with deviations, and how much a step takes.

use crate::event::Quirk;

/// What to do with a deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Put it right if it is a known one, skip the chunk if not, and count it.
    Lenient,
    /// Put it right if it can only mean one thing, and end the stream if not: what a gate needs.
    Guarded,
    /// End the stream.
    Strict,
}

impl Mode {
    /// Whether a deviation ends the stream.
    pub(crate) fn refuses(self, quirk: Quirk) -> bool {
        match self {
            Self::Lenient => false,
            Self::Guarded => quirk.is_ambiguous(),
            Self::Strict => true,
        }
    }
}

/// Whether a chunk may complete several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// It may: a piece is always a whole chunk.
    Chunk,
    /// It may not: a piece completes at most one block.
    Completion,
}
