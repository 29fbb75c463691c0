//! Bytes to frames: an incremental parser of server-sent events, after the WHATWG rules.
//!
//! Rules. (1) A line ends at LF, CR or CRLF, wherever reads are cut; no other character ends a line. (2) Every byte is searched
//! once: a line that goes on in the next read is not searched from its start again. (3) Data that is one line, which is nearly all,
//! is lent out of the buffer; only several lines are joined in a second one. (4) One frame is held at a time, bounded by the limit.

use std::ops::Range;

use memchr::{memchr, memchr2};

use crate::error::{Error, ErrorKind};

/// What a stream that is silent keeps of its reads: one of the usual size.
const KEPT: usize = 8 << 10;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One server-sent event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The value of its `event` field; empty if it has none.
    pub event: &'a [u8],
    /// Its data lines, joined by LF.
    pub data: &'a [u8],
    /// The last `id` seen so far.
    pub last_id: &'a [u8],
    /// The value of a field named `error`. The standard knows none, but providers write one and end.
    pub error: Option<&'a [u8]>,
    /// Whether a line before it, or of it, began with a byte order mark that is not the stream's first.
    pub has_stray_mark: bool,
    /// The offset of its first byte in the stream.
    pub offset: u64,
}

/// Takes reads, gives frames.
#[derive(Debug)]
pub struct SseFramer {
    limit: usize,
    buffer: Vec<u8>,
    /// The offset in the stream of the buffer's first byte.
    base: u64,
    /// Where the event under construction begins.
    event_start: usize,
    /// Where the line under construction begins.
    line_start: usize,
    /// Everything before this was searched for a line end.
    searched: usize,
    /// A CR ended the last line, so an LF that comes next belongs to it.
    skip_lf: bool,
    at_stream_start: bool,
    /// Whether a line began with a byte order mark. The standard makes it part of the field's name, which nobody knows.
    has_stray_mark: bool,
    fields: Fields,
    last_id: Vec<u8>,
    retry: Option<u64>,
}

/// The fields of the event under construction, as places in the buffer.
#[derive(Debug, Default)]
struct Fields {
    event: Range<usize>,
    data: Option<Range<usize>>,
    /// The data lines joined; in use once there are two.
    joined: Vec<u8>,
    is_joined: bool,
    error: Option<Range<usize>>,
}

impl Fields {
    fn is_empty(&self) -> bool {
        self.event.is_empty() && self.data.is_none() && self.error.is_none()
    }

    fn clear(&mut self) {
        self.event = 0..0;
        self.data = None;
        self.joined.clear();
        self.is_joined = false;
        self.error = None;
    }

    fn add_data(&mut self, value: Range<usize>, buffer: &[u8]) {
        let Some(first) = &self.data else {
            self.data = Some(value);
            return;
        };
        if !self.is_joined {
            self.joined.extend_from_slice(slice(buffer, first));
            self.is_joined = true;
        }
        self.joined.push(b'\n');
        self.joined.extend_from_slice(slice(buffer, &value));
    }

    fn shift(&mut self, by: usize) {
        let shift = |range: &mut Range<usize>| *range = range.start.saturating_sub(by)..range.end.saturating_sub(by);
        shift(&mut self.event);
        self.data.as_mut().map(shift);
        self.error.as_mut().map(shift);
    }
}

/// The name and the value of a line.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let colon = memchr(b':', line).unwrap_or(line.len());
    let (name, rest) = line.split_at_checked(colon).unwrap_or_default();
    (name, unpadded(rest.get(1..).unwrap_or_default()))
}

/// A value without the one space that may stand before it.
fn unpadded(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}

fn slice<'a>(buffer: &'a [u8], range: &Range<usize>) -> &'a [u8] {
    buffer.get(range.clone()).unwrap_or_default()
}

