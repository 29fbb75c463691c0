//! What the benches read: the project's own streams, and recorded ones where they are.
//!
//! The streams are those of `benches/python/own_streams.py`: an answer in text, one with reasoning, one with tool calls.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// How many bytes a read has: a slow network, and a fast one.
pub const READ_BYTES: [usize; 2] = [1 << 10, 16 << 10];

const CHUNKS: usize = 600;
/// Every so many recordings, in the order of their names.
const STRIDE: usize = 8;

/// Deltas as models cut them, as JSON writes them.
const TOKENS: [&str; 16] = [
    "The", " sluice", " opens", " at", " dawn", ",", " before", " the", " mill", " pond", " is", " brim", "ming",
    ".\\n", " Caf", "é",
];
const ARGUMENT_TOKENS: [&str; 14] = [
    "{\\\"",
    "gate",
    "\\\":\\\"",
    "north",
    "\\\",\\\"",
    "height",
    "\\\":",
    "12",
    ",\\\"",
    "reason",
    "\\\":\\\"",
    "flood",
    " warning",
    "\\\"}",
];

/// Streams that are measured together.
#[derive(Debug)]
pub struct Sample {
    /// What they are.
    pub name: &'static str,
    /// Each stream's bytes.
    pub streams: Vec<Vec<u8>>,
}

impl Sample {
    /// How many bytes the streams have, all together.
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.len() as u64).sum()
    }
}

/// Everything that is measured.
pub fn samples() -> Vec<Sample> {
    let mut samples = vec![
        Sample { name: "text", streams: vec![text()] },
        Sample { name: "reasoning", streams: vec![reasoning()] },
        Sample { name: "tool_calls", streams: vec![tool_calls()] },
    ];
    let recorded = recorded(&corpus());
    if !recorded.is_empty() {
        samples.push(Sample { name: "recorded", streams: recorded });
    }
    samples
}

fn text() -> Vec<u8> {
    let deltas = tokens(CHUNKS).map(|token| format!(r#"{{"content":"{token}"}}"#));
    stream(deltas, "stop")
}

fn reasoning() -> Vec<u8> {
    let thought = CHUNKS * 2 / 3;
    let thinking = tokens(thought).map(|token| format!(r#"{{"reasoning_content":"{token}"}}"#));
    let text = tokens(CHUNKS - thought).map(|token| format!(r#"{{"content":"{token}"}}"#));
    stream(thinking.chain(text), "stop")
}

fn tool_calls() -> Vec<u8> {
    stream((0..CHUNKS / 15).flat_map(call), "tool_calls")
}

fn tokens(count: usize) -> impl Iterator<Item = &'static str> {
    TOKENS.into_iter().cycle().take(count)
}

fn call(index: usize) -> impl Iterator<Item = String> {
    let function = r#"{"name":"open_gate","arguments":""}"#;
    let head = format!(r#"{{"index":{index},"id":"call_{index}","type":"function","function":{function}}}"#);
    let pieces = ARGUMENT_TOKENS
        .into_iter()
        .map(move |token| format!(r#"{{"index":{index},"function":{{"arguments":"{token}"}}}}"#));
    std::iter::once(head).chain(pieces).map(|call| format!(r#"{{"tool_calls":[{call}]}}"#))
}

/// The bytes of a stream: role, deltas, finish, usage, and the terminator.
fn stream(deltas: impl Iterator<Item = String>, finish_reason: &str) -> Vec<u8> {
    let mut body = String::new();
    push_chunk(&mut body, r#"{"role":"assistant","content":""}"#, "null");
    for delta in deltas {
        push_chunk(&mut body, &delta, "null");
    }
    push_chunk(&mut body, "{}", &format!("\"{finish_reason}\""));
    push_event(&mut body, "[]", r#"{"prompt_tokens":210,"completion_tokens":640,"total_tokens":850}"#);
    body.push_str("data: [DONE]\n\n");
    body.into_bytes()
}

fn push_chunk(body: &mut String, delta: &str, finish_reason: &str) {
    let choice = format!(r#"[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish_reason}}}]"#);
    push_event(body, &choice, "null");
}

fn push_event(body: &mut String, choices: &str, usage: &str) {
    let identity = r#""id":"chatcmpl-9f1c2d3e4a5b6c7d8e9f","object":"chat.completion.chunk","created":1750000000"#;
    let model = r#""model":"mill-large-2025-06-01","service_tier":"default","system_fingerprint":"fp_0a1b2c3d4e""#;
    // Writing to a string cannot fail.
    let _ = write!(body, "data: {{{identity},{model},\"choices\":{choices},\"usage\":{usage}}}\n\n");
}

fn corpus() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    env::var_os("PENSTOCK_CORPUS").filter(|folder| !folder.is_empty()).map_or(beside, PathBuf::from)
}

/// Some of the recorded streams of a corpus; none if it is not there.
fn recorded(corpus: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(corpus.join("openai_chat")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "sse")).collect();
    paths.sort();
    paths.iter().step_by(STRIDE).filter_map(|path| fs::read(path).ok()).collect()
}
