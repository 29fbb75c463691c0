//! What happened to the blocks: the vocabulary that the machine speaks and every later stage hears.

use crate::usage::Usage;
use crate::wire::Protocol;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Text that the user is meant to see.
    Text,
    /// The model's reasoning.
    Thinking,
    /// A call of a tool that takes JSON.
    FunctionCall,
    /// A call of a tool that takes free text.
    CustomCall,
    /// A call of a tool of the provider's own that the client runs: a computer, a shell, a patch.
    BuiltinCall,
    /// A call that the provider has run or is running itself.
    ServerCall,
    /// What a tool gave back.
    ToolResult,
    /// The model's refusal to answer.
    Refusal,
    /// Something kept raw, under the wire's own name for it.
    Unknown,
}

impl BlockKind {
    /// Whether the block is a tool call of either sort.
    pub fn is_call(self) -> bool {
        match self {
            Self::FunctionCall | Self::CustomCall | Self::BuiltinCall | Self::ServerCall => true,
            Self::Text | Self::Thinking | Self::ToolResult | Self::Refusal | Self::Unknown => false,
        }
    }
}

impl BlockKind {
    /// What users call a sort of tool call.
    pub fn call_name(self) -> &'static str {
        match self {
            Self::CustomCall => "custom",
            Self::BuiltinCall => "builtin",
            Self::ServerCall => "server",
            Self::FunctionCall | Self::Text | Self::Thinking | Self::ToolResult | Self::Refusal | Self::Unknown => {
                "function"
            }
        }
    }

    /// Whether blocks of this kind have such a part.
    pub(crate) fn has(self, part: Part) -> bool {
        match part {
            Part::Text => matches!(self, Self::Text | Self::Thinking | Self::Refusal | Self::ToolResult),
            Part::Name | Part::Arguments => self.is_call(),
            Part::Signature | Part::Data => self == Self::Thinking,
            Part::Raw => matches!(self, Self::Unknown | Self::ToolResult),
        }
    }
}

/// Which part of a block grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The text of a text, thinking or refusal block.
    Text,
    /// The name of a tool.
    Name,
    /// The arguments of a tool call.
    Arguments,
    /// The signature over a thinking block.
    Signature,
    /// Encrypted or redacted reasoning.
    Data,
    /// One more JSON value of an unknown block.
    Raw,
}

impl Part {
    /// The part's name, as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Name => "name",
            Self::Arguments => "arguments",
            Self::Signature => "signature",
            Self::Data => "data",
            Self::Raw => "raw",
        }
    }
}

/// A known deviation, put right or left out, and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirk {
    /// A chunk that cannot be read.
    MalformedChunk,
    /// A last event without its blank line, whose JSON is whole.
    UnterminatedEvent,
    /// A tool call that starts without an index.
    IndexMissing,
    /// A tool call that starts without an id.
    IdMissing,
    /// A tool's name that continues another.
    NameInPieces,
    /// Another name after arguments.
    NameChanged,
    /// Arguments that are JSON, not a string.
    ArgumentsAsObject,
    /// A second finish of a choice.
    RepeatedFinish,
    /// Text after the finish of its choice.
    LateText,
    /// A tool call after the finish of its choice.
    LateToolCall,
    /// A delta for a numbered block that never began.
    OrphanDelta,
    /// A delta for a numbered block that was closed.
    DeltaAfterClose,
    /// A numbered block that began twice.
    SlotReused,
    /// A numbered block that was never closed.
    UnclosedBlock,
    /// A delta of a type that its block does not have.
    MisplacedDelta,
    /// An event whose name is not its type.
    EventTypeMismatch,
    /// Arguments, or text, that two events give differently.
    Contradiction,
    /// A numbered block that does not have the next number.
    SlotSkipped,
    /// A message that began twice.
    RepeatedStart,
    /// A tool call that has the id of another.
    IdReused,
    /// A tag in text that nothing closed.
    UnclosedTag,
    /// A closing tag in text that closes nothing.
    StrayCloseTag,
    /// A tag in text that means nothing where it stands, or lacks its name.
    StrayTag,
    /// Text inside of a tagged call, but in none of its parameters.
    StrayText,
    /// An attribute, or a parameter, that a tagged call has twice.
    RepeatedAttribute,
    /// A piece of a tool call that could be of any of several.
    CallUnclear,
    /// A tool call whose index is beyond what a stream may have.
    IndexTooHigh,
    /// Another role than the answer had before.
    RoleChanged,
    /// A byte order mark that is not the first thing of the stream. What reads the line after it, others skip.
    StrayMark,
}

