//! What a step of a stream gives: as much of a chunk as was taken.

use crate::delta::Origin;
use crate::error::Malformed;

/// A chunk that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Why.
    pub malformed: Malformed,
    /// The offset of its event, or the number of the chunk.
    pub offset: u64,
}

/// One step of a stream, and what of the chunk belongs to it.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Where the chunk is.
    pub chunk: ChunkText<'a>,
    /// What said the deltas that were taken.
    pub kept: &'a [Origin],
    /// What said the deltas that were left out.
    pub dropped: &'a [Origin],
    /// Whether another piece of the same chunk came before or comes after.
    pub is_partial: bool,
}

/// The chunk that a piece is of.
#[derive(Clone, Copy, Debug)]
pub enum ChunkText<'a> {
    /// A new chunk, as JSON in UTF-8.
    Json(&'a [u8]),
    /// A new chunk, which is text and nothing more.
    Text(&'a str),
    /// A new chunk, which the caller has.
    Value,
    /// The chunk of the piece before.
    Same,
    /// No chunk: the upstream reported an error in a way that is not a chunk.
    Failure,
    /// No chunk: the terminator completed the open block of this choice.
    Closing(u32),
}
