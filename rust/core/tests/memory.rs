//! What a stream may cost in memory, whoever writes it: counted by the allocator, so that it is decided and not guessed.

#![allow(clippy::unwrap_used, reason = "a test may end at the first surprise")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use penstock_core::{
    Gate, Grain, Limits, Mode, OnInterrupt, OutletOptions, Protocol, Session, Target, TextOrder, Translator,
};

thread_local! {
    /// What this thread has in use, and the most that it ever had.
    static IN_USE: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts. Each test has a thread of its own, and so has its numbers.
struct Counting;

fn grow(by: usize) {
    IN_USE.set(IN_USE.get().wrapping_add(by));
    MOST.set(MOST.get().max(IN_USE.get()));
}

// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: the caller's promise is the one that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        IN_USE.set(IN_USE.get().wrapping_sub(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        IN_USE.set(IN_USE.get().wrapping_sub(layout.size()));
        grow(size);
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn options(target: Target, gate: Option<Gate>) -> OutletOptions {
    OutletOptions {
        target,
        on_interrupt: OnInterrupt::Error,
        text_order: TextOrder::AsItCame,
        coalesces: true,
        gate,
        held_bytes: Limits::default().held_bytes,
        model: None,
        id: "1".to_owned(),
        created: 0,
    }
}

/// A gate, or a translator without one.
fn translator(mode: Mode, source: Protocol, target: Target) -> Translator {
    let session = Session::new(Some(source), mode, Grain::Chunk, Limits::default());
    Translator::new(session, options(target, (mode == Mode::Guarded).then(Gate::default)))
}
const MIB: usize = 1 << 20;
const KIB: usize = 1 << 10;
const TARGETS: [Target; 3] = [Target::OpenaiChat, Target::AnthropicMessages, Target::OpenaiResponses];

/// What a stream cost at its worst, and what it still holds.
struct Cost {
    most: usize,
    held: usize,
}

/// Feeds a stream in reads of that size. An error is an end like any other.
fn cost(mut make: impl FnMut() -> Translator, stream: &[u8], read: usize) -> Cost {
    let before = IN_USE.get();
    MOST.set(before);
    let mut translator = make();
    for bytes in stream.chunks(read) {
        if translator.feed(bytes, &mut ()).is_err() {
            break;
        }
        translator.outlet_mut().take(|_| ());
        drop(translator.take_problems());
    }
    Cost { most: MOST.get() - before, held: IN_USE.get() - before }
}

/// As many of a pattern, with a number for each `#`, as fill a mebibyte.
fn list(pattern: &str) -> String {
    let mut list = String::with_capacity(MIB + KIB);
    for number in 0.. {
        list.push_str(&pattern.replace('#', &number.to_string()));
        if list.len() > MIB {
            break;
        }
        list.push(',');
    }
    list
}

fn frame(data: &str) -> String {
    format!("data: {data}\n\n")
}

/// One event around a list: `@` is its place.
fn event(around: &str, pattern: &str) -> String {
    frame(&around.replace('@', &list(pattern)))
}

/// Events, with a number for each `#`, that fill a mebibyte.
fn events(pattern: &str) -> String {
    let mut stream = String::with_capacity(MIB + KIB);
    for number in 0.. {
        stream += &frame(&pattern.replace('#', &number.to_string()));
        if stream.len() > MIB {
            break;
        }
    }
    stream
}

/// Lists and objects in one event, each with as many elements as can be: where they stand, and what one looks like.
const LISTS: [(Protocol, &str, &str); 30] = [
    (Protocol::OpenaiChat, r#"{"choices":[@]}"#, "{}"),
    (Protocol::OpenaiChat, r#"{"choices":[@]}"#, r#"{"index":0}"#),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"tool_calls":[@]}}]}"#, "{}"),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"tool_calls":[@]}}]}"#, r#"{"index":0}"#),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"content":[@]}}]}"#, "{}"),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"content":[@]}}]}"#, "0"),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"images":[@]}}]}"#, "0"),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"annotations":[@]}}]}"#, "0"),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"reasoning_details":[@]}}]}"#, "{}"),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"thinking_blocks":[@]}}]}"#, "{}"),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{@}}]}"#, r##""#":0"##),
    (Protocol::OpenaiChat, r#"{"choices":[],@}"#, r##""#":0"##),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"tool_calls":[{"index":0,@}]}}]}"#, r##""#":0"##),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":{@}}}]}}]}"#, r##""#":0"##),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[@]}}]}"#, "{}"),
    (Protocol::OpenaiChat, r#"{"choices":[],"usage":{@}}"#, r##""#":0"##),
    (Protocol::OpenaiChat, r#"{"error":{@}}"#, r##""#":0"##),
    (Protocol::AnthropicMessages, r#"{"type":"message_start","message":{@}}"#, r##""#":0"##),
    (Protocol::AnthropicMessages, r#"{"type":"content_block_start","content_block":{"type":"text",@}}"#, r##""#":0"##),
    (Protocol::AnthropicMessages, r#"{"type":"content_block_start","content_block":{"citations":[@]}}"#, "{}"),
    (Protocol::AnthropicMessages, r#"{"type":"message","content":[@]}"#, r#"{"type":"text","text":""}"#),
    (Protocol::OpenaiResponses, r#"{"type":"response.created","response":{@}}"#, r##""#":0"##),
    (Protocol::OpenaiResponses, r#"{"type":"response.completed","response":{"output":[@]}}"#, "{}"),
    (Protocol::OpenaiResponses, r#"{"type":"response.completed","response":{"output":[@]}}"#, r#"{"type":"message"}"#),
    (Protocol::OpenaiResponses, r#"{"type":"response.output_item.added","output_index":0,"item":{@}}"#, r##""#":0"##),
    (Protocol::OpenaiResponses, r#"{"type":"response.output_item.done","output_index":0,"item":{@}}"#, r##""#":0"##),
    (
        Protocol::OpenaiResponses,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[@]}}"#,
        "{}",
    ),
    (
        Protocol::OpenaiResponses,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","summary":[@]}}"#,
        "{}",
    ),
    (
        Protocol::OpenaiResponses,
        r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","annotations":[@]}]}}"#,
        "0",
    ),
    (Protocol::OpenaiResponses, r#"{"type":"response.output_text.done","logprobs":[@]}"#, "0"),
];

/// Streams of small events, each with something new in it.
const EVENTS: [(Protocol, &str); 12] = [
    (Protocol::OpenaiChat, r#"{"choices":[],"n#":0}"#),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"content":"x"}}]}"#),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"content":"x","n#":0}}]}"#),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"content":"x"},"logprobs":{"n":#}}]}"#),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"n#"}}]}}]}"#),
    (Protocol::OpenaiChat, r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"i#","function":{"name":"f"}}]}}]}"#),
    (Protocol::OpenaiChat, "x"),
    (Protocol::AnthropicMessages, r#"{"type":"message_delta","delta":{},"usage":{"n#":0}}"#),
    (Protocol::AnthropicMessages, r#"{"type":"content_block_start","index":#,"content_block":{"type":"text"}}"#),
    (Protocol::OpenaiResponses, r#"{"type":"response.output_item.added","output_index":#,"item":{"type":"message"}}"#),
    (Protocol::OpenaiResponses, r#"{"type":"response.output_text.delta","output_index":#,"item_id":"m#","delta":"x"}"#),
    (Protocol::OpenaiResponses, r#"{"type":"response.n#","output_index":#}"#),
];

/// Bytes that are no events, or hardly any.
fn frames() -> [String; 6] {
    [":\n", "\n", "data\n", "data:1\n", "id:1\n", "event:x\n"].map(|line| line.repeat(MIB / line.len()) + "\n")
}

/// Every stream of a mebibyte, with its format and a name for it.
fn hostile() -> Vec<(Protocol, String, String)> {
    let lists = LISTS.map(|(source, around, pattern)| (source, format!("{around} {pattern}"), event(around, pattern)));
    // The same as an answer that was not streamed: bytes that begin with a brace.
    let bodies = LISTS.map(|(source, around, pattern)| {
        (source, format!("body {around} {pattern}"), around.replace('@', &list(pattern)))
    });
    let streams = EVENTS.map(|(source, pattern)| (source, pattern.to_owned(), events(pattern)));
    let lines = frames().map(|lines| (Protocol::OpenaiChat, lines.chars().take(8).collect(), lines));
    lists.into_iter().chain(bodies).chain(streams).chain(lines).collect()
}

#[test]
fn m_10_no_stream_costs_over_eight_times_its_size() {
    for (source, name, stream) in hostile() {
        for mode in [Mode::Guarded, Mode::Lenient] {
            for target in TARGETS {
                let cost = cost(|| translator(mode, source, target), stream.as_bytes(), 16 * KIB);
                let allowed = 8 * stream.len();
                assert!(cost.most <= allowed, "{name}: {} of {allowed} bytes, {mode:?} to {target:?}", cost.most);
            }
        }
    }
}

fn text(size: usize) -> String {
    frame(&format!("{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{}\"}}}}]}}", "x".repeat(size)))
}

#[test]
fn m_06_a_silent_stream_holds_little_however_much_has_passed() {
    // Responses repeat the whole text at their end, so that is held there.
    for target in [Target::OpenaiChat, Target::AnthropicMessages] {
        for (passed, read) in [(text(10).repeat(1000), 500), (text(10).repeat(30_000), 64 * KIB), (text(4 * MIB), MIB)]
        {
            for mode in [Mode::Guarded, Mode::Lenient] {
                let cost = cost(|| translator(mode, Protocol::OpenaiChat, target), passed.as_bytes(), read);
                assert!(cost.held <= 32 * KIB, "{} bytes after {}, {mode:?} to {target:?}", cost.held, passed.len());
            }
        }
    }
}

#[test]
fn m_06_what_a_call_holds_is_what_has_come_of_it() {
    let begun =
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"[1"}}]}}]}"#;
    let more = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":",1234567"}}]}}]}"#;
    let stream = frame(begun) + &frame(more).repeat(50_000);
    let held = 8 * 50_000;
    let cost = cost(|| translator(Mode::Guarded, Protocol::OpenaiChat, Target::OpenaiChat), stream.as_bytes(), 4 * KIB);
    // A buffer that grows is twice as long as what is in it, at most.
    assert!(cost.held > held && cost.held <= 2 * held + 32 * KIB, "{} bytes for {held}", cost.held);
}

#[test]
fn m_01_one_long_line_costs_its_length_and_ends_at_the_limit() {
    let allowed = Limits::default().frame_bytes;
    let mut session = translator(Mode::Guarded, Protocol::OpenaiChat, Target::OpenaiChat);
    let before = IN_USE.get();
    MOST.set(before);
    let read = [b'x'; 4 * KIB];
    let is_refused = |_: &usize| session.feed(&read, &mut ()).is_err();
    assert_eq!((1..=allowed).find(is_refused), Some(allowed / read.len() + 1));
    assert!(MOST.get() - before <= 2 * allowed + 32 * KIB);
}
