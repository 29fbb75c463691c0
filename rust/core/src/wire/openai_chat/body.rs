//! Answers that were not streamed: a message is a delta that has everything.

use super::schema::Delta;

/// Reads a message. Its tool calls have no index: their order is their numbering.
pub(crate) fn delta_of(message: &str) -> Result<Delta<'_>, serde_json::Error> {
    let mut delta: Delta<'_> = serde_json::from_str(message)?;
    for (position, call) in delta.tool_calls.iter_mut().flatten().enumerate() {
        call.index.get_or_insert(position as u64);
    }
    Ok(delta)
}
