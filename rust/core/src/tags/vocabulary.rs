//! What a vocabulary is: its elements, and the markers that open and close them.

use std::fmt;

/// A part of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerPiece {
    /// These characters.
    Literal(String),
    /// White space, or none.
    Space,
    /// A namespace prefix with its colon, or none.
    Prefix,
    /// A word, kept under this name.
    Capture(String),
    /// The rest of an opening tag: attributes of which some are kept (attribute, name), and its end.
    Attributes(Vec<(String, String)>),
}

/// What stands in the text in place of structure.
pub type Marker = Vec<MarkerPiece>;

/// What an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reasoning.
    Thinking,
    /// Calls, one or several.
    Section,
    /// A call.
    Call,
    /// A parameter of a call.
    Parameter,
    /// Results of tools, one or several.
    Results,
    /// A result.
    Result,
    /// A result that is an error.
    Failure,
    /// Nothing: the marker is left out.
    Ignored,
}

/// What stands between the markers of a call or a section.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Body {
    /// Other elements.
    #[default]
    Elements,
    /// In a call: its arguments as JSON.
    Arguments,
    /// In a section: calls as JSON objects, which have these names for the tool and for its arguments.
    JsonCalls {
        /// The names for the tool's name.
        names: Vec<String>,
        /// The names for its arguments.
        arguments: Vec<String>,
    },
}

/// What the text of a parameter is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueRule {
    /// A string, as it stands.
    #[default]
    Raw,
    /// JSON if it is one value of JSON, else a string.
    Json,
}

/// Something that a marker opens, and another closes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// What it is.
    pub role: Role,
    /// What opens it.
    pub open: Marker,
    /// What closes it; none if it has no end of its own.
    pub close: Option<Marker>,
    /// What it holds.
    pub body: Body,
    /// What the text of a parameter is where no schema says so.
    pub values: ValueRule,
    /// Whether a line end behind the opening and one before the closing marker belong to the markers.
    pub trims: bool,
    /// The id of a call, made of what its marker has: `functions.{name}:{index}`; empty if ids are made.
    pub call_id: String,
}

/// Whether something is left as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    /// It is.
    #[default]
    AsItIs,
    /// It is not: entities are decoded, CDATA is unwrapped, fences exempt what they hold, a call ends thinking.
    No,
}

/// Which markers there are, and what they mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// Its elements.
    pub elements: Vec<Element>,
    /// Texts that end the answer.
    pub stops: Vec<String>,
    /// What the prompt ended in, of the answer.
    pub prefill: String,
    /// Character references in values and attributes.
    pub entities: Kept,
    /// CDATA sections in values.
    pub cdata: Kept,
    /// Tags in fenced code.
    pub fences: Kept,
    /// Thinking in which a call begins.
    pub thinking: Kept,
    /// By the name of a tool and of its parameter: what the text of the parameter is.
    pub types: Vec<(String, String, ValueRule)>,
}

/// Why a vocabulary cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VocabularyError {
    /// A marker that matches no text, or could be anything.
    EmptyMarker,
    /// A marker that is longer than what may be held.
    LongMarker {
        /// How much that is.
        allowed: usize,
    },
}

impl fmt::Display for VocabularyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyMarker => f.write_str("a marker of a vocabulary must begin with characters of its own"),
            Self::LongMarker { allowed } => {
                write!(f, "a marker of a vocabulary must not be longer than tag_bytes = {allowed}")
            }
        }
    }
}

impl std::error::Error for VocabularyError {}
