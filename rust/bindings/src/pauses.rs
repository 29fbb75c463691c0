//! Lets other threads run while a long read is worked off into Python's objects, which cannot be done without the interpreter's lock.

use pyo3::prelude::*;

/// Reads longer than this are worked off in slices. At the core's pace a slice takes less than a tenth of a millisecond.
pub(crate) const SLICE: usize = 64 << 10;

/// As many chunks as make a slice: the chunks of real streams have 250 bytes.
const CHUNKS: u32 = 256;

/// Counts chunks, and gives up the lock for a moment after each slice of them.
#[derive(Default)]
pub(crate) struct Pauses {
    chunks: u32,
}

impl Pauses {
    /// One more chunk is done.
    pub(crate) fn after_chunk(&mut self, py: Python<'_>) {
        self.chunks += 1;
        if self.chunks == CHUNKS {
            self.chunks = 0;
            pause(py);
        }
    }
}

/// Gives up the lock to whoever waits for it.
pub(crate) fn pause(py: Python<'_>) {
    py.detach(|| ());
}
