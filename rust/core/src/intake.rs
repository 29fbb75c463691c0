//! Everything behind the framer: chunks to deltas to events, a piece at a time.
//!
//! A piece ends before the delta that would complete a second block.

use std::iter::Peekable;

use crate::delta::{Delta, Located, Origin};
use crate::error::{Error, ErrorKind, Malformed};
use crate::event::{Event, Quirk, Sink};
use crate::machine::{BlockMachine, Outcome};
use crate::mode::{Grain, Mode};
use crate::piece::{ChunkText, Piece, Problem};
use crate::sse::Frame;
use crate::tags::Stage;
use crate::wire::{Decoder, Protocol, TERMINATOR};

/// How many deltas a chunk has memory for from the start: few have more, and none that comes often.
pub(crate) const FIRST_DELTAS: usize = 8;

/// How many deltas a silent stream has memory for. Only a long text, or a whole body, says more at once.
pub(crate) const KEPT_DELTAS: usize = 64;

/// Everything behind the framer, apart from it so that a frame can be lent out of it.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) decoder: Decoder,
    pub(crate) machine: BlockMachine,
    /// Reads tags in text, if the stream has any.
    pub(crate) tags: Option<Stage>,
    pub(crate) mode: Mode,
    pub(crate) grain: Grain,
    pub(crate) problems: Vec<Problem>,
    /// The rest of a chunk that is being split.
    pub(crate) rest: Peekable<std::vec::IntoIter<Located<'static>>>,
    pub(crate) rest_offset: u64,
    pub(crate) kept: Vec<Origin>,
    pub(crate) dropped: Vec<Origin>,
    /// Memory for the deltas of the next chunk.
    pub(crate) spare: Vec<Located<'static>>,
    /// Whether the next stage knows which format this is.
    pub(crate) has_told_source: bool,
    /// The pieces that blocks have grown by.
    pub(crate) deltas: usize,
    pub(crate) most_deltas: usize,
}

/// How many deltas there is memory for between chunks. Few chunks have more than four.
const SPARE: usize = 32;

/// What a frame held.
pub(crate) enum Took {
    Nothing,
    Chunk,
    Failure,
    Terminator,
}

impl Intake {
    pub(crate) fn is_chat(&self) -> bool {
        self.decoder.protocol().is_none_or(|protocol| protocol == Protocol::OpenaiChat)
    }

    /// An empty list of deltas, with the memory of an earlier one.
    pub(crate) fn spare<'a>(&mut self) -> Vec<Located<'a>> {
        std::mem::take(&mut self.spare)
    }

    /// Keeps the memory of a list of deltas that were taken.
    fn put_back(&mut self, mut deltas: Vec<Located<'_>>) {
        if deltas.capacity() > SPARE {
            return;
        }
        deltas.clear();
        deltas.shrink_to(KEPT_DELTAS);
        // An empty list has no lifetime; collecting it in place keeps its memory.
        self.spare = deltas.into_iter().map(Located::into_owned).collect();
    }

    pub(crate) fn piece<'a>(&'a self, chunk: ChunkText<'a>) -> Piece<'a> {
        let is_partial = self.has_rest() || matches!(chunk, ChunkText::Same);
        Piece { chunk, kept: &self.kept, dropped: &self.dropped, is_partial }
    }

    /// A byte order mark inside a stream says nothing to a lenient reader, and ends a stream that must have one reading.
    pub(crate) fn check_marks(&self, has_stray_mark: bool, offset: u64) -> Result<(), Error> {
        if has_stray_mark && self.mode.refuses(Quirk::StrayMark) {
            return Err(Error { kind: ErrorKind::Quirk(Quirk::StrayMark), offset });
        }
        Ok(())
    }

    pub(crate) fn take_frame(&mut self, frame: &Frame<'_>, sink: &mut impl Sink) -> Result<Took, Error> {
        self.check_marks(frame.has_stray_mark, frame.offset)?;
        match self.decode(frame) {
            Ok(deltas) => self.take_decoded(deltas, frame, sink),
            Err(malformed) => self.skip(malformed, frame.offset, sink).map(|()| Took::Nothing),
        }
    }

