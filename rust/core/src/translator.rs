//! A stream read in one format and written in another: session and outlet joined.

use crate::error::{Error, Malformed};
use crate::event::Sink;
use crate::failure::{Failure, FailureKind};
use crate::outlet::{Outlet, OutletOptions};
use crate::piece::{ChunkText, Piece, Problem};
use crate::session::Session;
use crate::wire::Protocol;

/// What a text may begin with: no stream and no page has these bytes at its beginning but as this mark.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Translates one stream.
#[derive(Debug)]
pub struct Translator {
    session: Session,
    outlet: Outlet,
    is_finished: bool,
    /// Whether the first bytes are those of a page, not of a stream.
    is_page: Option<bool>,
}

impl Translator {
    /// A translator for the stream of a session that goes on by whole chunks.
    pub fn new(session: Session, options: OutletOptions) -> Self {
        Self { session, outlet: Outlet::new(options), is_finished: false, is_page: None }
    }

    /// The format that is read, if it was named or could be told.
    pub fn source(&self) -> Option<Protocol> {
        self.session.protocol()
    }

    /// What is read.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What is written, and what waits.
    pub fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    /// The same, to act on.
    pub fn outlet_mut(&mut self) -> &mut Outlet {
        &mut self.outlet
    }

    /// The chunks that were skipped since the last call.
    pub fn take_problems(&mut self) -> Vec<Problem> {
        self.session.take_problems()
    }

    /// Whether nothing more can be fed.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Takes a read of server-sent events. `watch` hears every event before it is written.
    pub fn feed(&mut self, read: &[u8], watch: &mut impl Sink) -> Result<(), Error> {
        if self.is_page.is_none() {
            let is_before = |byte: u8| byte.is_ascii_whitespace() || BYTE_ORDER_MARK.contains(&byte);
            let first = read.iter().find(|&&byte| !is_before(byte));
            self.is_page = first.map(|&byte| byte == b'<');
        }
        self.session.feed(read);
        self.run(watch)
    }

    fn run(&mut self, watch: &mut impl Sink) -> Result<(), Error> {
        let Self { session, outlet, .. } = self;
        loop {
            if outlet.is_over() {
                return Ok(());
            }
            match session.next_piece(&mut Both(watch, outlet)) {
                Ok(Some(piece)) => {
                    tell_chunk(&piece, watch);
                    outlet.end_chunk();
                }
                Ok(None) => break,
                Err(error) => return Err(self.give_up(error)),
            }
        }
        // Behind its terminator nothing of a stream is read, so there is nothing to wait for.
        if self.has_ended() { self.end(watch) } else { Ok(()) }
    }

    /// Whether the stream has said its end: nothing more is read.
    pub fn has_ended(&self) -> bool {
        self.session.is_terminated()
    }

    /// A stream that cannot go on is ended for the client as well.
    fn give_up(&mut self, error: Error) -> Error {
        self.outlet.fail(Failure::new(FailureKind::Api, "the upstream's stream cannot be read"));
        error
    }

    /// Takes one chunk as JSON.
    pub fn feed_json(&mut self, text: &str, watch: &mut impl Sink) -> Result<(), Error> {
        let fed = self.session.feed_json(text, &mut Both(watch, &mut self.outlet)).map(|piece| piece.is_some());
        self.fed(fed, watch)
    }

    /// Takes one chunk that the caller has as an object, written as JSON.
    pub fn feed_value(&mut self, json: &str, watch: &mut impl Sink) -> Result<(), Error> {
        let fed = self.session.feed_value(json, &mut Both(watch, &mut self.outlet)).map(|piece| piece.is_some());
        self.fed(fed, watch)
    }

    /// Takes one chunk that cannot be read.
    pub fn feed_malformed(&mut self, malformed: Malformed, watch: &mut impl Sink) -> Result<(), Error> {
        let fed = self.session.feed_malformed(malformed, &mut Both(watch, &mut self.outlet)).map(|()| false);
        self.fed(fed, watch)
    }

    fn fed(&mut self, fed: Result<bool, Error>, watch: &mut impl Sink) -> Result<(), Error> {
        match fed {
            Ok(true) => self.outlet.end_chunk(),
            Ok(false) => {}
            Err(error) => return Err(self.give_up(error)),
        }
        self.run(watch)
    }

    /// The input is over.
    pub fn finish(&mut self, watch: &mut impl Sink) -> Result<(), Error> {
        self.is_finished = true;
        self.end(watch)
    }

    fn end(&mut self, watch: &mut impl Sink) -> Result<(), Error> {
        loop {
            let Self { session, outlet, .. } = self;
            if outlet.is_over() {
                return Ok(());
            }
            if self.is_page == Some(true) {
                outlet.fail(Failure::new(FailureKind::Api, "the upstream answered with a page instead of a stream"));
                return Ok(());
            }
            match session.finish(&mut Both(watch, outlet)) {
                Ok(Some(piece)) => {
                    tell_chunk(&piece, watch);
                    outlet.end_chunk();
                }
                Ok(None) => return Ok(()),
                Err(error) => return Err(self.give_up(error)),
            }
        }
    }

    /// The input cannot go on: ends the answer with an error.
    pub fn interrupt(&mut self, failure: Failure) {
        self.is_finished = true;
        self.outlet.fail(failure);
    }
}

fn tell_chunk(piece: &Piece<'_>, watch: &mut impl Sink) {
    if let ChunkText::Json(json) = piece.chunk {
        watch.chunk(json);
    }
}

/// Passes each event to the one, then to the other.
struct Both<'a, A, B>(&'a mut A, &'a mut B);

impl<A: Sink, B: Sink> Sink for Both<'_, A, B> {
    fn source(&mut self, source: Protocol) {
        self.0.source(source);
        self.1.source(source);
    }

    fn event(&mut self, event: crate::event::Event<'_>) {
        self.0.event(event);
        self.1.event(event);
    }
}
