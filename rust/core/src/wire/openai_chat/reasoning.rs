//! One reading of the several fields in which providers send reasoning.
//!
//! They send the same text in more than one of them. So text, signature and data are each taken from the first field that has it, and
//! text comes before what is said about it.

use std::borrow::Cow;

use super::schema::{Delta, ReasoningDetail, ThinkingBlock, given};
use crate::delta::Field;

/// What is said of reasoning, apart from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Text,
    Signature,
    Data,
    /// What another field has said.
    Repeated,
}

/// One thing that is said, and where.
#[derive(Debug)]
pub(crate) struct Said<'a> {
    pub(crate) field: Field,
    pub(crate) element: usize,
    pub(crate) sort: Sort,
    pub(crate) text: Cow<'a, str>,
}

/// What the fields say together; and the details of types that mean nothing here, by position, as JSON.
pub(crate) fn merged<'a>(delta: &mut Delta<'a>) -> (Vec<Said<'a>>, Vec<(usize, String)>) {
    let mut all = Vec::with_capacity(4);
    say_blocks(delta.thinking_blocks.take().unwrap_or_default(), &mut all);
    let strange = say_details(delta.reasoning_details.take().unwrap_or_default(), &mut all);
    say(Field::ReasoningContent, 0, [given(delta.reasoning_content.take()), None, None], &mut all);
    say(Field::Reasoning, 0, [given(delta.reasoning.take()), None, None], &mut all);
    let owner = |sort: Sort| all.iter().find(|each| each.sort == sort).map(|each| each.field);
    let owners = [Sort::Text, Sort::Signature, Sort::Data].map(|sort| (sort, owner(sort)));
    let [(_, of_text), ..] = owners;
    for each in &mut all {
        if !owners.contains(&(each.sort, Some(each.field))) {
            each.sort = Sort::Repeated;
        }
    }
    all.sort_by_key(|each| (each.sort == Sort::Repeated, of_text != Some(each.field)));
    (all, strange)
}

/// What one place says: text, signature and data, as far as they are given.
fn say<'a>(field: Field, element: usize, texts: [Option<Cow<'a, str>>; 3], all: &mut Vec<Said<'a>>) {
    let sorts = [Sort::Text, Sort::Signature, Sort::Data];
    let given = sorts.into_iter().zip(texts).filter_map(|(sort, text)| Some((sort, text?)));
    all.extend(given.map(|(sort, text)| Said { field, element, sort, text }));
}

fn say_blocks<'a>(blocks: Vec<ThinkingBlock<'a>>, all: &mut Vec<Said<'a>>) {
    for (element, block) in blocks.into_iter().enumerate() {
        let texts = [given(block.thinking), given(block.signature), given(block.data)];
        say(Field::ThinkingBlock, element, texts, all);
    }
}

fn say_details<'a>(details: Vec<ReasoningDetail<'a>>, all: &mut Vec<Said<'a>>) -> Vec<(usize, String)> {
    let mut strange = Vec::new();
    for (element, detail) in details.into_iter().enumerate() {
        let text = match detail.kind.as_ref().map_or("", |kind| kind.0.as_ref()) {
            "reasoning.text" => given(detail.text),
            "reasoning.summary" => given(detail.summary),
            "reasoning.encrypted" => None,
            _ => {
                strange.push((element, detail.to_json()));
                continue;
            }
        };
        say(Field::ReasoningDetail, element, [text, given(detail.signature), given(detail.data)], all);
    }
    strange
}

impl ReasoningDetail<'_> {
    /// The detail as JSON again, for types that have no meaning here.
    fn to_json(&self) -> String {
        let named = [
            ("type", &self.kind),
            ("text", &self.text),
            ("summary", &self.summary),
            ("signature", &self.signature),
            ("data", &self.data),
        ];
        let named = named
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), serde_json::Value::from(text.as_ref()?.0.as_ref()))));
        let extras = self
            .extras
            .iter()
            .map(|(name, json)| (name.clone().into_owned(), serde_json::from_str(json).unwrap_or_default()));
        serde_json::Value::Object(named.chain(extras).collect()).to_string()
    }
}
