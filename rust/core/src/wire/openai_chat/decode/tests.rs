//! A chunk that is told by one before says what it says when it is read in full.

use super::Decoder;
use crate::delta::{Delta, Located};
use crate::event::Event;
use crate::limits::Limits;
use crate::machine::BlockMachine;

/// Texts as they stand in JSON: plain, escaped, not ASCII, empty, and broken.
const TEXTS: [&str; 12] =
    ["a", " the", "", "\\n", "\\\"", "caf\u{e9}", "\\u00e9", "}", "{\\\"a\\\":", "\\ud83c\\udf0a", "\\ud83c", "\\x"];

/// Chunks with one text in them, and some with it in two fields.
const SHAPES: [&str; 10] = [
    r#"{"id":"i","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}]}"#,
    r#"{"id":"i","choices":[{"index":0,"delta":{"role":"assistant","content":"TEXT"}}],"obfuscation":"xTEXT"}"#,
    r#"{"id":"i","choices":[{"index":1,"delta":{"reasoning_content":"TEXT","content":""}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"TEXT","reasoning_details":[{"type":"reasoning.text","text":"TEXT"}]}}]}"#,
    r#"{"choices":[{"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"TEXT"}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"TEXT"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"TEXT"}}]}}] }"#,
    r#"{"choices":[{"delta":{"content":"TEXT","extra":"TEXT"}}],"provider":"p"}"#,
    r#"{"choices":[{"delta":{"content":"TEXT"}}],"provider":"TEXT"}"#,
    r#"{"choices":[{"delta":{"content":"TEXT"},"finish_reason":"stop"}]  }"#,
];

/// What the machine makes of deltas: what is said again and counts once is not told apart by the deltas themselves.
fn events(machine: &mut BlockMachine, deltas: Vec<Located<'_>>) -> Vec<String> {
    struct Heard(Vec<String>);
    impl crate::event::Sink for Heard {
        fn event(&mut self, event: Event<'_>) {
            self.0.push(format!("{event:?}"));
        }
    }
    let mut heard = Heard(Vec::new());
    for Located { choice, origin, delta } in deltas {
        let field = (!matches!(delta, Delta::Announced | Delta::Identity { .. })).then_some(origin);
        let outcome = machine.step(choice, delta, &mut heard).unwrap();
        heard.0.extend(field.map(|origin| format!("{outcome:?} {origin:?}")));
    }
    heard.0
}

/// What each chunk of a stream becomes, with the chunks before it remembered or not.
fn read(chunks: &[String], remembers: bool) -> Vec<Result<Vec<String>, String>> {
    let (mut decoder, mut machine) = (Decoder::default(), BlockMachine::new(Limits::default()));
    let mut decode = |chunk: &String| {
        if !remembers {
            decoder.templates.forget();
        }
        let mut deltas = Vec::new();
        let outcome = decoder.decode_json(chunk, &mut deltas);
        outcome.map(|()| events(&mut machine, deltas)).map_err(|malformed| malformed.name().to_owned())
    };
    chunks.iter().map(&mut decode).collect()
}

#[test]
fn every_two_chunks_of_a_shape_mean_what_they_mean_alone() {
    for shape in SHAPES {
        for first in TEXTS {
            let chunks: Vec<String> =
                TEXTS.iter().flat_map(|second| [first, second]).map(|text| shape.replace("TEXT", text)).collect();
            assert_eq!(read(&chunks, true), read(&chunks, false), "{shape} after {first:?}");
        }
    }
}

#[test]
fn shapes_in_turn_mean_what_they_mean_alone() {
    for first in SHAPES {
        for second in SHAPES {
            let in_turn =
                TEXTS.iter().flat_map(|text| [first, second, second, first].map(|it| it.replace("TEXT", text)));
            let chunks: Vec<String> = in_turn.collect();
            assert_eq!(read(&chunks, true), read(&chunks, false), "{first} and {second}");
        }
    }
}

#[test]
fn a_chunk_of_a_known_shape_is_told_without_a_parser() {
    let chunk = |text: &str| SHAPES.first().unwrap().replace("TEXT", text);
    let (mut decoder, first, second) = (Decoder::default(), chunk("a"), chunk("b\\n"));
    decoder.decode_json(&first, &mut Vec::new()).unwrap();
    let mut deltas = Vec::new();
    assert!(decoder.templates.decode(second.as_bytes(), &mut deltas).is_some());
    assert!(matches!(deltas.as_slice(), [Located { delta: Delta::Text(text), .. }] if text == "b\n"));
    // A chunk that lacks its end is another, and no JSON.
    assert!(decoder.templates.decode(second.strip_suffix('}').unwrap().as_bytes(), &mut Vec::new()).is_none());
}
