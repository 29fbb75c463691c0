//! Why an answer cannot be written to its end, in words that every target has.

use serde_json::Value;

use crate::wire::room;

/// What went wrong, as far as a client acts on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Anything that has no kind of its own.
    Api,
    /// The request cannot be served as it is.
    InvalidRequest,
    /// The key is not good.
    Authentication,
    /// Nobody has paid.
    Billing,
    /// The key may not do this.
    Permission,
    /// There is no such thing.
    NotFound,
    /// Too much was asked for at once.
    RateLimit,
    /// It took too long.
    Timeout,
    /// The upstream has too much to do.
    Overloaded,
}

const KINDS: [FailureKind; 9] = [
    FailureKind::Api,
    FailureKind::InvalidRequest,
    FailureKind::Authentication,
    FailureKind::Billing,
    FailureKind::Permission,
    FailureKind::NotFound,
    FailureKind::RateLimit,
    FailureKind::Timeout,
    FailureKind::Overloaded,
];

impl FailureKind {
    /// The word that users and Messages have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Api => "api_error",
            Self::InvalidRequest => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Billing => "billing_error",
            Self::Permission => "permission_error",
            Self::NotFound => "not_found_error",
            Self::RateLimit => "rate_limit_error",
            Self::Timeout => "timeout_error",
            Self::Overloaded => "overloaded_error",
        }
    }

    /// The kind of that word.
    pub fn from_name(name: &str) -> Option<Self> {
        KINDS.into_iter().find(|kind| kind.name() == name)
    }

    /// The code that `OpenAI`'s formats have for it.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit_exceeded",
            Self::InvalidRequest | Self::NotFound => "invalid_prompt",
            Self::Api | Self::Authentication | Self::Billing | Self::Permission | Self::Timeout | Self::Overloaded => {
                "server_error"
            }
        }
    }

    /// The kind that an HTTP status stands for.
    fn from_status(status: u64) -> Option<Self> {
        match status {
            400 | 413 | 422 => Some(Self::InvalidRequest),
            401 => Some(Self::Authentication),
            402 => Some(Self::Billing),
            403 => Some(Self::Permission),
            404 => Some(Self::NotFound),
            408 | 504 => Some(Self::Timeout),
            429 => Some(Self::RateLimit),
            503 | 529 => Some(Self::Overloaded),
            500..=599 => Some(Self::Api),
            _ => None,
        }
    }

    /// The kind that an upstream's own word stands for.
    fn from_word(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let has = |part: &str| word.contains(part);
        Self::from_name(&word).or(match () {
            () if has("rate_limit") || has("too_many") => Some(Self::RateLimit),
            () if has("overload") || has("unavailable") => Some(Self::Overloaded),
            () if has("quota") || has("billing") || has("credit") => Some(Self::Billing),
            () if has("auth") || has("api_key") => Some(Self::Authentication),
            () if has("permission") || has("forbidden") => Some(Self::Permission),
            () if has("not_found") => Some(Self::NotFound),
            () if has("timeout") => Some(Self::Timeout),
            () if has("invalid") => Some(Self::InvalidRequest),
            () => None,
        })
    }
}

/// How long a message may be that is passed on: an error page is not a message.
const MESSAGE_CHARS: usize = 500;

/// Why an answer cannot be written to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What a client acts on.
    pub kind: FailureKind,
    /// What a person reads.
    pub message: String,
}

impl Failure {
    /// A failure; its message is made fit to be shown.
    pub fn new(kind: FailureKind, message: &str) -> Self {
        let shown = message.chars().filter(|character| !character.is_control() || *character == ' ');
        Self { kind, message: shown.take(MESSAGE_CHARS).collect() }
    }

    /// The stream was cut.
    pub(crate) fn interrupted() -> Self {
        Self::new(FailureKind::Api, "the upstream ended its stream before the answer was finished")
    }

    /// The stream ended, but nothing said why.
    pub(crate) fn unexplained() -> Self {
        Self::new(FailureKind::Api, "the upstream ended its stream without a finish reason")
    }

    /// The stream ended for a reason that the target has no word for.
    pub(crate) fn unknown_reason() -> Self {
        Self::new(FailureKind::Api, "the upstream gave a finish reason that cannot be passed on")
    }

    /// What the upstream reported.
    pub(crate) fn from_upstream(json: &str) -> Self {
        let said = room::value(json);
        let inner = said.get("error").filter(|inner| inner.is_object() || inner.is_string()).unwrap_or(&said);
        let words = ["message", "detail", "msg"].iter().find_map(|name| inner.get(name)?.as_str());
        let message = inner.as_str().or(words).unwrap_or("the upstream reported an error");
        let named = ["type", "code", "status"].iter().filter_map(|name| inner.get(name));
        let kind = |value: &Value| match value {
            Value::String(word) => {
                word.parse().ok().and_then(FailureKind::from_status).or(FailureKind::from_word(word))
            }
            Value::Number(status) => status.as_u64().and_then(FailureKind::from_status),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let kinds: Vec<FailureKind> = named.filter_map(kind).collect();
        // A bad key and an unknown model are invalid requests to some, who say more in another field.
        let says_more = |kind: &&FailureKind| !matches!(kind, FailureKind::Api | FailureKind::InvalidRequest);
        let kind = kinds.iter().find(says_more).or(kinds.first());
        Self::new(kind.copied().unwrap_or(FailureKind::Api), message)
    }
}
