//! The stages joined, for one stream.
//!
//! A session takes reads or whole chunks and goes on by one *piece* at a time: a chunk, or as much of a chunk as completes one block.
//! Whoever wants no pieces takes them in a loop.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Malformed};
use crate::event::{Quirk, Sink};
use crate::intake::{FIRST_DELTAS, Intake, Took};
use crate::limits::Limits;
use crate::machine::BlockMachine;
use crate::mode::{Grain, Mode};
use crate::piece::{ChunkText, Piece, Problem};
use crate::sse::{Frame, SseFramer};
use crate::tags::{Grammar, Stage};
use crate::wire::text::{self, NextText, TextReads};
use crate::wire::{Decoder, Protocol, TERMINATOR};

/// All stages of one stream.
#[derive(Debug)]
pub struct Session {
    limits: Limits,
    framer: SseFramer,
    intake: Intake,
    closing: VecDeque<u32>,
    /// Whether the first bytes have told a stream of events from a whole body.
    is_known_to_stream: bool,
    /// An answer that comes whole although a stream was expected.
    body: Option<Vec<u8>>,
    /// The reads of a stream that is text alone.
    text: TextReads,
    /// Whether the terminator has come, and what tags have left open is being ended.
    is_terminating: bool,
    /// Whether the rest of the pieces belongs to no chunk.
    is_made: bool,
    /// How many events the last read has brought to their end.
    events: u64,
    chunks: u64,
    end: End,
}

/// How far the end of the input has been worked off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotYet,
    Tail,
    Released,
    Over,
}

impl Session {
    /// A session for one stream.
    pub fn new(source: Option<Protocol>, mode: Mode, grain: Grain, limits: Limits) -> Self {
        let intake = Intake {
            decoder: Decoder::new(source),
            machine: BlockMachine::new(limits),
            tags: None,
            mode,
            grain,
            problems: Vec::new(),
            rest: Vec::new().into_iter().peekable(),
            rest_offset: 0,
            kept: Vec::with_capacity(FIRST_DELTAS),
            dropped: Vec::new(),
            spare: Vec::with_capacity(FIRST_DELTAS),
            has_told_source: false,
            deltas: 0,
            // How text alone is cut into reads says nothing of the stream.
            most_deltas: if source == Some(Protocol::Text) { usize::MAX } else { limits.deltas },
        };
        Self {
            limits,
            framer: SseFramer::new(limits.frame_bytes),
            intake,
            closing: VecDeque::new(),
            is_known_to_stream: false,
            body: None,
            text: TextReads::default(),
            is_terminating: false,
            is_made: false,
            events: 0,
            chunks: 0,
            end: End::NotYet,
        }
    }

    /// What the stream may cost.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The same, reading the tags of a vocabulary in whatever text there is.
    #[must_use]
    pub fn with_tags(mut self, grammar: Arc<Grammar>) -> Self {
        self.intake.tags = Some(Stage::new(grammar, self.limits.argument_bytes));
        self
    }

    /// Counts the calls from tags from this number on, so that the ids that are made for them differ from those of an earlier stream.
    pub fn count_tag_calls_from(&mut self, first: usize) {
        if let Some(tags) = &mut self.intake.tags {
            tags.count_calls_from(first);
        }
    }

