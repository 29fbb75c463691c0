//! The framer against a naive reading of the whole text, however the text is cut.

#![allow(clippy::unwrap_used, reason = "a test may end at the first surprise")]

mod common;

use common::Chance;
use penstock_core::SseFramer;

const SEEDS: u64 = 300;

/// An event as a test compares it: name and data.
type Event = (String, String);

/// What the standard says of a whole stream: lines, then fields, then blank lines. Comments and unknown fields say nothing.
fn naive(stream: &str) -> Vec<Event> {
    let stream = stream.strip_prefix('\u{FEFF}').unwrap_or(stream);
    let unified = stream.replace("\r\n", "\n").replace('\r', "\n");
    // What follows the last line end is a line that has not ended.
    let whole = unified.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let (mut events, mut name, mut data) = (Vec::new(), String::new(), Vec::new());
    for line in whole.split('\n') {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                if !data.is_empty() {
                    events.push((name.clone(), data.join("\n")));
                }
                name.clear();
                data.clear();
            }
            "event" => value.clone_into(&mut name),
            "data" => data.push(value.to_owned()),
            _ => {}
        }
    }
    events
}

fn framed<'a>(reads: impl Iterator<Item = &'a [u8]>) -> Vec<Event> {
    let mut framer = SseFramer::new(1 << 20);
    let mut events = Vec::new();
    for read in reads {
        framer.feed(read);
        while let Some(frame) = framer.next_frame().unwrap() {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            events.push((text(frame.event), text(frame.data)));
        }
    }
    events
}

/// Lines of every sort, with every sort of end.
fn stream(chance: &mut Chance) -> String {
    const LINES: [&str; 12] = [
        "data: a",
        "data:b",
        "data:  c",
        "data",
        "data:",
        "event: e",
        "event:",
        ": a comment",
        "strange: x",
        "id: 7",
        "",
        "data: caf\u{e9} \u{1F30A}\u{2028}",
    ];
    let mut stream = if chance.below(4) == 0 { "\u{FEFF}".to_owned() } else { String::new() };
    for _ in 0..chance.below(40) {
        stream.push_str(chance.pick(&LINES));
        stream.push_str(chance.pick(&["\n", "\n", "\r\n", "\r"]));
    }
    stream
}

fn random_cuts<'a>(bytes: &'a [u8], chance: &mut Chance) -> Vec<&'a [u8]> {
    let (mut reads, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (read, behind) = rest.split_at(1 + chance.below(rest.len().min(9)));
        reads.push(read);
        rest = behind;
    }
    reads
}

#[test]
fn a_stream_has_the_events_of_a_naive_reading_however_it_is_cut() {
    for seed in 0..SEEDS {
        let chance = &mut Chance::new(seed);
        let stream = stream(chance);
        let expected = naive(&stream);
        assert_eq!(framed([stream.as_bytes()].into_iter()), expected, "whole, seed {seed}: {stream:?}");
        assert_eq!(framed(stream.as_bytes().chunks(1)), expected, "byte by byte, seed {seed}: {stream:?}");
        let reads = random_cuts(stream.as_bytes(), chance);
        assert_eq!(framed(reads.iter().copied()), expected, "cut, seed {seed}: {reads:?}");
    }
}

#[test]
fn the_offsets_of_events_do_not_depend_on_the_cuts() {
    let stream = b"data: a\n\n: pause\n\nevent: e\r\ndata: b\r\n\r\ndata: c\n\n";
    let offsets = |size: usize| {
        let mut framer = SseFramer::new(64);
        let mut offsets = Vec::new();
        for read in stream.chunks(size) {
            framer.feed(read);
            while let Some(frame) = framer.next_frame().unwrap() {
                offsets.push(frame.offset);
            }
        }
        offsets
    };
    for size in 1..stream.len() {
        assert_eq!(offsets(size), offsets(stream.len()), "reads of {size}");
    }
    assert_eq!(offsets(stream.len()), [0, 18, 39]);
}

#[test]
fn an_event_over_the_limit_is_an_error_before_it_ends() {
    let mut framer = SseFramer::new(8);
    framer.feed(b"data: 123456789");
    assert!(framer.next_frame().is_err());
}