    pub(crate) fn decode<'a>(&mut self, frame: &Frame<'a>) -> Result<Vec<Located<'a>>, Malformed> {
        let mut deltas = self.spare();
        self.decoder.decode_frame(frame, &mut deltas).map(|()| deltas)
    }

    pub(crate) fn take_decoded(
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

    pub(crate) fn skip(&mut self, malformed: Malformed, offset: u64, sink: &mut impl Sink) -> Result<(), Error> {
        if self.mode.refuses(Quirk::MalformedChunk) {
            return Err(Error { kind: ErrorKind::Malformed(malformed), offset });
        }
        self.problems.push(Problem { malformed, offset });
        sink.event(Event::QuirkSeen(Quirk::MalformedChunk));
        Ok(())
    }

    pub(crate) fn count(&self, quirk: Quirk, offset: u64, sink: &mut impl Sink) -> Result<(), Error> {
        if self.mode.refuses(quirk) {
            return Err(Error { kind: ErrorKind::Quirk(quirk), offset });
        }
        sink.event(Event::QuirkSeen(quirk));
        Ok(())
    }

    /// Takes the first piece of a chunk, and keeps the rest.
    pub(crate) fn take(
        &mut self,
        mut deltas: Vec<Located<'_>>,
        offset: u64,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        self.count_deltas(&deltas, offset)?;
        if let Some(tags) = &mut self.tags {
            tags.pass(&mut deltas);
        }
        self.take_passed(deltas, offset, sink)
    }

    /// Counts before tags are read, so that what a chunk counts is what its wire format says.
    fn count_deltas(&mut self, deltas: &[Located<'_>], offset: u64) -> Result<(), Error> {
        self.deltas = self.deltas.saturating_add(deltas.iter().filter(|each| each.delta.is_growth()).count());
        if self.deltas <= self.most_deltas {
            return Ok(());
        }
        Err(Error { kind: ErrorKind::Limit { name: "deltas", allowed: self.most_deltas }, offset })
    }

    /// Ends what tags have left open, before the terminator does so; false if there is nothing.
    pub(crate) fn finish_tags(&mut self, offset: u64, sink: &mut impl Sink) -> Result<bool, Error> {
        let is_broken_off = self.machine.is_broken_off();
        self.take_made(
            offset,
            sink,
            |tags, deltas| if is_broken_off { tags.release(deltas) } else { tags.finish(deltas) },
        )
    }

    /// Releases what is held because it may have become a tag; false if there is nothing.
    pub(crate) fn release_tags(&mut self, offset: u64, sink: &mut impl Sink) -> Result<bool, Error> {
        self.take_made(offset, sink, Stage::release)
    }

    fn take_made(
        &mut self,
        offset: u64,
        sink: &mut impl Sink,
        make: impl FnOnce(&mut Stage, &mut Vec<Located<'static>>),
    ) -> Result<bool, Error> {
        let Some(tags) = &mut self.tags else { return Ok(false) };
        let mut deltas = Vec::new();
        make(tags, &mut deltas);
        let is_any = !deltas.is_empty();
        if is_any {
            self.take_passed(deltas, offset, sink)?;
        }
        Ok(is_any)
    }

    fn take_passed(&mut self, mut deltas: Vec<Located<'_>>, offset: u64, sink: &mut impl Sink) -> Result<(), Error> {
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
    /// The finish of a choice is the end of its own blocks only.
    fn close_before_end(&self, deltas: &mut Vec<Located<'_>>) {
        let is_end = |each: &Located<'_>| matches!(each.delta, Delta::Stop { .. } | Delta::End);
        let has_failed = |deltas: &[Located<'_>]| deltas.iter().any(|each| matches!(each.delta, Delta::Error(_)));
        let Some(at) = deltas.iter().position(is_end).filter(|_| !has_failed(deltas)) else { return };
        let Some(Located { choice, origin, delta: end }) = deltas.get(at) else { return };
        let (choice, origin, ended) = (*choice, *origin, (*end != Delta::End).then_some(*choice));
        let closes = |slot: u64| deltas.iter().any(|each| each.delta == Delta::Close { slot });
        let unclosed: Vec<u64> = self.machine.open_slots(ended).into_iter().filter(|&slot| !closes(slot)).collect();
        let close = |slot: u64| [Delta::Quirk(Quirk::UnclosedBlock), Delta::Close { slot }];
        let closing = unclosed.into_iter().flat_map(close).map(|delta| Located { choice, origin, delta });
        deltas.splice(at..at, closing);
    }

    pub(crate) fn take_rest(&mut self, sink: &mut impl Sink) -> Result<(), Error> {
        let mut rest = std::mem::replace(&mut self.rest, Vec::new().into_iter().peekable());
        self.take_piece(&mut rest, self.rest_offset, sink)?;
        self.rest = rest;
        Ok(())
    }

    pub(crate) fn has_rest(&self) -> bool {
        self.rest.len() > 0
    }

    /// Takes deltas up to the one that would complete a second block.
    fn take_piece<'a, I>(&mut self, pending: &mut Peekable<I>, offset: u64, sink: &mut impl Sink) -> Result<(), Error>
    where
        I: Iterator<Item = Located<'a>>,
    {
        self.kept.clear();
        self.dropped.clear();
        if !self.has_told_source
            && let Some(source) = self.decoder.protocol()
        {
            self.has_told_source = true;
            sink.source(source);
        }
        let mut watch = Watch { sink, has_completed: false, mode: self.mode, quirk: None };
        loop {
            let is_full = self.grain == Grain::Completion && watch.has_completed;
            // A block that would begin behind a completed one belongs to the next piece, with its own completion.
            let completes = |next: &Located<'a>| {
                matches!(next.delta, Delta::Open { .. }) || self.machine.would_complete(next.choice, &next.delta)
            };
            if is_full && pending.peek().is_some_and(completes) {
                break;
            }
            let Some(Located { choice, origin, delta }) = pending.next() else { break };
            let outcome = self.machine.step(choice, delta, &mut watch).map_err(|kind| Error { kind, offset })?;
            match outcome {
                Outcome::Taken => self.kept.push(origin),
                Outcome::Dropped => self.dropped.push(origin),
            }
            if let Some(quirk) = watch.quirk.take() {
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
    mode: Mode,
    /// The first deviation that ends the stream.
    quirk: Option<Quirk>,
}

impl<S: Sink> Sink for Watch<'_, S> {
    fn event(&mut self, event: Event<'_>) {
        // What is refused must not be heard of by whoever writes it on.
        if self.quirk.is_some() {
            return;
        }
        if let Event::BlockCompleted { .. } = event {
            self.has_completed = true;
        }
        if let Event::QuirkSeen(quirk) = event
            && self.mode.refuses(quirk)
        {
            self.quirk.get_or_insert(quirk);
        }
        self.sink.event(event);
    }
}
