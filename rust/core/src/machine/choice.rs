//! One of the answers side by side: its blocks, and which of its tool calls a delta means.

use std::collections::HashMap;

use crate::delta::{CallDelta, CallSort};
use crate::event::Part;
use crate::wire::progress::JsonProgress;

/// Fields and their last values. A peer chooses the names, so they are hashed with a seed.
pub(crate) type Noted = HashMap<String, String>;

/// One of the answers side by side.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) number: u32,
    pub(crate) current: Option<usize>,
    pub(crate) newest: Option<usize>,
    pub(crate) newest_thinking: Option<Thinking>,
    pub(crate) calls: Vec<Call>,
    /// How many calls it has had, of either way of numbering.
    pub(crate) call_count: usize,
    pub(crate) is_finished: bool,
    /// The kind of the current block, if that is one that grows raw.
    pub(crate) growing_raw: Option<String>,
    /// The last note of each name on the newest block, to tell repetitions.
    pub(crate) noted: Noted,
}

/// A thinking block, and what it has had of what comes once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thinking {
    pub(crate) block: usize,
    pub(crate) has_signature: bool,
    pub(crate) has_data: bool,
}

impl Thinking {
    pub(crate) fn has(&self, part: Part) -> bool {
        match part {
            Part::Signature => self.has_signature,
            Part::Data => self.has_data,
            Part::Text | Part::Name | Part::Arguments | Part::Raw => false,
        }
    }
}

/// A tool call as far as it can be told from others.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) block: usize,
    pub(crate) index: Option<u64>,
    pub(crate) wire_id: Option<String>,
    pub(crate) name: String,
    pub(crate) sort: CallSort,
    pub(crate) argument_bytes: usize,
    pub(crate) progress: JsonProgress,
}

/// Which call a delta means.
pub(crate) enum Target {
    Known(usize),
    New,
}

impl Choice {
    pub(crate) fn new(number: u32) -> Self {
        Self {
            number,
            current: None,
            newest: None,
            newest_thinking: None,
            calls: Vec::new(),
            call_count: 0,
            is_finished: false,
            growing_raw: None,
            noted: Noted::new(),
        }
    }

    /// Whether a block is a thinking block whose signature has come: text behind it belongs to the next.
    pub(crate) fn is_signed(&self, block: usize) -> bool {
        self.newest_thinking.is_some_and(|thinking| thinking.block == block && thinking.has_signature)
    }

    /// Whether the current block is a raw one of this kind that more values belong to.
    pub(crate) fn grows(&self, kind: &str) -> bool {
        self.growing_raw.as_deref() == Some(kind)
    }

    fn newest_call(&self, matches: impl Fn(&Call) -> bool) -> Target {
        self.calls.iter().rposition(matches).map_or(Target::New, Target::Known)
    }

    /// The rule of index and id, row by row as the architecture's table has it.
    pub(crate) fn target(&self, delta: &CallDelta<'_>) -> Target {
        let is_legacy = delta.sort == CallSort::Legacy;
        match (delta.index, &delta.id) {
            (Some(index), None) => self.newest_call(|call| call.index == Some(index)),
            (Some(index), Some(id)) => match self.newest_call(|call| call.index == Some(index)) {
                Target::Known(at) if self.calls.get(at).is_some_and(|call| call.accepts_id(id)) => Target::Known(at),
                Target::Known(_) | Target::New => Target::New,
            },
            (None, Some(id)) => self.newest_call(|call| call.wire_id.as_deref() == Some(id)),
            (None, None) => match self.newest_call(|_| true) {
                Target::Known(at)
                    if self.calls.get(at).is_some_and(|call| {
                        (call.sort == CallSort::Legacy) == is_legacy
                            && !(delta.name.is_some() && call.progress.is_whole())
                    }) =>
                {
                    Target::Known(at)
                }
                Target::Known(_) | Target::New => Target::New,
            },
        }
    }
}

impl Call {
    fn accepts_id(&self, id: &str) -> bool {
        self.wire_id.as_deref().is_none_or(|known| known == id)
    }
}