    /// The chunks that were skipped since the last call.
    pub fn take_problems(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.intake.problems)
    }

    /// The format, if it was named or could be told.
    pub fn protocol(&self) -> Option<Protocol> {
        self.intake.decoder.protocol()
    }

    /// Whether the terminator has come: nothing after it counts.
    pub fn is_terminated(&self) -> bool {
        self.intake.machine.is_terminated()
    }

    /// Whether what was fed last has brought an event on: a comment, and a part of an event, have not. A body has none, so any part of it counts.
    pub fn took_event(&self) -> bool {
        self.events > 0
    }

    /// Whether it is known which response this is, so that a chunk need not say so again.
    pub fn is_identified(&self) -> bool {
        self.intake.decoder.is_identified()
    }

    /// The block that the stream is writing.
    pub fn current_block(&self) -> Option<usize> {
        self.intake.machine.current_block()
    }

    fn is_text(&self) -> bool {
        self.protocol() == Some(Protocol::Text)
    }

    /// Takes a read of server-sent events, or of text if that is the source. What it says comes from [`Self::next_piece`].
    pub fn feed(&mut self, read: &[u8]) {
        self.events = 0;
        if self.is_text() {
            return self.text.feed(read);
        }
        if self.intake.machine.is_terminated() {
            return;
        }
        if !self.is_known_to_stream {
            match read.iter().find(|byte| !byte.is_ascii_whitespace()) {
                // No line of an event stream that says anything begins so.
                Some(b'{') => self.body = Some(Vec::new()),
                Some(_) => {}
                None => return self.framer.feed(read),
            }
            self.is_known_to_stream = true;
        }
        match &mut self.body {
            Some(body) => {
                self.events = u64::from(!read.is_empty());
                body.extend_from_slice(read);
            }
            None => self.framer.feed(read),
        }
    }

    /// Takes one chunk as JSON, or a piece of text if that is the source, and the first piece of it.
    pub fn feed_json<'a>(&'a mut self, text: &'a str, sink: &mut impl Sink) -> Result<Option<Piece<'a>>, Error> {
        if self.intake.machine.is_terminated() {
            return Ok(None);
        }
        let offset = self.count_chunk();
        let mut deltas = self.intake.spare();
        if let Err(malformed) = self.intake.decoder.decode_json(text, &mut deltas) {
            return self.intake.skip(malformed, offset, sink).map(|()| None);
        }
        if self.is_text() {
            self.intake.take(deltas, offset, sink)?;
            return Ok(Some(self.intake.piece(ChunkText::Text(text))));
        }
        if text.as_bytes() == TERMINATOR {
            if self.intake.is_chat() {
                return self.begin_termination(offset, sink);
            }
            return self.next_piece(sink);
        }
        self.intake.take(deltas, offset, sink)?;
        Ok(Some(self.intake.piece(ChunkText::Json(text.as_bytes()))))
    }

    /// Takes one chunk that the caller has as an object, written as JSON, and the first piece of it.
    pub fn feed_value(&mut self, json: &str, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error> {
        if self.intake.machine.is_terminated() {
            return Ok(None);
        }
        let offset = self.count_chunk();
        let mut deltas = self.intake.spare();
        if let Err(malformed) = self.intake.decoder.decode_object(json, &mut deltas) {
            return self.intake.skip(malformed, offset, sink).map(|()| None);
        }
        self.intake.take(deltas, offset, sink)?;
        Ok(Some(self.intake.piece(ChunkText::Value)))
    }

    /// Takes one chunk that cannot be read.
    pub fn feed_malformed(&mut self, malformed: Malformed, sink: &mut impl Sink) -> Result<(), Error> {
        let offset = self.count_chunk();
        self.intake.skip(malformed, offset, sink)
    }

    fn check_body(&self) -> Result<(), Error> {
        let allowed = self.limits.frame_bytes;
        match &self.body {
            Some(body) if body.len() > allowed => {
                Err(Error { kind: ErrorKind::Limit { name: "frame_bytes", allowed }, offset: 0 })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A line that some readers take and others skip ends a stream that must have one reading.
    fn check_marks(&self) -> Result<(), Error> {
        self.intake.check_marks(self.framer.has_stray_mark(), self.framer.offset())
    }

    fn count_chunk(&mut self) -> u64 {
        self.events += 1;
        self.chunks += 1;
        self.chunks - 1
    }

    /// The next piece, if what was fed holds one.
    pub fn next_piece(&mut self, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error> {
        if self.intake.has_rest() {
            self.intake.take_rest(sink)?;
            let chunk = if self.is_made { ChunkText::Closing(0) } else { ChunkText::Same };
            return Ok(Some(self.intake.piece(chunk)));
        }
        if self.is_text() {
            return self.next_text(sink);
        }
        self.check_body()?;
        loop {
            if std::mem::take(&mut self.is_terminating) {
                self.terminate(sink);
            }
            if let Some(choice) = self.closing.pop_front() {
                return Ok(Some(self.close(choice, sink)));
            }
            if self.intake.machine.is_terminated() {
                return Ok(None);
            }
            let Some(frame) = self.framer.next_frame()? else { return self.check_marks().map(|()| None) };
            // An event without data is none, after the standard.
            self.events += u64::from(!frame.data.is_empty() || frame.error.is_some());
            match self.intake.take_frame(&frame, sink)? {
                Took::Nothing => {}
                Took::Chunk => return Ok(Some(self.framed_piece())),
                Took::Failure => return Ok(Some(self.intake.piece(ChunkText::Failure))),
                Took::Terminator => return self.begin_termination(self.chunks, sink),
            }
        }
    }

    fn next_text(&mut self, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error> {
        loop {
            match self.text.next_text() {
                NextText::None => return Ok(None),
                NextText::Invalid(offset) => self.intake.skip(Malformed::InvalidUtf8, offset, sink)?,
                NextText::Text => break,
            }
        }
        let offset = self.count_chunk();
        let mut deltas = self.intake.spare();
        text::decode(self.text.text(), &mut deltas);
        self.intake.take(deltas, offset, sink)?;
        Ok(Some(self.intake.piece(ChunkText::Text(self.text.text()))))
    }

    /// The end of text, which is its finish.
    fn take_end_of_text(&mut self, sink: &mut impl Sink) -> Result<Took, Error> {
        if let Some(offset) = self.text.finish() {
            self.intake.skip(Malformed::InvalidUtf8, offset, sink)?;
        }
        let mut deltas = self.intake.spare();
        text::decode_end(&mut deltas);
        self.intake.take(deltas, self.chunks, sink)?;
        Ok(Took::Chunk)
    }

    /// The input is over: the pieces that are left, then none.
    pub fn finish(&mut self, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error> {
        if self.end == End::NotYet {
            self.end = End::Tail;
            match self.take_tail(sink)? {
                Took::Nothing => {}
                Took::Chunk => return Ok(Some(self.framed_piece())),
                Took::Failure => return Ok(Some(self.intake.piece(ChunkText::Failure))),
                Took::Terminator => {
                    self.is_terminating = true;
                    if self.intake.finish_tags(self.chunks, sink)? {
                        return Ok(Some(self.made_piece()));
                    }
                }
            }
        }
        if !self.intake.has_rest() && std::mem::take(&mut self.is_terminating) {
            self.terminate(sink);
        }
        if self.intake.has_rest() || !self.closing.is_empty() {
            return self.next_piece(sink);
        }
        if self.end == End::Tail {
            self.end = End::Released;
            if self.intake.release_tags(self.chunks, sink)? {
                return Ok(Some(self.made_piece()));
            }
        }
        if self.end == End::Released {
            self.end = End::Over;
            self.intake.machine.finish(sink);
        }
        Ok(None)
    }

    /// Takes the event that the input ended in, if it lacks nothing but its blank line. Anything less is a cut, not a malformed chunk.
    fn take_tail(&mut self, sink: &mut impl Sink) -> Result<Took, Error> {
        if self.intake.machine.is_terminated() {
            return Ok(Took::Nothing);
        }
        if self.is_text() {
            return self.take_end_of_text(sink);
        }
        if self.body.is_some() {
            return self.take_body(sink);
        }
        let Some(frame) = self.framer.finish() else { return Ok(Took::Nothing) };
        self.intake.check_marks(frame.has_stray_mark, frame.offset)?;
        let Ok(deltas) = self.intake.decode(&frame) else { return Ok(Took::Nothing) };
        self.intake.count(Quirk::UnterminatedEvent, frame.offset, sink)?;
        self.intake.take_decoded(deltas, &frame, sink)
    }

    /// Takes an answer that came whole although a stream was expected.
    fn take_body(&mut self, sink: &mut impl Sink) -> Result<Took, Error> {
        let body = self.body.as_deref().unwrap_or_default();
        let frame = Frame { event: b"", data: body, last_id: b"", error: None, has_stray_mark: false, offset: 0 };
        // A body that was cut is not a chunk that cannot be read.
        let Ok(deltas) = self.intake.decode(&frame) else { return Ok(Took::Nothing) };
        self.intake.take_decoded(deltas, &frame, sink)
    }

    fn framed_piece(&self) -> Piece<'_> {
        if self.is_text() {
            return self.intake.piece(ChunkText::Text(""));
        }
        let data = self.body.as_deref().unwrap_or_else(|| self.framer.data());
        self.intake.piece(ChunkText::Json(data))
    }

    /// The terminator has come. What tags have left open ends before it.
    fn begin_termination(&mut self, offset: u64, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error> {
        self.is_terminating = true;
        if self.intake.finish_tags(offset, sink)? {
            return Ok(Some(self.made_piece()));
        }
        self.next_piece(sink)
    }

    /// A piece of what no chunk has said. None comes behind it but what is made in the same way.
    fn made_piece(&mut self) -> Piece<'_> {
        self.is_made = true;
        self.intake.piece(ChunkText::Closing(0))
    }

    fn terminate(&mut self, sink: &mut impl Sink) {
        match self.intake.grain {
            Grain::Chunk => self.intake.machine.terminate(sink),
            Grain::Completion if self.intake.machine.is_broken_off() => self.intake.machine.terminate(sink),
            Grain::Completion => {
                self.closing.extend(self.intake.machine.open_blocks().map(|(choice, _)| choice));
                if self.closing.is_empty() {
                    self.intake.machine.terminate(sink);
                }
            }
        }
    }

    fn close(&mut self, choice: u32, sink: &mut impl Sink) -> Piece<'_> {
        self.intake.machine.close(choice, sink);
        if self.closing.is_empty() {
            self.intake.machine.terminate(sink);
        }
        self.intake.kept.clear();
        self.intake.dropped.clear();
        self.intake.piece(ChunkText::Closing(choice))
    }
}
