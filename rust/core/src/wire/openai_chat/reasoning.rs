//! One reading of the several fields in which providers send reasoning.
//!
//! They send the same text in more than one of them. So text, signature and data are each taken from the first field that has it, and
//! text comes before what is said about it.

use std::borrow::Cow;

use super::schema::{Delta, ReasoningDetail, ThinkingBlock, given};
use crate::delta::Field;
use crate::wire::json::Str;

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
    let (details, strange) = said_by_details(delta.reasoning_details.take().unwrap_or_default());
    let sources = [
        said_by_blocks(delta.thinking_blocks.take().unwrap_or_default()),
        details,
        said_plainly(Field::ReasoningContent, delta.reasoning_content.take()),
        said_plainly(Field::Reasoning, delta.reasoning.take()),
    ];
    let owner = |sort: Sort| sources.iter().position(|said| said.iter().any(|each| each.sort == sort));
    let (of_text, of_signature, of_data) = (owner(Sort::Text), owner(Sort::Signature), owner(Sort::Data));
    let is_owner = |at: usize, sort: Sort| match sort {
        Sort::Text => of_text == Some(at),
        Sort::Signature => of_signature == Some(at),
        Sort::Data => of_data == Some(at),
        Sort::Repeated => false,
    };
    let mut ordered: Vec<_> = sources.into_iter().enumerate().collect();
    ordered.sort_by_key(|(at, _)| of_text != Some(*at));
    let all = ordered.into_iter().flat_map(|(at, said)| said.into_iter().map(move |each| (at, each)));
    let (mut kept, repeated): (Vec<_>, Vec<_>) = all.partition(|(at, each)| is_owner(*at, each.sort));
    kept.extend(repeated.into_iter().map(|(at, each)| (at, Said { sort: Sort::Repeated, ..each })));
    (kept.into_iter().map(|(_, each)| each).collect(), strange)
}

fn said<'a>(
    field: Field,
    element: usize,
    text: Option<Cow<'a, str>>,
    signature: Option<Str<'a>>,
    data: Option<Str<'a>>,
) -> impl Iterator<Item = Said<'a>> {
    let all = [(Sort::Text, text), (Sort::Signature, given(signature)), (Sort::Data, given(data))];
    all.into_iter().filter_map(move |(sort, text)| Some(Said { field, element, sort, text: text? }))
}

fn said_plainly(field: Field, text: Option<Str<'_>>) -> Vec<Said<'_>> {
    said(field, 0, given(text), None, None).collect()
}

fn said_by_blocks<'a>(blocks: Vec<ThinkingBlock<'a>>) -> Vec<Said<'a>> {
    let of_block = |(element, block): (usize, ThinkingBlock<'a>)| {
        said(Field::ThinkingBlock, element, given(block.thinking), block.signature, block.data)
    };
    blocks.into_iter().enumerate().flat_map(of_block).collect()
}

fn said_by_details(details: Vec<ReasoningDetail<'_>>) -> (Vec<Said<'_>>, Vec<(usize, String)>) {
    let (mut known, mut strange) = (Vec::new(), Vec::new());
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
        known.extend(said(Field::ReasoningDetail, element, text, detail.signature, detail.data));
    }
    (known, strange)
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
