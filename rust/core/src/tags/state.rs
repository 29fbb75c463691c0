//! Where a text stands between the markers that have come.

/// Where in the structure the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Text,
    Fence,
    Thinking(usize),
    Section(usize),
    /// In a call, between its parameters.
    Call(usize),
    /// In a call whose arguments are JSON.
    Arguments(usize),
    /// In a call that is a JSON object, in a section.
    Object(usize),
    Value(usize),
    Results(usize),
    Result(usize),
}

impl State {
    /// Whether what is said here may change which markers count, before the next of them comes.
    pub(super) fn may_change(self) -> bool {
        matches!(self, Self::Section(_) | Self::Arguments(_) | Self::Object(_))
    }

    /// Whether text is visible here, so that a stop sequence ends it.
    pub(super) fn is_visible(self) -> bool {
        matches!(self, Self::Text | Self::Fence | Self::Section(_))
    }
}
