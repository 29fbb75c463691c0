//! What one stream may cost. Reaching a limit ends the stream: a peer that needs more is broken or attacking.

/// The limits of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One server-sent event. Recordings reach 0.1 MiB (an image); vendors document images of several MiB.
    pub frame_bytes: usize,
    /// The arguments of one tool call. Recordings stay under 16 KiB; a whole file written by a tool fits.
    pub argument_bytes: usize,
    /// All blocks of a stream. An agent's longest recorded answer has under 100.
    pub blocks: usize,
    /// The tool calls among them. The widest recorded fan-out is below 20.
    pub calls: usize,
    /// Answers side by side. Vendors allow more, but nobody streams them.
    pub choices: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { frame_bytes: 8 << 20, argument_bytes: 1 << 20, blocks: 1024, calls: 128, choices: 8 }
    }
}
