//! One text on its way into blocks.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::op::{Op, Opened};
use super::scanner::Scanner;
use crate::delta::{BlockHead, Delta, Field, Located, Origin};
use crate::event::{BlockKind, Part};
use crate::intake::KEPT_DELTAS;
use crate::wire::ids::numbered;

/// The first number of the blocks that are made here. No wire format counts so far, but for the one number that none of them opens.
const FIRST_SLOT: u64 = 1 << 62;

/// What the ids begin with that are made.
const MADE: &str = "tag_call";

/// What is given out once.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    slots: u64,
    pub(super) calls: usize,
    /// The numbers of the calls that have the id that is made for them.
    made: Vec<usize>,
    /// All other ids.
    ids: HashSet<String>,
    /// The last suffix that was put behind an id to make it another.
    suffixes: HashMap<String, u64>,
}

/// One text, and the blocks that it has come to.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) scanner: Scanner,
    /// The text block that is open.
    plain: Option<u64>,
    /// The other block that is open.
    block: Option<u64>,
    pub(super) newest: Option<u64>,
    /// Notes for the first block.
    pub(super) notes: Vec<(String, String)>,
    /// Memory for what the next piece says.
    spare: Vec<Op<'static>>,
}

/// Where made deltas go. The first of them has the place of what said it, so that a chunk shows it once.
pub(super) struct Out<'o, 'a> {
    pub(super) deltas: &'o mut Vec<Located<'a>>,
    pub(super) numbers: &'o mut Numbers,
    pub(super) choice: u32,
    pub(super) origin: Origin,
    /// Whether a call was made.
    pub(super) has_calls: bool,
}

impl<'a> Out<'_, 'a> {
    pub(super) fn push(&mut self, delta: Delta<'a>) {
        let next = Origin { field: Field::Continued, element: 0, ..self.origin };
        let origin = std::mem::replace(&mut self.origin, next);
        self.deltas.push(Located { choice: self.choice, origin, delta });
    }

    /// More of a part. What a chunk adds to it is one delta, however many markers were looked for in it.
    fn grow(&mut self, slot: u64, part: Part, text: Cow<'a, str>) {
        if let Some(Located { delta: Delta::Grow { slot: last, part: same, text: so_far }, .. }) =
            self.deltas.last_mut()
            && (*last, *same) == (slot, part)
        {
            so_far.to_mut().push_str(&text);
            return;
        }
        self.push(Delta::Grow { slot, part, text });
    }

    /// Whether the place in the chunk has not been taken by anything.
    pub(super) fn says_nothing(&self) -> bool {
        self.origin.field != Field::Continued
    }

    fn open(&mut self, kind: BlockKind, id: Option<String>, name: String) -> u64 {
        let slot = FIRST_SLOT + self.numbers.slots;
        self.numbers.slots += 1;
        self.push(Delta::Open { slot, head: BlockHead { kind, id: id.map(Cow::Owned), name: Cow::Owned(name) } });
        slot
    }

    fn open_block(&mut self, opened: Opened) -> u64 {
        match opened {
            Opened::Thinking => self.open(BlockKind::Thinking, None, String::new()),
            Opened::Call { name, id } => {
                self.has_calls = true;
                let id = self.numbers.call_id(id);
                self.open(BlockKind::FunctionCall, Some(id), name)
            }
            Opened::Result { call_id, is_failure } => {
                let slot = self.open(BlockKind::ToolResult, call_id, "tool_result".to_owned());
                if is_failure {
                    self.note(slot, "is_error", "true");
                }
                slot
            }
        }
    }

    fn note(&mut self, slot: u64, name: &'static str, json: &str) {
        self.push(Delta::NoteOn { slot, name: Cow::Borrowed(name), json: Cow::Owned(json.to_owned()) });
    }
}

impl Numbers {
    /// The id that the text gives a call, or one that is made; never the same twice.
    fn call_id(&mut self, given: Option<String>) -> String {
        let number = self.calls;
        self.calls += 1;
        let is_made = given.is_none();
        let stem = given.unwrap_or_else(|| numbered(MADE, number as u64));
        if is_made && !self.ids.contains(&stem) {
            self.made.push(number);
            return stem;
        }
        let mut id = stem.clone();
        let mut suffix = self.suffixes.get(&stem).copied().unwrap_or_default();
        while self.is_taken(&id) {
            suffix += 1;
            id = numbered(&stem, suffix);
        }
        if suffix > 0 {
            self.suffixes.insert(stem, suffix);
        }
        self.ids.insert(id.clone());
        id
    }

    fn is_taken(&self, id: &str) -> bool {
        let number = id.strip_prefix(MADE).and_then(|rest| rest.strip_prefix('_')?.parse().ok());
        let is_made = |number: usize| numbered(MADE, number as u64) == id && self.made.binary_search(&number).is_ok();
        self.ids.contains(id) || number.is_some_and(is_made)
    }
}

impl Text {
    /// A text that goes on from where the prompt has left it.
    pub(super) fn new(mut scanner: Scanner, prefill: &str, out: &mut Out<'_, '_>) -> Self {
        let opening = scanner.begin(prefill);
        let mut text = Self { scanner, plain: None, block: None, newest: None, notes: Vec::new(), spare: Vec::new() };
        for op in opening {
            text.apply(op, out);
        }
        text
    }

