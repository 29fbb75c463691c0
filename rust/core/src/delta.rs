//! What a chunk says: the one vocabulary that all decoders speak.

use std::borrow::Cow;

use crate::event::{BlockKind, Part, Quirk};
use crate::usage::Usage;

/// A delta and where in its chunk it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<'a> {
    /// The choice that it belongs to.
    pub choice: u32,
    /// Which part of the chunk said it.
    pub origin: Origin,
    /// What was said.
    pub delta: Delta<'a>,
}

/// A place in a chunk: enough to take it out, or to leave everything else out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The position in `choices`.
    pub choice: u32,
    /// The field.
    pub field: Field,
    /// The position in the field's list, for fields that hold one.
    pub element: u32,
}

/// The fields of a chat chunk that say something about blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `delta.role`
    Role,
    /// `delta.content`, a string
    Content,
    /// `delta.content`, a list
    ContentPart,
    /// `delta.refusal`
    Refusal,
    /// `delta.reasoning_content`
    ReasoningContent,
    /// `delta.reasoning`
    Reasoning,
    /// `delta.reasoning_details`
    ReasoningDetail,
    /// `delta.reasoning_details`, of a type that means nothing here
    OtherDetail,
    /// `delta.thinking_blocks`
    ThinkingBlock,
    /// `delta.audio`
    Audio,
    /// `delta.images`
    Image,
    /// `delta.tool_calls`
    ToolCall,
    /// `delta.function_call`
    FunctionCall,
    /// a field of delta or choice that goes to the block's extras
    Extra,
    /// `finish_reason`
    FinishReason,
    /// top-level `usage`
    Usage,
    /// top-level `error`
    Error,
    /// any other field at top level
    Envelope,
    /// the whole event, in formats whose events say one thing each
    Event,
    /// an element of a Messages body's `content`
    MessageContent,
    /// an element of a Responses body's `output`
    ResponseOutput,
    /// more of what another delta of the same place has said: a field is shown once
    Continued,
}

impl Origin {
    /// A place in a list.
    pub(crate) fn new(choice: usize, field: Field, element: usize) -> Self {
        // A list that is too long for this is over the limits long before.
        let narrow = |position: usize| u32::try_from(position).unwrap_or(u32::MAX);
        Self { choice: narrow(choice), field, element: narrow(element) }
    }

    /// No place: what is said follows from what the chunk says elsewhere.
    pub(crate) fn of_nothing() -> Self {
        Self { choice: 0, field: Field::Continued, element: 0 }
    }

    /// The whole of an event that says one thing.
    pub(crate) fn of_event() -> Self {
        Self { choice: 0, field: Field::Event, element: 0 }
    }
}

