//! The stages joined, for one stream.
//!
//! A session takes reads or whole chunks and goes on by one *piece* at a time: a chunk, or as much of a chunk as completes one block.
//! Whoever wants no pieces takes them in a loop.

use std::collections::VecDeque;
use std::iter::Peekable;

use serde::Deserializer;

use crate::delta::{Delta, Located, Origin};
use crate::error::{Error, ErrorKind, Malformed};
use crate::event::{Event, Quirk, Sink};
use crate::limits::Limits;
use crate::machine::{BlockMachine, Outcome};
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

/// Everything behind the framer, apart from it so that a frame can be lent out of it.
#[derive(Debug)]
struct Intake {
    decoder: Decoder,
    machine: BlockMachine,
    mode: Mode,
    grain: Grain,
    problems: Vec<Problem>,
    /// The rest of a chunk that is being split.
    rest: Peekable<std::vec::IntoIter<Located<'static>>>,
    rest_offset: u64,
    kept: Vec<Origin>,
    dropped: Vec<Origin>,
    /// Memory for the deltas of the next chunk.
    spare: Vec<Located<'static>>,
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

/// What a frame held.
enum Took {
    Nothing,
    Chunk,
    Failure,
    Terminator,
}

impl Intake {
    fn is_chat(&self) -> bool {
        self.decoder.protocol().is_none_or(|protocol| protocol == Protocol::OpenaiChat)
    }

    /// An empty list of deltas, with the memory of an earlier one.
    fn spare<'a>(&mut self) -> Vec<Located<'a>> {
        std::mem::take(&mut self.spare)
    }

    /// Keeps the memory of a list of deltas that were taken.
    fn put_back(&mut self, mut deltas: Vec<Located<'_>>) {
        deltas.clear();
        // An empty list has no lifetime; collecting it in place keeps its memory.
        self.spare = deltas.into_iter().map(Located::into_owned).collect();
    }

    fn piece<'a>(&'a self, chunk: ChunkText<'a>) -> Piece<'a> {
        let is_partial = self.has_rest() || matches!(chunk, ChunkText::Same);
        Piece { chunk, kept: &self.kept, dropped: &self.dropped, is_partial }
    }

    fn take_frame(&mut self, frame: &Frame<'_>, sink: &mut impl Sink) -> Result<Took, Error> {
        match self.decode(frame) {
            Ok(deltas) => self.take_decoded(deltas, frame, sink),
            Err(malformed) => self.skip(malformed, frame.offset, sink).map(|()| Took::Nothing),
        }
    }

