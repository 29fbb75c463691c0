//! What one stream may cost. Reaching a limit ends the stream: a peer that needs more is broken or attacking.

/// A name in a call that is written as a JSON object, in its quotes: it is kept until it ends. Vendors allow 64 characters. A longer one makes the object
/// no call's, but ends nothing.
pub(crate) const LONGEST_NAME: usize = 4096;

/// The limits of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One server-sent event. Recordings reach 0.1 MiB (an image); vendors document images of several MiB.
    pub frame_bytes: usize,
    /// The arguments of one tool call. Recordings stay under 1 KiB; a whole file that a tool writes must fit.
    pub argument_bytes: usize,
    /// All blocks of a stream. Recordings reach 25.
    pub blocks: usize,
    /// The tool calls among them. Recordings reach 11.
    pub calls: usize,
    /// What waits to be written: calls that are held, blocks behind them. Recordings stay under 64 KiB.
    pub held_bytes: usize,
    /// Answers side by side. Recordings reach 3; vendors allow more, which nobody streams.
    pub choices: usize,
    /// What blocks grow by, however small each piece is. Recordings reach 2,000; the longest answers that vendors sell have
    /// 2^17 tokens, which is a piece for each at most. Text alone is not counted: there the network cuts the pieces.
    pub deltas: usize,
    /// What may be held of a text because it may become a tag. The longest marker of a known vocabulary has 73 bytes; names and attributes must fit.
    pub tag_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: 8 << 20,
            argument_bytes: 1 << 20,
            blocks: 1024,
            calls: 128,
            held_bytes: 8 << 20,
            choices: 8,
            deltas: 1 << 20,
            tag_bytes: 256,
        }
    }
}