/// What a chunk says of one thing.
#[derive(Clone, Debug, PartialEq)]
pub enum Delta<'a> {
    /// A field of the response: the first non-empty value counts.
    Identity {
        /// The field's name.
        name: &'static str,
        /// Its value.
        value: Identity<'a>,
    },
    /// A field of the response: the last value counts.
    ResponseNote {
        /// The field's name.
        name: Cow<'a, str>,
        /// Its value.
        json: Cow<'a, str>,
    },
    /// The choice exists, whatever else is said of it.
    Announced,
    /// More text.
    Text(Cow<'a, str>),
    /// More reasoning.
    Thinking(Cow<'a, str>),
    /// What another field of the chunk has said already.
    Repeated,
    /// The signature over the reasoning.
    Signature(Cow<'a, str>),
    /// Encrypted or redacted reasoning.
    ThinkingData(Cow<'a, str>),
    /// More of a refusal.
    Refusal(Cow<'a, str>),
    /// More of a tool call.
    Call(Box<CallDelta<'a>>),
    /// More of a block that is kept raw, under the wire's name for it.
    Raw {
        /// The wire's name.
        kind: Cow<'a, str>,
        /// The value.
        json: Cow<'a, str>,
        /// Whether each value is a block of its own.
        whole: bool,
    },
    /// A field that goes to the extras of the newest block.
    Note {
        /// The field's name.
        name: Cow<'a, str>,
        /// Its value.
        json: Cow<'a, str>,
        /// Whether a value equal to the last one of its name adds nothing.
        repeats: bool,
    },
    /// A block that the wire numbers itself begins. Only its own close completes it.
    Open {
        /// The wire's number for it.
        slot: u64,
        /// What it is.
        head: BlockHead<'a>,
    },
    /// A part of a numbered block grows.
    Grow {
        /// The wire's number for it.
        slot: u64,
        /// The part.
        part: Part,
        /// What is added.
        text: Cow<'a, str>,
    },
    /// A field that goes to the extras of a numbered block.
    NoteOn {
        /// The wire's number for it.
        slot: u64,
        /// The field's name.
        name: Cow<'a, str>,
        /// Its value.
        json: Cow<'a, str>,
    },
    /// A numbered block is whole.
    Close {
        /// The wire's number for it.
        slot: u64,
    },
    /// A deviation that the decoder has put right.
    Quirk(Quirk),
    /// A deviation that cannot be put right: what says it is left out.
    Refused(Quirk),
    /// The choice is finished.
    Stop {
        /// Why, in the one vocabulary.
        reason: Cow<'a, str>,
        /// The wire's own word.
        native: Cow<'a, str>,
    },
    /// Token counts.
    Usage {
        /// In the one convention. They come once or twice, and would make every delta large.
        counts: Box<Usage>,
        /// As they came.
        json: Cow<'a, str>,
    },
    /// An error that the upstream reports.
    Error(Cow<'a, str>),
    /// The terminator: nothing after it counts.
    End,
}

/// The value of a field that says which response this is.
#[derive(Clone, Debug, PartialEq)]
pub enum Identity<'a> {
    /// A string.
    Text(Cow<'a, str>),
    /// Another value.
    Json(Cow<'a, str>),
}

/// What a chunk says of a tool call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallDelta<'a> {
    /// The wire's index.
    pub index: Option<u64>,
    /// The wire's id; never empty.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name or a piece of it; never empty.
    pub name: Option<Cow<'a, str>>,
    /// A piece of the arguments.
    pub arguments: Cow<'a, str>,
    /// Which sort of call it is.
    pub sort: CallSort,
    /// Whether the arguments came as JSON instead of as a string.
    pub arguments_were_json: bool,
    /// Fields that are kept as they came.
    pub notes: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl CallDelta<'_> {
    /// Whether it does not say which call it is of, though its sort could.
    pub(crate) fn is_unnamed(&self) -> bool {
        self.index.is_none() && self.id.is_none() && self.sort != CallSort::Legacy
    }
}

/// The sorts of tool calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallSort {
    /// A function: its arguments are JSON.
    #[default]
    Function,
    /// A custom tool: its input is free text.
    Custom,
    /// The legacy `function_call`, which has neither index nor id.
    Legacy,
}

impl Located<'_> {
    /// The same, not borrowed from its chunk.
    pub fn into_owned(self) -> Located<'static> {
        Located { choice: self.choice, origin: self.origin, delta: self.delta.into_owned() }
    }
}

fn own(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl Delta<'_> {
    /// Whether it is a piece that a block grows by, be it empty.
    pub(crate) fn is_growth(&self) -> bool {
        matches!(
            self,
            Self::Text(_)
                | Self::Thinking(_)
                | Self::Signature(_)
                | Self::ThinkingData(_)
                | Self::Refusal(_)
                | Self::Call(_)
                | Self::Raw { .. }
                | Self::Grow { .. }
        )
    }

    pub(crate) fn into_owned(self) -> Delta<'static> {
        match self {
            Self::Identity { name, value: Identity::Text(text) } => {
                Delta::Identity { name, value: Identity::Text(own(text)) }
            }
            Self::Identity { name, value: Identity::Json(json) } => {
                Delta::Identity { name, value: Identity::Json(own(json)) }
            }
            Self::ResponseNote { name, json } => Delta::ResponseNote { name: own(name), json: own(json) },
            Self::Announced => Delta::Announced,
            Self::Repeated => Delta::Repeated,
            Self::Text(text) => Delta::Text(own(text)),
            Self::Thinking(text) => Delta::Thinking(own(text)),
            Self::Signature(text) => Delta::Signature(own(text)),
            Self::ThinkingData(text) => Delta::ThinkingData(own(text)),
            Self::Refusal(text) => Delta::Refusal(own(text)),
            Self::Call(call) => Delta::Call(Box::new(call.into_owned())),
            Self::Raw { kind, json, whole } => Delta::Raw { kind: own(kind), json: own(json), whole },
            Self::Note { name, json, repeats } => Delta::Note { name: own(name), json: own(json), repeats },
            Self::Open { slot, head } => Delta::Open { slot, head: head.into_owned() },
            Self::Grow { slot, part, text } => Delta::Grow { slot, part, text: own(text) },
            Self::NoteOn { slot, name, json } => Delta::NoteOn { slot, name: own(name), json: own(json) },
            Self::Close { slot } => Delta::Close { slot },
            Self::Quirk(quirk) => Delta::Quirk(quirk),
            Self::Refused(quirk) => Delta::Refused(quirk),
            Self::Stop { reason, native } => Delta::Stop { reason: own(reason), native: own(native) },
            Self::Usage { counts, json } => Delta::Usage { counts, json: own(json) },
            Self::Error(json) => Delta::Error(own(json)),
            Self::End => Delta::End,
        }
    }
}

/// How a numbered block is announced.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockHead<'a> {
    /// What it is.
    pub kind: BlockKind,
    /// The tool call's id, or that of the call that a result is for; none if the wire has none.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name, or the wire's name for an unknown kind.
    pub name: Cow<'a, str>,
}

impl BlockHead<'_> {
    fn into_owned(self) -> BlockHead<'static> {
        BlockHead { kind: self.kind, id: self.id.map(own), name: own(self.name) }
    }
}

impl CallDelta<'_> {
    fn into_owned(self) -> CallDelta<'static> {
        CallDelta {
            index: self.index,
            id: self.id.map(own),
            name: self.name.map(own),
            arguments: own(self.arguments),
            sort: self.sort,
            arguments_were_json: self.arguments_were_json,
            notes: self.notes.into_iter().map(|(name, json)| (own(name), own(json))).collect(),
        }
    }
}
