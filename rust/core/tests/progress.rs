//! Completeness of growing JSON against a whole parser, on texts and on each of their beginnings.

#![allow(clippy::unwrap_used, reason = "a test may end at the first surprise")]

mod common;

use common::Chance;
use penstock_core::wire::progress::JsonProgress;

const SEEDS: u64 = 400;

fn value(chance: &mut Chance, depth: usize, json: &mut String) {
    const SCALARS: [&str; 14] = [
        "0",
        "-1",
        "12.5",
        "1e9",
        "-0.25E-3",
        "true",
        "false",
        "null",
        "\"\"",
        "\"a b\"",
        "\"\\\"\\\\\"",
        "\"\\u00e9\"",
        "\"é\"",
        "\"{[,:\"",
    ];
    let space = chance.pick(&["", "", " ", "\n\t"]);
    match chance.below(if depth > 3 { 1 } else { 3 }) {
        0 => json.push_str(chance.pick(&SCALARS)),
        1 => {
            json.push('[');
            for at in 0..chance.below(4) {
                json.push_str(if at > 0 { "," } else { "" });
                json.push_str(space);
                value(chance, depth + 1, json);
            }
            json.push_str(space);
            json.push(']');
        }
        _ => {
            json.push('{');
            for at in 0..chance.below(4) {
                json.push_str(if at > 0 { "," } else { "" });
                json.extend([space, "\"n", chance.pick(&["0", "1"]), "\"", space, ":"]);
                value(chance, depth + 1, json);
            }
            json.push('}');
        }
    }
}

/// A change that mostly breaks the JSON.
fn damaged(json: &str, chance: &mut Chance) -> String {
    let mut characters: Vec<char> = json.chars().collect();
    let at = chance.below(characters.len());
    let other = chance.pick(&['"', '\\', '{', '}', '[', ']', ',', ':', '0', '.', 'e', '-', 't', ' ', '\u{1}']);
    if let Some(character) = characters.get_mut(at) {
        *character = other;
    }
    characters.into_iter().collect()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

fn check_each_beginning(text: &str, seed: u64) {
    let mut growing = JsonProgress::default();
    for (at, character) in text.char_indices() {
        let end = at + character.len_utf8();
        let beginning = text.get(..end).unwrap();
        growing.push(text.get(at..end).unwrap());
        assert_eq!(growing.is_whole(), is_json(beginning), "seed {seed}: {beginning:?}");
        assert_eq!(JsonProgress::of(beginning).is_whole(), growing.is_whole(), "seed {seed}, at once: {beginning:?}");
    }
}

#[test]
fn each_beginning_of_json_is_whole_when_a_parser_says_so() {
    for seed in 0..SEEDS {
        let chance = &mut Chance::new(seed);
        let mut json = String::new();
        value(chance, 0, &mut json);
        assert!(is_json(&json), "the test's own JSON, seed {seed}: {json}");
        check_each_beginning(&json, seed);
        check_each_beginning(&format!("{json} {json}"), seed);
        check_each_beginning(&damaged(&json, chance), seed);
    }
}

#[test]
fn nothing_is_not_whole() {
    assert!(!JsonProgress::default().is_whole());
    assert!(!JsonProgress::of(" \n").is_whole());
}

#[test]
fn json_that_is_nested_deeper_than_readers_go_is_not_whole() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(JsonProgress::of(&nested(127)).is_whole());
    assert!(!JsonProgress::of(&nested(200)).is_whole());
}