    fn apply<'a>(&mut self, op: Op<'a>, out: &mut Out<'_, 'a>) {
        match op {
            Op::Text(text) => {
                let slot = self.plain.unwrap_or_else(|| out.open(BlockKind::Text, None, String::new()));
                if self.plain.replace(slot).is_none() {
                    self.begin(slot, out);
                }
                out.grow(slot, Part::Text, text);
            }
            Op::EndText => self.end_plain(out),
            Op::Open(opened) => {
                self.end_plain(out);
                let slot = out.open_block(opened);
                self.block = Some(slot);
                self.begin(slot, out);
            }
            Op::Grow(part, text) => {
                if let Some(slot) = self.block {
                    out.grow(slot, part, text);
                }
            }
            Op::Note(name, json) => {
                if let Some(slot) = self.block {
                    out.note(slot, name, &json);
                }
            }
            Op::Close => {
                if let Some(slot) = self.block.take() {
                    out.push(Delta::Close { slot });
                }
            }
            Op::Quirk(quirk) => out.push(Delta::Quirk(quirk)),
            Op::Stopped(sequence) => {
                if let Some(slot) = self.plain {
                    out.note(slot, "stop_sequence", &serde_json::Value::from(sequence).to_string());
                }
                self.end_plain(out);
            }
        }
    }

    fn begin(&mut self, slot: u64, out: &mut Out<'_, '_>) {
        self.newest = Some(slot);
        for (name, json) in self.notes.drain(..) {
            out.push(Delta::NoteOn { slot, name: Cow::Owned(name), json: Cow::Owned(json) });
        }
    }

    fn end_plain(&mut self, out: &mut Out<'_, '_>) {
        if let Some(slot) = self.plain.take() {
            out.push(Delta::Close { slot });
        }
    }

    /// The block that a piece makes longer, if it does nothing else.
    pub(super) fn grows_by(&self, piece: &str) -> Option<u64> {
        // Thinking is the one other block that grows by text as it stands.
        let open = if self.scanner.stack.is_empty() { self.plain } else { self.block };
        open.filter(|_| !piece.is_empty() && self.scanner.is_plain(piece))
    }

    pub(super) fn feed<'a>(&mut self, text: Cow<'a, str>, out: &mut Out<'_, 'a>) {
        if let Some(slot) = self.grows_by(&text) {
            return out.grow(slot, Part::Text, text);
        }
        let mut ops: Vec<Op<'a>> = std::mem::take(&mut self.spare);
        match text {
            Cow::Borrowed(text) => self.scanner.feed(text, &mut ops),
            Cow::Owned(text) => {
                let mut borrowed = Vec::new();
                self.scanner.feed(&text, &mut borrowed);
                ops.extend(borrowed.into_iter().map(Op::into_owned));
            }
        }
        for op in ops.drain(..) {
            self.apply(op, out);
        }
        ops.shrink_to(KEPT_DELTAS);
        // An empty list has no lifetime; collecting it in place keeps its memory.
        self.spare = ops.into_iter().map(Op::into_owned).collect();
    }

    /// Releases what is held.
    pub(super) fn release(&mut self, out: &mut Out<'_, '_>) {
        let mut ops = Vec::new();
        self.scanner.release(&mut ops);
        for op in ops {
            self.apply(op.into_owned(), out);
        }
    }

    /// The text is over.
    pub(super) fn finish(&mut self, out: &mut Out<'_, '_>) {
        self.release(out);
        let mut ops = Vec::new();
        self.scanner.unwind(&mut ops);
        for op in ops {
            self.apply(op.into_owned(), out);
        }
        if !self.notes.is_empty() {
            // What is said of a text that is empty is kept with one.
            let slot = out.open(BlockKind::Text, None, String::new());
            self.plain = Some(slot);
            self.begin(slot, out);
        }
        self.end_plain(out);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Numbers;

    /// The same, plainly: every id is remembered, and a suffix is counted up until none is the same.
    fn expected(number: usize, given: Option<&str>, taken: &mut HashSet<String>) -> String {
        let stem = given.map_or_else(|| format!("tag_call_{number}"), str::to_owned);
        let mut id = stem.clone();
        let mut suffix = 0;
        while !taken.insert(id.clone()) {
            suffix += 1;
            id = format!("{stem}_{suffix}");
        }
        id
    }

    #[test]
    fn no_two_calls_have_the_same_id_whoever_gives_it() {
        let words =
            [None, Some("a"), Some("tag_call_1"), Some("tag_call_01"), Some("tag_call_4_1"), Some("tag_call_9")];
        // Every sequence of six, counted in the base of the words.
        for sequence in 0..words.len().pow(6) {
            let (mut numbers, mut taken) = (Numbers::default(), HashSet::new());
            for place in 0..6 {
                let given = words.get(sequence / words.len().pow(place) % words.len()).copied().flatten();
                let wanted = expected(numbers.calls, given, &mut taken);
                assert_eq!(numbers.call_id(given.map(str::to_owned)), wanted);
            }
        }
    }
}
