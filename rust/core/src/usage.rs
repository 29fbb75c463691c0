//! Token counts in one convention, whichever the wire uses.

/// What an answer cost so far. A count that the wire did not give is none: nothing is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All that the model read, from the cache or not.
    pub input: Option<u64>,
    /// All that the model wrote, its reasoning included.
    pub output: Option<u64>,
    /// The part of the input that came from the cache.
    pub cache_read: Option<u64>,
    /// The part of the input that was written to the cache.
    pub cache_write: Option<u64>,
    /// The part of the output that was reasoning.
    pub reasoning: Option<u64>,
}