impl Quirk {
    /// Whether what it says can be read in two ways, so that a judge and a client may not see the same. A gate ends such a stream.
    pub(crate) fn is_ambiguous(self) -> bool {
        match self {
            Self::MalformedChunk
            | Self::NameChanged
            | Self::LateToolCall
            | Self::OrphanDelta
            | Self::DeltaAfterClose
            | Self::SlotReused
            | Self::UnclosedBlock
            | Self::MisplacedDelta
            | Self::EventTypeMismatch
            | Self::Contradiction
            | Self::SlotSkipped
            | Self::RepeatedStart
            | Self::IdReused
            | Self::CallUnclear
            | Self::IndexTooHigh
            | Self::RoleChanged
            | Self::StrayMark => true,
            Self::UnterminatedEvent
            | Self::IndexMissing
            | Self::IdMissing
            | Self::NameInPieces
            | Self::ArgumentsAsObject
            | Self::RepeatedFinish
            | Self::UnclosedTag
            | Self::StrayCloseTag
            | Self::StrayTag
            | Self::StrayText
            | Self::RepeatedAttribute
            | Self::LateText => false,
        }
    }

    /// The quirk's name, as users see it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MalformedChunk => "malformed_chunk",
            Self::UnterminatedEvent => "unterminated_event",
            Self::IndexMissing => "index_missing",
            Self::IdMissing => "id_missing",
            Self::NameInPieces => "name_in_pieces",
            Self::NameChanged => "name_changed",
            Self::ArgumentsAsObject => "arguments_as_object",
            Self::RepeatedFinish => "repeated_finish",
            Self::LateText => "late_text",
            Self::LateToolCall => "late_tool_call",
            Self::OrphanDelta => "orphan_delta",
            Self::DeltaAfterClose => "delta_after_close",
            Self::SlotReused => "slot_reused",
            Self::UnclosedBlock => "unclosed_block",
            Self::MisplacedDelta => "misplaced_delta",
            Self::EventTypeMismatch => "event_type_mismatch",
            Self::Contradiction => "contradiction",
            Self::SlotSkipped => "slot_skipped",
            Self::RepeatedStart => "repeated_start",
            Self::IdReused => "id_reused",
            Self::UnclosedTag => "unclosed_tag",
            Self::StrayCloseTag => "stray_close_tag",
            Self::StrayTag => "stray_tag",
            Self::StrayText => "stray_text",
            Self::RepeatedAttribute => "repeated_attribute",
            Self::CallUnclear => "call_unclear",
            Self::IndexTooHigh => "index_too_high",
            Self::RoleChanged => "role_changed",
            Self::StrayMark => "stray_mark",
        }
    }
}

/// Something that happened. Blocks are named by their number, in the order in which they started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A block began.
    BlockStarted {
        /// Its number.
        block: usize,
        /// What it is.
        kind: BlockKind,
        /// Its id.
        id: &'a str,
        /// The tool's name, or the wire's name for an unknown kind.
        name: &'a str,
        /// The call that a result is for.
        call_id: &'a str,
        /// The choice that it belongs to.
        choice: u32,
        /// Its ordinal among the calls of its choice.
        call: usize,
    },
    /// A part of a block got longer.
    BlockGrew {
        /// The block.
        block: usize,
        /// The part.
        part: Part,
        /// What was added.
        text: &'a str,
    },
    /// A block was given something that is kept as it came.
    BlockNoted {
        /// The block.
        block: usize,
        /// The field's name.
        name: &'a str,
        /// Its value.
        json: &'a str,
    },
    /// More came for a block that was complete.
    BlockReopened {
        /// The block.
        block: usize,
    },
    /// A block has all that the stream had for it so far.
    BlockCompleted {
        /// The block.
        block: usize,
    },
    /// The answer as a whole was given a value.
    ResponseNoted {
        /// The field's name.
        name: &'a str,
        /// Its value.
        json: &'a str,
    },
    /// A choice has its finish reason.
    ChoiceFinished {
        /// The choice.
        choice: u32,
        /// The reason in penstock's vocabulary.
        reason: &'a str,
        /// The wire's own word.
        native: &'a str,
    },
    /// Token counts arrived.
    UsageReported {
        /// In the one convention.
        counts: Usage,
        /// The object as it came.
        json: &'a str,
    },
    /// The upstream reported an error inside the stream.
    ErrorReported {
        /// What it said.
        json: &'a str,
    },
    /// A known deviation was put right or left out.
    QuirkSeen(Quirk),
    /// The input is over.
    StreamEnded {
        /// Whether it was cut.
        interrupted: bool,
    },
}

/// The next stage: hears events as they happen.
pub trait Sink {
    /// The format that is read, told once, before the first event that it says.
    fn source(&mut self, _source: Protocol) {}

    /// A chunk, as JSON in UTF-8, once all that it says was told. Chunks that came as objects are not: whoever fed them has them.
    fn chunk(&mut self, _json: &[u8]) {}

    /// Takes one event.
    fn event(&mut self, event: Event<'_>);
}

/// Hears nothing.
impl Sink for () {
    fn event(&mut self, _: Event<'_>) {}
}
