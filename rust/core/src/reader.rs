//! Events to what the reader of blocks hears: the start of each block, its chunks, its completion.
//!
//! Rules. (1) A block starts before its first chunk and completes behind its last. (2) Blocks are numbered in the order in which they
//! start, the host's own among them. (3) A call says its name, then its id, then its input; the id waits for a name that comes late, but
//! not beyond the first input. (4) A block that is reopened starts again under its number, and completes again with everything.
//! (5) What the host puts between completes the text before it; text behind it is a block of its own. (6) Nothing here is joined or cut:
//! a chunk is what an event gave.

use crate::event::{BlockKind, Event, Part};

/// What a chunk is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkPart {
    /// The content of a block that is no call.
    Text,
    /// The name of a tool.
    Name,
    /// The id of a call.
    Id,
    /// The input of a call.
    Input,
}

/// One thing that the reader of blocks hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A block starts.
    Started {
        /// Its number to the reader.
        index: usize,
        /// What it is.
        kind: BlockKind,
    },
    /// A block has more.
    Chunk {
        /// Its number to the reader.
        index: usize,
        /// Its number in the stream.
        block: usize,
        /// What the chunk is of.
        part: ChunkPart,
        /// What there is more. Never empty.
        text: &'a str,
    },
    /// A block is whole.
    Completed {
        /// Its number to the reader.
        index: usize,
        /// Its number in the stream.
        block: usize,
        /// How many bytes of the stream's block were completed under another number.
        from: usize,
    },
}

/// Takes the items as they come.
pub trait Listener {
    /// Takes one item.
    fn item(&mut self, item: Item<'_>);
}

/// A block of the stream, and what the reader knows it as.
#[derive(Debug)]
struct Reading {
    kind: BlockKind,
    index: usize,
    from: usize,
    length: usize,
    /// The id of a call, until it is said.
    unsaid_id: Option<String>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// Completed for the reader, while the stream may go on with it.
    Severed,
    Complete,
}

/// Numbers the blocks of one stream, and says what happens to them.
#[derive(Debug)]
pub struct BlockReader {
    readings: Vec<Reading>,
    next_index: usize,
}

impl BlockReader {
    /// A reader whose first block has this number.
    pub fn new(first_index: usize) -> Self {
        Self { readings: Vec::new(), next_index: first_index }
    }

    /// The number of the next block.
    pub fn next_index(&self) -> usize {
        self.next_index
    }

    /// Takes an event of the stream.
    pub fn event(&mut self, event: Event<'_>, listener: &mut impl Listener) {
        match event {
            Event::BlockStarted { block, kind, id, name, .. } => self.start(block, kind, id, name, listener),
            Event::BlockGrew { block, part, text } => self.grow(block, part, text, listener),
            Event::BlockReopened { block } => self.reopen(block, listener),
            Event::BlockCompleted { block } => self.complete(block, listener),
            Event::BlockNoted { .. }
            | Event::ResponseNoted { .. }
            | Event::ChoiceFinished { .. }
            | Event::UsageReported { .. }
            | Event::ErrorReported { .. }
            | Event::QuirkSeen(_) => {}
            Event::StreamEnded { .. } => self.abandon(),
        }
    }

    /// The stream is over or given up: what is open stays so.
    pub fn abandon(&mut self) {
        self.readings.clear();
    }

    /// The host has a block of its own: the text before it completes. Gives the number of that block.
    pub fn interpose(&mut self, listener: &mut impl Listener) -> usize {
        for (block, reading) in self.readings.iter_mut().enumerate() {
            let is_text = matches!(reading.kind, BlockKind::Text | BlockKind::Thinking | BlockKind::Refusal);
            if is_text && reading.stage == Stage::Open {
                reading.stage = Stage::Severed;
                listener.item(Item::Completed { index: reading.index, block, from: reading.from });
            }
        }
        self.take_index()
    }

    fn take_index(&mut self) -> usize {
        self.next_index += 1;
        self.next_index - 1
    }

