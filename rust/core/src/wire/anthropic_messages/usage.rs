//! The counts of a message, whose input leaves cached tokens out, and which grow from event to event.

use serde_json::{Map, Value};

use crate::usage::Usage;
use crate::wire::json::count;

/// What the events have said of the usage so far: of each count the last value.
#[derive(Debug, Default)]
pub(super) struct Cumulative(Map<String, Value>);

impl Cumulative {
    /// Takes the `usage` of one event; a count that is null says nothing. Gives the counts so far, and their JSON.
    pub(super) fn add(&mut self, json: &str) -> (Usage, String) {
        let new: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
        self.0.extend(new.into_iter().filter(|(_, value)| !value.is_null()));
        let all = Value::Object(std::mem::take(&mut self.0));
        // What was read as JSON can be written as JSON.
        let (counts, json) = (counts(&all), serde_json::to_string(&all).unwrap_or_default());
        if let Value::Object(all) = all {
            self.0 = all;
        }
        (counts, json)
    }
}

fn counts(usage: &Value) -> Usage {
    let cache_read = count(usage, &["cache_read_input_tokens"]);
    let cache_write = count(usage, &["cache_creation_input_tokens"]);
    let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: count(usage, &["input_tokens"]).map(|fresh| fresh.saturating_add(cached)),
        output: count(usage, &["output_tokens"]),
        cache_read,
        cache_write,
        reasoning: count(usage, &["output_tokens_details", "thinking_tokens"])
            .or_else(|| count(usage, &["output_tokens_details", "reasoning_tokens"])),
    }
}
