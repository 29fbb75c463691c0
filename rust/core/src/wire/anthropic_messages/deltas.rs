//! What a `content_block_delta` adds, by the type of its block.
//!
//! A delta of a type that its block does not have is refused; one for a block that never began goes on to the machine, which says so.

use std::borrow::Cow;

use super::body::{Sort, Started};
use super::decode::Output;
use super::schema::Delta as Wire;
use crate::delta::Delta;
use crate::event::{Part, Quirk};
use crate::wire::json::Raw;

/// Says one delta.
pub(super) fn say<'a>(slot: u64, block: Option<&mut Started>, mut delta: Wire<'a>, out: &mut Output<'_, 'a>) {
    let sort = block.as_ref().map(|block| block.sort);
    if sort == Some(Sort::Other) {
        return out.grow(slot, Part::Raw, Cow::Owned(delta.to_json()));
    }
    let is_on = |legal: Sort| sort.is_none_or(|sort| sort == legal);
    match delta.kind.as_ref().map_or("", |kind| kind.0.as_ref()) {
        "text_delta" if is_on(Sort::Text) => out.grow(slot, Part::Text, delta.text.unwrap_or_default().0),
        "thinking_delta" if is_on(Sort::Thinking) => out.grow(slot, Part::Text, delta.thinking.unwrap_or_default().0),
        "input_json_delta" if is_on(Sort::Call) => {
            arguments(slot, block, delta.partial_json.unwrap_or_default().0, out);
        }
        "signature_delta" if is_on(Sort::Thinking) => {
            signature(slot, block, delta.signature.unwrap_or_default().0, out);
        }
        "citations_delta" if is_on(Sort::Text) => {
            if let Some(Raw(json)) = delta.citation {
                out.push(Delta::NoteOn { slot, name: Cow::Borrowed("citations"), json: json.into() });
            }
        }
        "text_delta" | "thinking_delta" | "input_json_delta" | "signature_delta" | "citations_delta" => {
            return out.push(Delta::Refused(Quirk::MisplacedDelta));
        }
        _ => {
            let json = Cow::Owned(delta.to_json());
            let name = delta.kind.take().map_or(Cow::Borrowed("delta"), |kind| kind.0);
            return out.push(Delta::NoteOn { slot, name, json });
        }
    }
    out.notes(slot, delta.extras);
}

/// Arguments come in the start or in deltas. Where both have some, one of them is not what the model said.
fn arguments<'a>(slot: u64, block: Option<&mut Started>, text: Cow<'a, str>, out: &mut Output<'_, 'a>) {
    if !text.is_empty() && block.is_some_and(|block| block.has_input) {
        return out.push(Delta::Refused(Quirk::Contradiction));
    }
    out.grow(slot, Part::Arguments, text);
}

/// A signature comes once and whole.
fn signature<'a>(slot: u64, block: Option<&mut Started>, text: Cow<'a, str>, out: &mut Output<'_, 'a>) {
    let Some(block) = block else { return out.grow(slot, Part::Signature, text) };
    if block.signature.is_empty() {
        text.as_ref().clone_into(&mut block.signature);
        return out.grow(slot, Part::Signature, text);
    }
    if !text.is_empty() && block.signature != text {
        out.push(Delta::Refused(Quirk::Contradiction));
    }
}