    fn start(&mut self, block: usize, kind: BlockKind, id: &str, name: &str, listener: &mut impl Listener) {
        let index = self.take_index();
        let unsaid_id = kind.is_call().then(|| id.to_owned());
        self.readings.push(Reading { kind, index, from: 0, length: 0, unsaid_id, stage: Stage::Open });
        listener.item(Item::Started { index, kind });
        if kind.is_call() {
            self.grow(block, Part::Name, name, listener);
        }
    }

    fn grow(&mut self, block: usize, part: Part, text: &str, listener: &mut impl Listener) {
        if text.is_empty() {
            return;
        }
        match part {
            Part::Text => self.grow_text(block, text, listener),
            Part::Name => {
                self.say(block, ChunkPart::Name, text, listener);
                self.say_id(block, listener);
            }
            Part::Arguments => {
                self.say_id(block, listener);
                self.say(block, ChunkPart::Input, text, listener);
            }
            // Only the provider can read these, and what is raw is no text: the block has them.
            Part::Signature | Part::Data | Part::Raw => {}
        }
    }

    fn grow_text(&mut self, block: usize, text: &str, listener: &mut impl Listener) {
        let next_index = self.next_index;
        let Some(reading) = self.readings.get_mut(block) else { return };
        if reading.stage == Stage::Severed {
            reading.stage = Stage::Open;
            reading.index = next_index;
            reading.from = reading.length;
            self.next_index += 1;
            listener.item(Item::Started { index: reading.index, kind: reading.kind });
        }
        reading.length += text.len();
        listener.item(Item::Chunk { index: reading.index, block, part: ChunkPart::Text, text });
    }

    fn say(&self, block: usize, part: ChunkPart, text: &str, listener: &mut impl Listener) {
        if let Some(reading) = self.readings.get(block) {
            listener.item(Item::Chunk { index: reading.index, block, part, text });
        }
    }

    fn say_id(&mut self, block: usize, listener: &mut impl Listener) {
        let unsaid = self.readings.get_mut(block).and_then(|reading| reading.unsaid_id.take());
        if let Some(id) = unsaid.filter(|id| !id.is_empty()) {
            self.say(block, ChunkPart::Id, &id, listener);
        }
    }

    fn reopen(&mut self, block: usize, listener: &mut impl Listener) {
        let Some(reading) = self.readings.get_mut(block) else { return };
        if reading.stage == Stage::Complete {
            reading.stage = Stage::Open;
            listener.item(Item::Started { index: reading.index, kind: reading.kind });
        }
    }

    fn complete(&mut self, block: usize, listener: &mut impl Listener) {
        self.say_id(block, listener);
        let Some(reading) = self.readings.get_mut(block) else { return };
        if reading.stage == Stage::Open {
            listener.item(Item::Completed { index: reading.index, block, from: reading.from });
        }
        reading.stage = Stage::Complete;
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockReader, ChunkPart, Item, Listener};
    use crate::event::{BlockKind, Event, Part};

    #[derive(Default)]
    struct Heard(Vec<String>);

    impl Listener for Heard {
        fn item(&mut self, item: Item<'_>) {
            self.0.push(match item {
                Item::Started { index, kind } => format!("{index} {kind:?}"),
                Item::Chunk { index, part: ChunkPart::Text, text, .. } => format!("{index} {text:?}"),
                Item::Chunk { index, part, text, .. } => format!("{index} {part:?} {text:?}"),
                Item::Completed { index, from, .. } => format!("{index} whole from {from}"),
            });
        }
    }

