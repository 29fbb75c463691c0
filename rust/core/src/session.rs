//! The stages joined, for one stream.
//!
//! A session takes reads or whole chunks and goes on by one *piece* at a time: a chunk, or as much of a chunk as completes one block.
//! Whoever wants no pieces takes them in a loop.

use std::collections::VecDeque;

use serde::Deserializer;

use crate::delta::Origin;
use crate::error::{Error, ErrorKind, Malformed};
use crate::event::{Quirk, Sink};
use crate::intake::{Intake, Took};
use crate::limits::Limits;
use crate::machine::BlockMachine;
use crate::sse::{Frame, SseFramer};
use crate::wire::{Decoder, Protocol, TERMINATOR};

/// What to do with a deviation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Put it right if it is a known one, skip the chunk if not, and count it.
    Lenient,
    /// End the stream.
    Strict,
}

/// Whether a chunk may complete several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// It may: a piece is always a whole chunk.
    Chunk,
    /// It may not: a piece completes at most one block.
    Completion,
}

/// A chunk that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Why.
    pub malformed: Malformed,
    /// The offset of its event, or the number of the chunk.
    pub offset: u64,
}

/// One step of a stream, and what of the chunk belongs to it.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Where the chunk is.
    pub chunk: ChunkText<'a>,
    /// What said the deltas that were taken.
    pub kept: &'a [Origin],
    /// What said the deltas that were left out.
    pub dropped: &'a [Origin],
    /// Whether another piece of the same chunk came before or comes after.
    pub is_partial: bool,
}

/// The chunk that a piece is of.
#[derive(Clone, Copy, Debug)]
pub enum ChunkText<'a> {
    /// A new chunk, as JSON.
    Json(&'a str),
    /// A new chunk, which the caller has.
    Value,
    /// The chunk of the piece before.
    Same,
    /// No chunk: the upstream reported an error in a way that is not a chunk.
    Failure,
    /// No chunk: the terminator completed the open block of this choice.
    Closing(u32),
}

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
    chunks: u64,
    end: End,
}

/// How far the end of the input has been worked off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotYet,
    Tail,
    Over,
}

impl Session {
    /// A session for one stream.
    pub fn new(source: Option<Protocol>, mode: Mode, grain: Grain, limits: Limits) -> Self {
        let intake = Intake {
            decoder: Decoder::new(source),
            machine: BlockMachine::new(limits),
            mode,
            grain,
            problems: Vec::new(),
            rest: Vec::new().into_iter().peekable(),
            rest_offset: 0,
            kept: Vec::new(),
            dropped: Vec::new(),
            spare: Vec::new(),
        };
        Self {
            limits,
            framer: SseFramer::new(limits.frame_bytes),
            intake,
            closing: VecDeque::new(),
            is_known_to_stream: false,
            body: None,
            chunks: 0,
            end: End::NotYet,
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

    /// Looks at a chunk that is about to be fed, unless the format is known.
    pub fn detect<D: Deserializer<'static>>(&mut self, chunk: D) {
        self.intake.decoder.detect(chunk);
    }

    /// The block that the stream is writing.
    pub fn current_block(&self) -> Option<usize> {
        self.intake.machine.current_block()
    }

    /// Takes a read of server-sent events. What it says comes from [`Self::next_piece`].
    pub fn feed(&mut self, read: &[u8]) {
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
            Some(body) => body.extend_from_slice(read),
            None => self.framer.feed(read),
        }
    }

    /// Takes one chunk as JSON, and the first piece of it.
    pub fn feed_json<'a>(&'a mut self, text: &'a str, sink: &mut impl Sink) -> Result<Option<Piece<'a>>, Error> {
        if self.intake.machine.is_terminated() {
            return Ok(None);
        }
        let offset = self.count_chunk();
        let mut deltas = self.intake.spare();
        if let Err(malformed) = self.intake.decoder.decode_json(text, &mut deltas) {
            return self.intake.skip(malformed, offset, sink).map(|()| None);
        }
        if text.as_bytes() == TERMINATOR {
            if self.intake.is_chat() {
                self.terminate(sink);
            }
            return self.next_piece(sink);
        }
        self.intake.take(deltas, offset, sink)?;
        Ok(Some(self.intake.piece(ChunkText::Json(text))))
    }

    /// Takes one chunk from anything that serde can read, and the first piece of it.
    pub fn feed_value<D>(&mut self, value: D, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error>
    where
        D: Deserializer<'static>,
    {
        if self.intake.machine.is_terminated() {
            return Ok(None);
        }
        let offset = self.count_chunk();
        let mut deltas = self.intake.spare();
        match self.intake.decoder.decode_value(value, &mut deltas) {
            Ok(()) => self.intake.take(deltas, offset, sink)?,
            Err(error) => {
                return self.intake.skip(Malformed::WrongShape(error.to_string()), offset, sink).map(|()| None);
            }
        }
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

    fn count_chunk(&mut self) -> u64 {
        self.chunks += 1;
        self.chunks - 1
    }

    /// The next piece, if what was fed holds one.
    pub fn next_piece(&mut self, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error> {
        if self.intake.has_rest() {
            self.intake.take_rest(sink)?;
            return Ok(Some(self.intake.piece(ChunkText::Same)));
        }
        self.check_body()?;
        loop {
            if let Some(choice) = self.closing.pop_front() {
                return Ok(Some(self.close(choice, sink)));
            }
            if self.intake.machine.is_terminated() {
                return Ok(None);
            }
            let Some(frame) = self.framer.next_frame()? else { return Ok(None) };
            match self.intake.take_frame(&frame, sink)? {
                Took::Nothing => {}
                Took::Chunk => return Ok(Some(self.framed_piece())),
                Took::Failure => return Ok(Some(self.intake.piece(ChunkText::Failure))),
                Took::Terminator => self.terminate(sink),
            }
        }
    }

    /// The input is over: the pieces that are left, then none.
    pub fn finish(&mut self, sink: &mut impl Sink) -> Result<Option<Piece<'_>>, Error> {
        if self.end == End::NotYet {
            self.end = End::Tail;
            match self.take_tail(sink)? {
                Took::Nothing => {}
                Took::Chunk => return Ok(Some(self.framed_piece())),
                Took::Failure => return Ok(Some(self.intake.piece(ChunkText::Failure))),
                Took::Terminator => self.terminate(sink),
            }
        }
        if self.intake.has_rest() || !self.closing.is_empty() {
            return self.next_piece(sink);
        }
        if self.end == End::Tail {
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
        if self.body.is_some() {
            return self.take_body(sink);
        }
        let Some(frame) = self.framer.finish() else { return Ok(Took::Nothing) };
        let Ok(deltas) = self.intake.decode(&frame) else { return Ok(Took::Nothing) };
        self.intake.count(Quirk::UnterminatedEvent, frame.offset, sink)?;
        self.intake.take_decoded(deltas, &frame, sink)
    }

    /// Takes an answer that came whole although a stream was expected.
    fn take_body(&mut self, sink: &mut impl Sink) -> Result<Took, Error> {
        let body = self.body.as_deref().unwrap_or_default();
        let frame = Frame { event: b"", data: body, last_id: b"", error: None, offset: 0 };
        // A body that was cut is not a chunk that cannot be read.
        let Ok(deltas) = self.intake.decode(&frame) else { return Ok(Took::Nothing) };
        self.intake.take_decoded(deltas, &frame, sink)
    }

    fn framed_piece(&self) -> Piece<'_> {
        let data = self.body.as_deref().unwrap_or_else(|| self.framer.data());
        self.intake.piece(ChunkText::Json(str::from_utf8(data).unwrap_or_default()))
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
