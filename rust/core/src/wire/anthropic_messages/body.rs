//! Blocks and messages that come whole: in a body, or as far as a start event has them.

use std::borrow::Cow;

use super::decode::Output;
use super::schema::{Block, Message, TextPart};
use crate::delta::{BlockHead, Delta, Field, Identity, Origin};
use crate::error::Malformed;
use crate::event::{BlockKind, Part};
use crate::wire::Decoded;
use crate::wire::json::{RawObject, Str};

/// What a block's deltas are read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Text,
    Thinking,
    Redacted,
    Call,
    Result,
    /// Kept raw, with its deltas.
    Other,
}

/// What is known of a block that has started.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) sort: Sort,
    /// The id of a call.
    pub(super) id: Option<String>,
    /// Whether the start had the arguments.
    pub(super) has_input: bool,
    /// The signature, once it has come.
    pub(super) signature: String,
    /// Whether another block began under its number: whose a delta is can no longer be told.
    pub(super) is_shadowed: bool,
}

impl Started {
    fn new(sort: Sort) -> Self {
        Self { sort, id: None, has_input: false, signature: String::new(), is_shadowed: false }
    }
}

/// Says what a message is, apart from its content and its end.
pub(super) fn envelope<'a>(message: &mut Message<'a>, out: &mut Output<'_, 'a>) {
    out.push(Delta::Announced);
    for (name, value) in [("id", &mut message.id), ("model", &mut message.model), ("role", &mut message.role)] {
        if let Some(Str(text)) = value.take() {
            out.push(Delta::Identity { name, value: Identity::Text(text) });
        }
    }
    for (name, json) in message.extras.drain(..) {
        out.push(Delta::ResponseNote { name, json });
    }
}

/// Says each block of a message: it opens, has everything, and closes.
pub(super) fn content<'a>(content: Vec<RawObject<'a>>, field: Field, out: &mut Decoded<'a>) -> Result<(), Malformed> {
    for (element, RawObject(json)) in content.into_iter().enumerate() {
        let origin = Origin::new(0, field, element);
        let slot = element as u64;
        let mut out = Output::new(out, origin);
        block(slot, serde_json::from_str(json)?, || Ok(json), &mut out)?;
        out.push(Delta::Close { slot });
    }
    Ok(())
}

/// Says a block as far as it stands there. Of a kind that is not known, all of it is kept as it came.
pub(super) fn block<'a>(
    slot: u64,
    mut block: Block<'a>,
    json: impl FnOnce() -> Result<&'a str, Malformed>,
    out: &mut Output<'_, 'a>,
) -> Result<Started, Malformed> {
    let kind = block.kind.take().ok_or_else(|| Malformed::WrongShape("missing type".to_owned()))?.0;
    let started = match kind.as_ref() {
        "text" => text(slot, &mut block, out)?,
        "thinking" => thinking(slot, &mut block, out)?,
        "redacted_thinking" => redacted(slot, &mut block, out)?,
        "tool_use" => call(slot, BlockKind::FunctionCall, &mut block, out)?,
        "server_tool_use" | "mcp_tool_use" => call(slot, BlockKind::ServerCall, &mut block, out)?,
        name if name.ends_with("tool_result") => result(slot, kind, &mut block, out)?,
        _ => {
            out.push(open(slot, BlockKind::Unknown, None, kind));
            out.grow(slot, Part::Raw, Cow::Borrowed(json()?));
            return Ok(Started::new(Sort::Other));
        }
    };
    out.notes(slot, block.extras);
    Ok(started)
}

fn open<'a>(slot: u64, kind: BlockKind, id: Option<Cow<'a, str>>, name: Cow<'a, str>) -> Delta<'a> {
    Delta::Open { slot, head: BlockHead { kind, id, name } }
}

fn text<'a>(slot: u64, block: &mut Block<'a>, out: &mut Output<'_, 'a>) -> Result<Started, Malformed> {
    out.push(open(slot, BlockKind::Text, None, Cow::Borrowed("")));
    if let Some(text) = block.take_text("text")? {
        out.grow(slot, Part::Text, text);
    }
    if let Some(Cow::Borrowed(citations)) = block.take("citations")? {
        for RawObject(json) in serde_json::from_str::<Vec<RawObject<'a>>>(citations)? {
            out.push(Delta::NoteOn { slot, name: Cow::Borrowed("citations"), json: json.into() });
        }
    }
    Ok(Started::new(Sort::Text))
}

fn thinking<'a>(slot: u64, block: &mut Block<'a>, out: &mut Output<'_, 'a>) -> Result<Started, Malformed> {
    out.push(open(slot, BlockKind::Thinking, None, Cow::Borrowed("")));
    if let Some(text) = block.take_text("thinking")? {
        out.grow(slot, Part::Text, text);
    }
    let signature = block.take_text("signature")?.unwrap_or_default();
    let started = Started { signature: signature.clone().into_owned(), ..Started::new(Sort::Thinking) };
    if !signature.is_empty() {
        out.grow(slot, Part::Signature, signature);
    }
    Ok(started)
}

fn redacted<'a>(slot: u64, block: &mut Block<'a>, out: &mut Output<'_, 'a>) -> Result<Started, Malformed> {
    out.push(open(slot, BlockKind::Thinking, None, Cow::Borrowed("")));
    if let Some(data) = block.take_text("data")? {
        out.grow(slot, Part::Data, data);
    }
    Ok(Started::new(Sort::Redacted))
}

fn call<'a>(slot: u64, kind: BlockKind, block: &mut Block<'a>, out: &mut Output<'_, 'a>) -> Result<Started, Malformed> {
    let id = block.take_text("id")?;
    let name = block.take_text("name")?.unwrap_or_default();
    let input = block.take("input")?.filter(|input| !is_empty(input));
    let owned = id.clone().map(Cow::into_owned);
    let started = Started { id: owned, has_input: input.is_some(), ..Started::new(Sort::Call) };
    out.push(open(slot, kind, id, name));
    if let Some(input) = input {
        out.grow(slot, Part::Arguments, input);
    }
    Ok(started)
}

/// Whether a call's input says nothing yet: the arguments may come, or there are none.
fn is_empty(input: &str) -> bool {
    input == "\"\"" || input.bytes().all(|byte| matches!(byte, b'{' | b'}') || byte.is_ascii_whitespace())
}

fn result<'a>(
    slot: u64,
    kind: Cow<'a, str>,
    block: &mut Block<'a>,
    out: &mut Output<'_, 'a>,
) -> Result<Started, Malformed> {
    let call = block.take_text("tool_use_id")?;
    out.push(open(slot, BlockKind::ToolResult, call, kind));
    if let Some(content) = block.take("content")? {
        if let Some(text) = text_of(&content) {
            out.grow(slot, Part::Text, Cow::Owned(text));
        }
        out.grow(slot, Part::Raw, content);
    }
    Ok(Started::new(Sort::Result))
}

/// The text of a result that is a string or a list of nothing but text parts.
fn text_of(content: &str) -> Option<String> {
    if let Ok(Str(text)) = serde_json::from_str(content) {
        return Some(text.into_owned());
    }
    let parts: Vec<TextPart<'_>> = serde_json::from_str(content).ok()?;
    parts.into_iter().map(|part| part.kind.and(part.text).map(|text| text.0.into_owned())).collect()
}
