//! The counts of a response, whose input includes cached tokens.

use crate::usage::Usage;
use crate::wire::json::count;

/// Reads a `usage` object.
pub(crate) fn counts(json: &str) -> Usage {
    let usage = serde_json::from_str(json).unwrap_or_default();
    Usage {
        input: count(&usage, &["input_tokens"]),
        output: count(&usage, &["output_tokens"]),
        cache_read: count(&usage, &["input_tokens_details", "cached_tokens"]),
        cache_write: count(&usage, &["input_tokens_details", "cache_write_tokens"]),
        reasoning: count(&usage, &["output_tokens_details", "reasoning_tokens"]),
    }
}