    fn started(block: usize, kind: BlockKind, name: &'static str) -> Event<'static> {
        Event::BlockStarted { block, kind, id: "id", name, call_id: "", choice: 0, call: 0 }
    }

    fn grew(block: usize, part: Part, text: &'static str) -> Event<'static> {
        Event::BlockGrew { block, part, text }
    }

    fn heard(reader: &mut BlockReader, events: &[Event<'_>]) -> Vec<String> {
        let mut heard = Heard::default();
        for event in events {
            reader.event(*event, &mut heard);
        }
        heard.0
    }

    #[test]
    fn a_call_says_its_name_its_id_and_its_input() {
        let events = [
            started(0, BlockKind::FunctionCall, "ls"),
            grew(0, Part::Arguments, "{}"),
            Event::BlockCompleted { block: 0 },
        ];
        let expected = ["4 FunctionCall", "4 Name \"ls\"", "4 Id \"id\"", "4 Input \"{}\"", "4 whole from 0"];
        assert_eq!(heard(&mut BlockReader::new(4), &events), expected);
    }

    #[test]
    fn an_id_waits_for_its_name_but_not_for_ever() {
        let named_late = [started(0, BlockKind::FunctionCall, ""), grew(0, Part::Name, "ls")];
        assert_eq!(heard(&mut BlockReader::new(0), &named_late), ["0 FunctionCall", "0 Name \"ls\"", "0 Id \"id\""]);
        let nameless =
            [started(0, BlockKind::FunctionCall, ""), grew(0, Part::Arguments, "{"), grew(0, Part::Name, "ls")];
        let expected = ["0 FunctionCall", "0 Id \"id\"", "0 Input \"{\"", "0 Name \"ls\""];
        assert_eq!(heard(&mut BlockReader::new(0), &nameless), expected);
        let empty = [started(0, BlockKind::FunctionCall, ""), Event::BlockCompleted { block: 0 }];
        assert_eq!(heard(&mut BlockReader::new(0), &empty), ["0 FunctionCall", "0 Id \"id\"", "0 whole from 0"]);
    }

    #[test]
    fn a_block_that_is_reopened_starts_and_completes_again() {
        let events = [
            started(0, BlockKind::FunctionCall, "ls"),
            Event::BlockCompleted { block: 0 },
            Event::BlockReopened { block: 0 },
            grew(0, Part::Arguments, "{}"),
            Event::BlockCompleted { block: 0 },
        ];
        let heard = heard(&mut BlockReader::new(0), &events);
        assert_eq!(heard.iter().filter(|item| *item == "0 FunctionCall").count(), 2);
        assert!(heard.ends_with(&["0 FunctionCall".into(), "0 Input \"{}\"".into(), "0 whole from 0".into()]));
    }

    #[test]
    fn what_the_host_puts_between_parts_the_text() {
        let mut reader = BlockReader::new(0);
        heard(&mut reader, &[started(0, BlockKind::Text, ""), grew(0, Part::Text, "one")]);
        let mut between = Heard::default();
        assert_eq!(reader.interpose(&mut between), 1);
        assert_eq!(between.0, ["0 whole from 0"]);
        let after = heard(&mut reader, &[grew(0, Part::Text, "two"), Event::BlockCompleted { block: 0 }]);
        assert_eq!(after, ["2 Text", "2 \"two\"", "2 whole from 3"]);
    }

    #[test]
    fn text_that_does_not_go_on_behind_the_host_completes_once() {
        let mut reader = BlockReader::new(0);
        heard(&mut reader, &[started(0, BlockKind::Text, ""), grew(0, Part::Text, "one")]);
        reader.interpose(&mut Heard::default());
        assert_eq!(heard(&mut reader, &[Event::BlockCompleted { block: 0 }]), Vec::<String>::new());
    }

    #[test]
    fn what_an_end_leaves_open_stays_open() {
        let mut reader = BlockReader::new(0);
        heard(&mut reader, &[started(0, BlockKind::Text, ""), Event::StreamEnded { interrupted: true }]);
        let mut between = Heard::default();
        assert_eq!(reader.interpose(&mut between), 1);
        assert_eq!(between.0, Vec::<String>::new());
    }

    #[test]
    fn a_call_is_not_parted() {
        let mut reader = BlockReader::new(0);
        heard(&mut reader, &[started(0, BlockKind::FunctionCall, "ls"), grew(0, Part::Arguments, "{")]);
        let mut between = Heard::default();
        assert_eq!(reader.interpose(&mut between), 1);
        assert_eq!(between.0, Vec::<String>::new());
        assert_eq!(heard(&mut reader, &[Event::BlockCompleted { block: 0 }]), ["0 whole from 0"]);
    }
}