    fn decode<'a>(&mut self, frame: &Frame<'a>) -> Result<Vec<Located<'a>>, Malformed> {
        let mut deltas = self.spare();
        self.decoder.decode_frame(frame, &mut deltas).map(|()| deltas)
    }

    fn take_decoded(
        &mut self,
        deltas: Vec<Located<'_>>,
        frame: &Frame<'_>,
        sink: &mut impl Sink,
    ) -> Result<Took, Error> {
        let is_chat = self.is_chat();
        if frame.data == TERMINATOR && frame.error.is_none() {
            // Gateways add it to formats that have an end of their own; there it ends nothing.
            return Ok(if is_chat { Took::Terminator } else { Took::Nothing });
        }
        let is_failure = frame.data.is_empty() || (frame.event == b"error" && is_chat);
        self.take(deltas, frame.offset, sink)?;
        Ok(if is_failure { Took::Failure } else { Took::Chunk })
    }

    fn skip(&mut self, malformed: Malformed, offset: u64, sink: &mut impl Sink) -> Result<(), Error> {
        if self.mode == Mode::Strict {
            return Err(Error { kind: ErrorKind::Malformed(malformed), offset });
        }
        self.problems.push(Problem { malformed, offset });
        sink.event(Event::QuirkSeen(Quirk::MalformedChunk));
        Ok(())
    }

    fn count(&self, quirk: Quirk, offset: u64, sink: &mut impl Sink) -> Result<(), Error> {
        if self.mode == Mode::Strict {
            return Err(Error { kind: ErrorKind::Quirk(quirk), offset });
        }
        sink.event(Event::QuirkSeen(quirk));
        Ok(())
    }

    /// Takes the first piece of a chunk, and keeps the rest.
    fn take(&mut self, mut deltas: Vec<Located<'_>>, offset: u64, sink: &mut impl Sink) -> Result<(), Error> {
        if self.machine.has_open_slots() {
            self.close_before_end(&mut deltas);
        }
        let mut pending = deltas.drain(..).peekable();
        self.take_piece(&mut pending, offset, sink)?;
        if pending.len() > 0 {
            self.rest = pending.map(Located::into_owned).collect::<Vec<_>>().into_iter().peekable();
            self.rest_offset = offset;
        } else {
            drop(pending);
        }
        self.put_back(deltas);
        Ok(())
    }

    /// Closes the numbered blocks that the end finds open, each by a delta of its own, so that a piece completes no more than one.
    fn close_before_end(&self, deltas: &mut Vec<Located<'_>>) {
        let is_end = |each: &Located<'_>| matches!(each.delta, Delta::Stop { .. } | Delta::End);
        let has_failed = deltas.iter().any(|each| matches!(each.delta, Delta::Error(_)));
        let Some(at) = deltas.iter().position(is_end).filter(|_| !has_failed) else { return };
        let Some((choice, origin)) = deltas.get(at).map(|end| (end.choice, end.origin)) else { return };
        let closes = |slot: u64| deltas.iter().any(|each| each.delta == Delta::Close { slot });
        let unclosed: Vec<u64> = self.machine.open_slots().into_iter().filter(|&slot| !closes(slot)).collect();
        let close = |slot: u64| [Delta::Quirk(Quirk::UnclosedBlock), Delta::Close { slot }];
        let closing = unclosed.into_iter().flat_map(close).map(|delta| Located { choice, origin, delta });
        deltas.splice(at..at, closing);
    }

    fn take_rest(&mut self, sink: &mut impl Sink) -> Result<(), Error> {
        let mut rest = std::mem::replace(&mut self.rest, Vec::new().into_iter().peekable());
        self.take_piece(&mut rest, self.rest_offset, sink)?;
        self.rest = rest;
        Ok(())
    }

    fn has_rest(&self) -> bool {
        self.rest.len() > 0
    }

    /// Takes deltas up to the one that would complete a second block.
    fn take_piece<'a, I>(&mut self, pending: &mut Peekable<I>, offset: u64, sink: &mut impl Sink) -> Result<(), Error>
    where
        I: Iterator<Item = Located<'a>>,
    {
        self.kept.clear();
        self.dropped.clear();
        let mut watch = Watch { sink, has_completed: false, quirk: None };
        while let Some(next) = pending.peek() {
            let is_full = self.grain == Grain::Completion && watch.has_completed;
            // A block that would begin behind a completed one belongs to the next piece, with its own completion.
            let begins = matches!(next.delta, Delta::Open { .. });
            if is_full && (begins || self.machine.would_complete(next.choice, &next.delta)) {
                break;
            }
            let Some(Located { choice, origin, delta }) = pending.next() else { break };
            let outcome = self.machine.step(choice, delta, &mut watch).map_err(|kind| Error { kind, offset })?;
            match outcome {
                Outcome::Taken => self.kept.push(origin),
                Outcome::Dropped => self.dropped.push(origin),
            }
            if let Some(quirk) = watch.quirk.filter(|_| self.mode == Mode::Strict) {
                return Err(Error { kind: ErrorKind::Quirk(quirk), offset });
            }
        }
        Ok(())
    }
}

/// Passes events on, and sees what the session acts on.
struct Watch<'a, S> {
    sink: &'a mut S,
    has_completed: bool,
    quirk: Option<Quirk>,
}

impl<S: Sink> Sink for Watch<'_, S> {
    fn event(&mut self, event: Event<'_>) {
        if let Event::BlockCompleted { .. } = event {
            self.has_completed = true;
        }
        if let Event::QuirkSeen(quirk) = event {
            self.quirk.get_or_insert(quirk);
        }
        self.sink.event(event);
    }
}
