//! The counts of a response, whose input includes cached tokens.

use crate::usage::Usage;
use crate::wire::json::count;
use crate::wire::room;

/// Reads a `usage` object.
pub(crate) fn counts(json: &str) -> Usage {
    let usage = room::part(json);
    Usage {
        input: count(&usage, &["input_tokens"]),
        output: count(&usage, &["output_tokens"]),
        cache_read: count(&usage, &["input_tokens_details", "cached_tokens"]),
        cache_write: count(&usage, &["input_tokens_details", "cache_write_tokens"]),
        reasoning: count(&usage, &["output_tokens_details", "reasoning_tokens"]),
    }
}
