//! The counts of a message, whose input leaves cached tokens out, and which grow from event to event.

use crate::error::Malformed;
use crate::usage::Usage;
use crate::wire::json::{Fields, Raw, Str};
use crate::wire::output::push_string;

/// How many counts a message may have, and how long they may be: nobody sends more than twenty, in a kilobyte. Each event says all of
/// them again, so that more would make a short event dear.
const MOST_COUNTS: usize = 64;
const LONGEST: usize = 16 << 10;
/// How long they are mostly.
const USUAL: usize = 256;

/// What the events have said of the usage so far, as JSON: of each count the last value, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Cumulative(String);

impl Cumulative {
    /// Takes the `usage` of one event; a count that is null says nothing. Gives the counts so far, and their JSON.
    pub(super) fn add(&mut self, Fields(said): Fields<'_>) -> Result<(Usage, String), Malformed> {
        let Fields(mut counts) = if self.0.is_empty() { Fields::default() } else { serde_json::from_str(&self.0)? };
        for (name, value) in said.into_iter().filter(|(_, value)| value.0 != "null") {
            match counts.iter().position(|(known, _)| *known == name).and_then(|at| counts.get_mut(at)) {
                Some((_, last)) => *last = value,
                None => counts.push((name, value)),
            }
            if counts.len() > MOST_COUNTS {
                return Err(Malformed::WrongShape("usage with too many counts".to_owned()));
            }
        }
        let all = to_json(&counts);
        if all.len() > LONGEST {
            return Err(Malformed::WrongShape("usage that is too long".to_owned()));
        }
        let usage = read(&counts);
        self.0.clone_from(&all);
        Ok((usage, all))
    }
}

type Counts<'a> = [(Str<'a>, Raw<'a>)];

fn get<'a>(counts: &Counts<'a>, name: &str) -> Option<&'a str> {
    counts.iter().rfind(|(Str(known), _)| known == name).map(|(_, Raw(json))| *json)
}

fn read(counts: &Counts<'_>) -> Usage {
    let count = |name: &str| get(counts, name)?.parse().ok();
    let (cache_read, cache_write) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    let cached = cache_read.unwrap_or(0_u64).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: count("input_tokens").map(|fresh| fresh.saturating_add(cached)),
        output: count("output_tokens"),
        cache_read,
        cache_write,
        reasoning: get(counts, "output_tokens_details").and_then(reasoning),
    }
}

fn to_json(counts: &Counts<'_>) -> String {
    let mut json = String::with_capacity(USUAL);
    json.push('{');
    for (Str(name), Raw(value)) in counts {
        if json.len() > 1 {
            json.push(',');
        }
        push_string(&mut json, name);
        json.push(':');
        json.push_str(value);
    }
    json.push('}');
    json
}

/// How many of the output tokens were thinking.
fn reasoning(details: &str) -> Option<u64> {
    let Fields(details) = serde_json::from_str(details).ok()?;
    let count = |name: &str| get(&details, name)?.parse().ok();
    count("thinking_tokens").or_else(|| count("reasoning_tokens"))
}
