//! Ids of calls and answers, as the target's clients expect them.
//!
//! Rules. (1) Within one format an id stays as it is. (2) Between formats the prefix changes and the rest stays, so that the id can be
//! told back: `call_1` is `toolu_1`. (3) What the target would refuse, or what is taken already, is replaced by a made one. (4) The map is kept for the stream.

use crate::wire::Target;
use crate::wire::output::push_number;

/// The longest id that every format takes.
const LONGEST: usize = 64;

/// The ids of one stream's calls: as they came, and as they were written.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    written: Vec<(String, String)>,
}

impl Ids {
    /// The id to write for the call of that id. Each call is asked for once.
    pub(crate) fn write(&mut self, id: &str, is_native: bool, target: Target) -> String {
        let wanted = if is_native { id.to_owned() } else { renamed(id, target) };
        let written = if is_native || self.is_fit(&wanted) { wanted } else { self.made(target) };
        self.written.push((written.clone(), id.to_owned()));
        written
    }

    fn is_fit(&self, id: &str) -> bool {
        let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        !id.is_empty() && id.len() <= LONGEST && id.bytes().all(is_legal) && self.is_free(id)
    }

    fn is_free(&self, id: &str) -> bool {
        self.written.iter().all(|(written, _)| written != id)
    }

    fn made(&self, target: Target) -> String {
        let made = |number: usize| format!("{}{number}", prefix(target));
        // One more than are written: at least one of them is free.
        (0..=self.written.len()).map(made).find(|id| self.is_free(id)).unwrap_or_default()
    }

    /// Which id stands for which: as written, as it came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.written.iter().map(|(written, came)| (written.as_str(), came.as_str()))
    }
}

fn prefix(target: Target) -> &'static str {
    match target {
        Target::AnthropicMessages => "toolu_",
        Target::OpenaiChat | Target::OpenaiResponses => "call_",
    }
}

fn renamed(id: &str, target: Target) -> String {
    let foreign = match target {
        Target::AnthropicMessages => "call_",
        Target::OpenaiChat | Target::OpenaiResponses => "toolu_",
    };
    id.strip_prefix(foreign).map_or_else(|| id.to_owned(), |stem| format!("{}{stem}", prefix(target)))
}

/// An id that is made: `content_1`.
pub(crate) fn numbered(stem: &str, number: u64) -> String {
    let mut id = String::with_capacity(stem.len() + 4);
    id.push_str(stem);
    id.push('_');
    push_number(&mut id, number);
    id
}
