//! The counts of a message, whose input leaves cached tokens out, and which grow from event to event.

use crate::error::Malformed;
use crate::usage::Usage;
use crate::wire::json::{Fields, Raw, Str};
use crate::wire::output::{Object, push_string};

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

pub(super) fn write_cached(usage: &Usage, json: &mut Object<'_>) {
    json.number_if("cache_creation_input_tokens", usage.cache_write);
    json.number_if("cache_read_input_tokens", usage.cache_read);
}

pub(super) fn write_input(begun: &Usage, usage: &Usage, json: &mut Object<'_>) {
    let input = |usage: &Usage| (fresh_input(usage).unwrap_or(0), usage.cache_read, usage.cache_write);
    if input(begun) != input(usage) {
        json.number_if("input_tokens", fresh_input(usage));
        write_cached(usage, json);
    }
}

/// The input that neither came from the cache nor went there: the format counts those apart.
pub(crate) fn fresh_input(usage: &Usage) -> Option<u64> {
    let cached = usage.cache_read.unwrap_or(0).saturating_add(usage.cache_write.unwrap_or(0));
    usage.input.map(|input| input.saturating_sub(cached))
}

#[cfg(test)]
mod tests {
    use super::{Cumulative, MOST_COUNTS};
    use crate::usage::Usage;
    use crate::wire::json::Fields;

    fn fields(json: &str) -> Fields<'_> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn of_each_count_the_last_value_counts_and_null_is_none() {
        let mut usage = Cumulative::default();
        usage.add(fields(r#"{"input_tokens":3,"cache_read_input_tokens":4,"tier":"a"}"#)).unwrap();
        let (counts, json) = usage.add(fields(r#"{"output_tokens":7,"input_tokens":5,"tier":null}"#)).unwrap();
        assert_eq!(json, r#"{"input_tokens":5,"cache_read_input_tokens":4,"tier":"a","output_tokens":7}"#);
        let expected = Usage { input: Some(9), output: Some(7), cache_read: Some(4), ..Usage::default() };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_usage_stays_short_whatever_comes() {
        let many = |count: usize| {
            let counts: Vec<String> = (0..count).map(|number| format!("\"{number}\":1")).collect();
            format!("{{{}}}", counts.join(","))
        };
        assert!(Cumulative::default().add(fields(&many(MOST_COUNTS))).is_ok());
        assert!(Cumulative::default().add(fields(&many(MOST_COUNTS + 1))).is_err());
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(super::LONGEST));
        assert!(Cumulative::default().add(fields(&long)).is_err());
    }
}
