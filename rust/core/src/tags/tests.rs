//! The stage from the outside: text in, blocks out.

use std::sync::Arc;

use super::{Body, Element, Grammar, Kept, MarkerPiece, Role, ValueRule, Vocabulary, VocabularyError};
use crate::{BlockKind, Blocks, Event, Grain, Limits, Mode, Protocol, Session, Sink};

fn literal(text: &str) -> MarkerPiece {
    MarkerPiece::Literal(text.to_owned())
}

fn open_tag(name: &str, attributes: &[(&str, &str)]) -> Vec<MarkerPiece> {
    let kept = attributes.iter().map(|&(attribute, capture)| (attribute.to_owned(), capture.to_owned())).collect();
    vec![literal("<"), MarkerPiece::Prefix, literal(name), MarkerPiece::Attributes(kept)]
}

fn close_tag(name: &str) -> Vec<MarkerPiece> {
    vec![literal("</"), MarkerPiece::Prefix, literal(name), MarkerPiece::Space, literal(">")]
}

fn element(role: Role, name: &str, attributes: &[(&str, &str)]) -> Element {
    Element {
        role,
        open: open_tag(name, attributes),
        close: Some(close_tag(name)),
        body: Body::Elements,
        values: ValueRule::Json,
        trims: false,
        call_id: String::new(),
    }
}

fn vocabulary() -> Vocabulary {
    let json = Body::JsonCalls { names: vec!["name".into()], arguments: vec!["arguments".into()] };
    Vocabulary {
        elements: vec![
            element(Role::Thinking, "thinking", &[]),
            element(Role::Section, "calls", &[]),
            element(Role::Call, "call", &[("name", "name")]),
            element(Role::Parameter, "value", &[("name", "key")]),
            Element { body: json, ..element(Role::Section, "json", &[]) },
        ],
        stops: vec!["STOP".into()],
        ..Vocabulary::default()
    }
}

fn session(vocabulary: Vocabulary) -> Result<Session, VocabularyError> {
    let limits = Limits::default();
    let grammar = Arc::new(Grammar::new(vocabulary, limits.tag_bytes)?);
    Ok(Session::new(Some(Protocol::Text), Mode::Lenient, Grain::Chunk, limits).with_tags(grammar))
}

/// The blocks of a text that comes in pieces: kind, name and text of each.
fn read(pieces: &[&str]) -> Vec<(BlockKind, String, String)> {
    let mut session = session(vocabulary()).unwrap();
    let mut blocks = Blocks::default();
    for piece in pieces {
        session.feed_json(piece, &mut blocks).unwrap();
    }
    while session.finish(&mut blocks).unwrap().is_some() {}
    assert!(blocks.iter().all(|block| block.is_complete));
    blocks.iter().map(|block| (block.kind, block.name.clone(), block.text.clone())).collect()
}

fn text(said: &str) -> (BlockKind, String, String) {
    (BlockKind::Text, String::new(), said.to_owned())
}

fn call(name: &str, arguments: &str) -> (BlockKind, String, String) {
    (BlockKind::FunctionCall, name.to_owned(), arguments.to_owned())
}

const TEXT: &str = "é <<ns:thinking a='>'>hm</thinking >\u{1F389}<calls>\n<call name=\"f\"><value name=k>[1, \"é\"]</value>\
     <value name=\"v\">a \"b\" </calls></value></call></calls><json>[{\"name\": \"g\", \"arguments\": \"{\\\"a\\\": \
     \\\"\\u00e9\\ud83c\\udf89\\\"}\"}]</json> end STO STOP<thinking>";

#[test]
fn a_text_gives_its_blocks() {
    let thinking = (BlockKind::Thinking, String::new(), "hm".to_owned());
    assert_eq!(
        read(&[TEXT]),
        [
            text("é <"),
            thinking,
            text("\u{1F389}"),
            call("f", "{\"k\":[1, \"é\"],\"v\":\"a \\\"b\\\" </calls>\"}"),
            call("g", "{\"a\": \"é\u{1F389}\"}"),
            text(" end STO "),
        ]
    );
}

#[test]
fn every_cut_gives_the_same_blocks() {
    let whole = read(&[TEXT]);
    for (cut, _) in TEXT.char_indices() {
        let (before, behind) = TEXT.split_at(cut);
        assert_eq!(read(&[before, behind]), whole, "cut at {cut}");
    }
    let characters: Vec<&str> = TEXT.split("").collect();
    assert_eq!(read(&characters), whole);
}

/// Counts how much text has been handed on.
#[derive(Default)]
struct Shown(usize);

impl Sink for Shown {
    fn event(&mut self, event: Event<'_>) {
        if let Event::BlockGrew { text, .. } = event {
            self.0 += text.len();
        }
    }
}

#[test]
fn no_more_than_the_limit_is_held() {
    let allowed = Limits::default().tag_bytes;
    for text in ["<thinking a=\"", "<thinking ", "<a", "<thinking a='<thinking b=\""] {
        let text = text.to_owned() + &"x".repeat(2000);
        let mut session = session(vocabulary()).unwrap();
        let mut shown = Shown::default();
        for (at, character) in text.char_indices() {
            session.feed_json(character.to_string().as_str(), &mut shown).unwrap();
            assert!(at + 1 - shown.0 <= allowed, "{at}");
        }
    }
}

#[test]
fn a_vocabulary_that_could_never_be_read_is_refused() {
    let with = |open: Vec<MarkerPiece>| {
        let element = Element { open, ..element(Role::Thinking, "x", &[]) };
        session(Vocabulary { elements: vec![element], ..Vocabulary::default() }).err()
    };
    assert_eq!(with(vec![literal("x")]), None);
    assert_eq!(with(vec![]), Some(VocabularyError::EmptyMarker));
    assert_eq!(with(vec![MarkerPiece::Space, literal("x")]), Some(VocabularyError::EmptyMarker));
    let long = VocabularyError::LongMarker { allowed: 256 };
    assert_eq!(with(vec![literal(&"x".repeat(257))]), Some(long.clone()));
    assert!(long.to_string().contains("tag_bytes = 256"));
}

#[test]
fn a_prompt_that_ends_in_a_call_goes_on_in_it() {
    let prefill = "<call name=\"f\"><value name=\"k\">a &lt;".to_owned();
    let vocabulary = Vocabulary { prefill, entities: Kept::No, ..vocabulary() };
    let mut session = session(vocabulary).unwrap();
    let mut blocks = Blocks::default();
    session.feed_json(" b</value></call>", &mut blocks).unwrap();
    let texts: Vec<&str> = blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(texts, ["{\"k\":\"a < b\"}"]);
}