impl SseFramer {
    /// A framer whose events may have at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            base: 0,
            event_start: 0,
            line_start: 0,
            searched: 0,
            skip_lf: false,
            at_stream_start: true,
            has_stray_mark: false,
            fields: Fields::default(),
            last_id: Vec::new(),
            retry: None,
        }
    }

    /// The reconnection time in milliseconds that the stream asked for last.
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Where in the stream the event under construction begins.
    pub fn offset(&self) -> u64 {
        self.base + self.event_start as u64
    }

    /// Whether a line that is not the first began with a byte order mark.
    pub fn has_stray_mark(&self) -> bool {
        self.has_stray_mark
    }

    /// Takes a read. Its frames come from [`Self::next_frame`].
    pub fn feed(&mut self, read: &[u8]) {
        self.drop_consumed();
        self.buffer.extend_from_slice(read);
    }

    fn drop_consumed(&mut self) {
        let by = self.event_start;
        if by == 0 {
            return;
        }
        self.buffer.drain(..by);
        self.base += by as u64;
        self.event_start = 0;
        self.line_start -= by;
        self.searched -= by;
        self.fields.shift(by);
    }

    /// The next whole event, if the reads so far hold one.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Error> {
        if !self.start_event() {
            return Ok(None);
        }
        while let Some(line) = self.next_line() {
            // A comment too: whether it came in one read must not decide.
            self.check_size(line.end)?;
            if line.is_empty() && self.ends_event() {
                return Ok(Some(self.frame()));
            }
            self.take_field(line);
        }
        self.check_size(self.buffer.len())?;
        self.give_back();
        Ok(None)
    }

    /// Gives the memory of a long read back, once it was taken: a stream may be silent for long. A line that goes on keeps what it has, for it would
    /// be moved at each read.
    fn give_back(&mut self) {
        if self.buffer.capacity() > KEPT && self.buffer.len() - self.event_start <= KEPT {
            self.drop_consumed();
            self.buffer.shrink_to(KEPT);
        }
        if self.fields.joined.capacity() > KEPT && !self.fields.is_joined {
            self.fields.joined = Vec::new();
        }
    }

    /// The event that the input ended in, as if its blank line had come.
    pub fn finish(&mut self) -> Option<Frame<'_>> {
        if self.line_start < self.buffer.len() {
            self.take_field(self.line_start..self.buffer.len());
            self.line_start = self.buffer.len();
        }
        if self.fields.data.is_none() && self.fields.error.is_none() {
            return None;
        }
        Some(self.frame())
    }

    /// Clears what the last event left, and the byte order mark before the first; false if that needs more bytes.
    fn start_event(&mut self) -> bool {
        if self.at_stream_start {
            if self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) {
                return false;
            }
            if self.buffer.starts_with(BOM) {
                self.line_start = BOM.len();
                self.searched = BOM.len();
                self.event_start = BOM.len();
            }
            self.at_stream_start = false;
        }
        if self.event_start == self.line_start {
            self.fields.clear();
        }
        true
    }

    /// The next whole line, without its end.
    fn next_line(&mut self) -> Option<Range<usize>> {
        if self.skip_lf && self.searched == self.line_start {
            let next = *self.buffer.get(self.line_start)?;
            self.skip_lf = false;
            if next == b'\n' {
                self.line_start += 1;
                self.searched = self.line_start;
                if self.fields.is_empty() {
                    self.event_start = self.line_start;
                }
            }
        }
        let rest = self.buffer.get(self.searched..)?;
        // Every other line or so is blank, which is told faster than searched.
        let found = if rest.first() == Some(&b'\n') { Some(0) } else { memchr2(b'\n', b'\r', rest) };
        let Some(found) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + found;
        // A CR may be the first half of a CRLF, whose LF may not have come yet. The line ends either way.
        self.skip_lf = self.buffer.get(end) == Some(&b'\r');
        let line = self.line_start..end;
        self.line_start = end + 1;
        self.searched = end + 1;
        Some(line)
    }

    /// What a blank line does: it ends the event, if there is one.
    fn ends_event(&mut self) -> bool {
        if self.fields.data.is_some() || self.fields.error.is_some() {
            return true;
        }
        self.fields.clear();
        self.event_start = self.line_start;
        false
    }

    fn take_field(&mut self, line: Range<usize>) {
        let text = slice(&self.buffer, &line);
        let place = |value: &[u8]| line.end - value.len()..line.end;
        // Nearly all lines are these two.
        if let Some(value) = text.strip_prefix(b"data:") {
            return self.fields.add_data(place(unpadded(value)), &self.buffer);
        }
        if let Some(value) = text.strip_prefix(b"event:") {
            self.fields.event = place(unpadded(value));
            return;
        }
        self.has_stray_mark |= text.starts_with(BOM);
        let (name, value) = field(text);
        let value = place(value);
        match name {
            b"data" => self.fields.add_data(value, &self.buffer),
            b"event" => self.fields.event = value,
            b"error" => self.fields.error = Some(value),
            b"id" if !slice(&self.buffer, &value).contains(&0) => {
                self.last_id.clear();
                self.last_id.extend_from_slice(slice(&self.buffer, &value));
            }
            b"retry" if slice(&self.buffer, &value).iter().all(u8::is_ascii_digit) => {
                self.retry = str::from_utf8(slice(&self.buffer, &value)).ok().and_then(|digits| digits.parse().ok());
            }
            // Comments, and fields that the standard does not know.
            _ if self.fields.is_empty() => {
                self.event_start = self.line_start;
            }
            _ => {}
        }
    }

    fn check_size(&self, end: usize) -> Result<(), Error> {
        if end - self.event_start <= self.limit {
            return Ok(());
        }
        let kind = ErrorKind::Limit { name: "frame_bytes", allowed: self.limit };
        Err(Error { kind, offset: self.base + self.event_start as u64 })
    }

    /// The data of the last frame, until the next read or frame.
    pub fn data(&self) -> &[u8] {
        match &self.fields.data {
            _ if self.fields.is_joined => &self.fields.joined,
            Some(line) => slice(&self.buffer, line),
            None => &[],
        }
    }

    /// Lends out the event under construction and goes on behind it.
    fn frame(&mut self) -> Frame<'_> {
        let offset = self.base + self.event_start as u64;
        self.event_start = self.line_start;
        Frame {
            event: slice(&self.buffer, &self.fields.event),
            data: self.data(),
            last_id: &self.last_id,
            error: self.fields.error.as_ref().map(|value| slice(&self.buffer, value)),
            has_stray_mark: self.has_stray_mark,
            offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_01_no_byte_of_a_long_line_is_searched_twice() {
        let mut framer = SseFramer::new(8 << 20);
        for reads in 1..=256 {
            framer.feed(&[b'x'; 4096]);
            assert_eq!(framer.next_frame(), Ok(None));
            assert_eq!((framer.searched, framer.buffer.len()), (reads * 4096, reads * 4096));
        }
    }
}
