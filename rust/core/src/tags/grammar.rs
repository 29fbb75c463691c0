//! A vocabulary made ready: its markers without repetitions, and where in a text the next one may stand.

use memchr::{memchr, memchr2, memchr3};

use super::lexeme::{Captures, Matched, Shape};
use super::tag::{Tag, TagHead};
use super::vocabulary::{Body, Element, Kept, Marker, MarkerPiece, Role, Vocabulary, VocabularyError};

/// What a marker does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Opens or closes elements, named by their numbers.
    Element {
        /// Those that it opens.
        opens: Vec<usize>,
        /// Those that it closes.
        closes: Vec<usize>,
    },
    /// Ends the answer.
    Stop,
    /// Begins or ends fenced code.
    Fence,
    /// Begins a CDATA section.
    CdataOpen,
    /// Ends one.
    CdataClose,
    /// Stands for a character.
    Entity,
    /// Begins a call that is a JSON object.
    JsonCall,
}

/// A marker and what it does.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub(super) shape: Shape,
    /// The same, if it is a tag.
    tag: Option<Tag>,
    pub(super) meaning: Meaning,
}

impl Lexeme {
    fn new(shape: Shape, meaning: Meaning) -> Self {
        let tag = match &shape {
            Shape::Pieces(pieces) => Tag::of(pieces),
            Shape::JsonCall { .. } | Shape::Entity => None,
        };
        Self { shape, tag, meaning }
    }

    /// The elements that it opens, and those that it closes.
    fn elements(&self) -> (&[usize], &[usize]) {
        match &self.meaning {
            Meaning::Element { opens, closes } => (opens, closes),
            Meaning::Stop
            | Meaning::Fence
            | Meaning::CdataOpen
            | Meaning::CdataClose
            | Meaning::Entity
            | Meaning::JsonCall => (&[], &[]),
        }
    }

    /// Whether the marker stands at the beginning of a text; its head is read once for all tags.
    fn matches<'t>(&self, text: &'t str, head: Option<TagHead<'t>>, captures: &mut Captures<'t>) -> Matched {
        match (&self.tag, head) {
            (Some(tag), Some(head)) => tag.matches(head, text, captures),
            (Some(_), None) => Matched::No,
            (None, Some(_) | None) => self.shape.matches(text, captures),
        }
    }
}

fn head(text: &str) -> Option<TagHead<'_>> {
    text.starts_with('<').then(|| TagHead::read(text))
}

/// Where some markers are looked for and others are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// In text, in thinking and between the elements of a call.
    Text,
    /// In a section, as long as nothing but white space was in it.
    Section,
    /// In results.
    Results,
    /// In a value.
    Value,
}

/// The markers of one scope, and how each may begin.
#[derive(Clone, Debug)]
struct Table {
    /// Those that are tags, and the bytes that their names begin with.
    tags: Vec<usize>,
    is_name: [bool; 256],
    others: Vec<usize>,
    firsts: Vec<u8>,
    is_first: [bool; 256],
    /// Which byte may stand behind the first.
    is_second: [bool; 256],
}

/// A marker that was found.
#[derive(Debug)]
pub(super) struct Found<'t> {
    pub(super) lexeme: usize,
    pub(super) length: usize,
    pub(super) captures: Captures<'t>,
}

/// Whether a marker stands at a place.
#[derive(Debug)]
pub(super) enum Lookup<'t> {
    Found(Found<'t>),
    Partial,
    No,
}

/// A vocabulary made ready, for any number of streams.
#[derive(Clone, Debug)]
pub struct Grammar {
    pub(super) vocabulary: Vocabulary,
    pub(super) lexemes: Vec<Lexeme>,
    text: Table,
    section: Table,
    results: Table,
    value: Table,
    /// By element: the marker that closes it.
    closing: Vec<Option<usize>>,
    pub(super) tag_bytes: usize,
}

impl Grammar {
    /// Makes a vocabulary ready. No more than `tag_bytes` of a text are ever held because they may become a marker.
    pub fn new(vocabulary: Vocabulary, tag_bytes: usize) -> Result<Self, VocabularyError> {
        let mut lexemes = Vec::new();
        for (number, element) in vocabulary.elements.iter().enumerate() {
            add_element(number, element, &mut lexemes);
        }
        for stop in &vocabulary.stops {
            add(Shape::Pieces(vec![MarkerPiece::Literal(stop.clone())]), Meaning::Stop, &mut lexemes);
        }
        add_options(&vocabulary, &mut lexemes);
        for lexeme in &lexemes {
            check(&lexeme.shape, tag_bytes)?;
        }
        let table = |scope: Scope| Table::new(&vocabulary, &lexemes, scope);
        let [text, section, results, value] =
            [table(Scope::Text), table(Scope::Section), table(Scope::Results), table(Scope::Value)];
        let closing = (0..vocabulary.elements.len()).map(|element| closing(element, &lexemes)).collect();
        Ok(Self { vocabulary, lexemes, text, section, results, value, closing, tag_bytes })
    }

    fn table(&self, scope: Scope) -> &Table {
        match scope {
            Scope::Text => &self.text,
            Scope::Section => &self.section,
            Scope::Results => &self.results,
            Scope::Value => &self.value,
        }
    }

    /// The next place at or behind `at` where a marker may begin.
    pub(super) fn next_start(&self, scope: Scope, text: &[u8], at: usize) -> Option<usize> {
        self.table(scope).next_start(text, at)
    }

    /// The marker at the beginning of a text: of several, the one that ends first. At the end of the input nothing more can come.
    pub(super) fn lookup<'t>(&self, scope: Scope, text: &'t str, is_last: bool) -> Lookup<'t> {
        let mut best: Option<Found<'t>> = None;
        let mut is_partial = false;
        let head = head(text);
        for &number in self.table(scope).candidates(head) {
            let Some(lexeme) = self.lexemes.get(number) else { continue };
            let mut captures = Captures::default();
            match lexeme.matches(text, head, &mut captures) {
                Matched::Full(length) => {
                    let seen = length + usize::from(ends_in_word(&lexeme.shape));
                    let is_better = best.as_ref().is_none_or(|best| length < best.length);
                    if seen <= self.tag_bytes && is_better {
                        best = Some(Found { lexeme: number, length, captures });
                    }
                }
                Matched::Partial => is_partial |= text.len() < self.tag_bytes && !is_last,
                Matched::No => {}
            }
        }
        match best {
            Some(found) => Lookup::Found(found),
            None if is_partial => Lookup::Partial,
            None => Lookup::No,
        }
    }

    /// Whether one marker stands at the beginning of a text.
    pub(super) fn lookup_one(&self, lexeme: usize, text: &str, is_last: bool) -> Matched {
        let Some(lexeme) = self.lexemes.get(lexeme) else { return Matched::No };
        match lexeme.matches(text, head(text), &mut Captures::default()) {
            Matched::Full(length) if length <= self.tag_bytes => Matched::Full(length),
            Matched::Partial if text.len() < self.tag_bytes && !is_last => Matched::Partial,
            Matched::Full(_) | Matched::Partial | Matched::No => Matched::No,
        }
    }

    pub(super) fn element(&self, number: usize) -> Option<&Element> {
        self.vocabulary.elements.get(number)
    }

    pub(super) fn role(&self, number: usize) -> Option<Role> {
        self.element(number).map(|element| element.role)
    }

    /// The elements that a marker opens, and those that it closes.
    pub(super) fn elements_of(&self, lexeme: usize) -> (&[usize], &[usize]) {
        self.lexemes.get(lexeme).map_or((&[], &[]), Lexeme::elements)
    }

    /// The marker that closes an element.
    pub(super) fn close_of(&self, element: usize) -> Option<usize> {
        self.closing.get(element).copied().flatten()
    }
}

fn closing(element: usize, lexemes: &[Lexeme]) -> Option<usize> {
    lexemes.iter().position(|lexeme| lexeme.elements().1.contains(&element))
}

fn add(shape: Shape, meaning: Meaning, lexemes: &mut Vec<Lexeme>) {
    let Some(known) = lexemes.iter_mut().find(|known| known.shape == shape) else {
        return lexemes.push(Lexeme::new(shape, meaning));
    };
    if let (Meaning::Element { opens, closes }, Meaning::Element { opens: more, closes: others }) =
        (&mut known.meaning, meaning)
    {
        opens.extend(more);
        closes.extend(others);
    }
}

fn add_element(number: usize, element: &Element, lexemes: &mut Vec<Lexeme>) {
    let marker = |marker: &Marker| Shape::Pieces(marker.clone());
    add(marker(&element.open), Meaning::Element { opens: vec![number], closes: Vec::new() }, lexemes);
    if let Some(close) = &element.close {
        add(marker(close), Meaning::Element { opens: Vec::new(), closes: vec![number] }, lexemes);
    }
    if let Body::JsonCalls { names, arguments } = &element.body {
        let shape = Shape::JsonCall { names: names.clone(), arguments: arguments.clone() };
        add(shape, Meaning::JsonCall, lexemes);
    }
}

fn add_options(vocabulary: &Vocabulary, lexemes: &mut Vec<Lexeme>) {
    let literal = |text: &str| Shape::Pieces(vec![MarkerPiece::Literal(text.to_owned())]);
    if vocabulary.fences == Kept::No {
        add(literal("```"), Meaning::Fence, lexemes);
    }
    if vocabulary.cdata == Kept::No {
        add(literal("<![CDATA["), Meaning::CdataOpen, lexemes);
        add(literal("]]>"), Meaning::CdataClose, lexemes);
    }
    if vocabulary.entities == Kept::No {
        add(Shape::Entity, Meaning::Entity, lexemes);
    }
}

fn check(shape: &Shape, allowed: usize) -> Result<(), VocabularyError> {
    let Shape::Pieces(pieces) = shape else { return Ok(()) };
    let length = |piece: &MarkerPiece| match piece {
        MarkerPiece::Literal(literal) => literal.len(),
        MarkerPiece::Capture(_) | MarkerPiece::Attributes(_) => 1,
        MarkerPiece::Space | MarkerPiece::Prefix => 0,
    };
    if pieces.iter().map(length).sum::<usize>() > allowed {
        return Err(VocabularyError::LongMarker { allowed });
    }
    match pieces.first() {
        Some(MarkerPiece::Literal(literal)) if !literal.is_empty() => Ok(()),
        Some(MarkerPiece::Capture(_)) => Ok(()),
        Some(MarkerPiece::Literal(_) | MarkerPiece::Space | MarkerPiece::Prefix | MarkerPiece::Attributes(_))
        | None => Err(VocabularyError::EmptyMarker),
    }
}

/// Whether a marker is over only when something else is seen behind it.
fn ends_in_word(shape: &Shape) -> bool {
    matches!(shape, Shape::Pieces(pieces) if matches!(pieces.last(), Some(MarkerPiece::Capture(_))))
}

/// Whether a marker is looked for in a scope.
fn belongs(lexeme: &Lexeme, vocabulary: &Vocabulary, scope: Scope) -> bool {
    let begins_with_word =
        matches!(&lexeme.shape, Shape::Pieces(pieces) if matches!(pieces.first(), Some(MarkerPiece::Capture(_))));
    if begins_with_word {
        return scope == Scope::Section;
    }
    match &lexeme.meaning {
        Meaning::Element { opens, closes } => {
            // `<result>` is a word of many languages: only inside results is it a marker.
            let is_result = |number: &usize| {
                let role = vocabulary.elements.get(*number).map(|element| element.role);
                matches!(role, Some(Role::Result | Role::Failure))
            };
            scope == Scope::Results || !opens.iter().chain(closes).all(is_result)
        }
        Meaning::Stop | Meaning::Fence => scope == Scope::Text,
        Meaning::CdataOpen | Meaning::CdataClose | Meaning::Entity => scope == Scope::Value,
        Meaning::JsonCall => scope == Scope::Section,
    }
}

fn mark(table: &mut [bool; 256], byte: u8) {
    if let Some(is_marked) = table.get_mut(usize::from(byte)) {
        *is_marked = true;
    }
}

impl Table {
    fn new(vocabulary: &Vocabulary, all: &[Lexeme], scope: Scope) -> Self {
        let own: Vec<usize> = (0..all.len())
            .filter(|&number| all.get(number).is_some_and(|lexeme| belongs(lexeme, vocabulary, scope)))
            .collect();
        let (mut is_first, mut is_second, mut is_name) = ([false; 256], [false; 256], [false; 256]);
        for lexeme in own.iter().filter_map(|&number| all.get(number)) {
            lexeme.shape.each_start(|first, second| {
                mark(&mut is_first, first);
                mark(&mut is_second, second);
            });
            if let Some(first) = lexeme.tag.as_ref().and_then(Tag::first) {
                mark(&mut is_name, first);
            }
        }
        let is_tag = |number: &usize| all.get(*number).is_some_and(|lexeme| lexeme.tag.is_some());
        let (tags, others) = own.into_iter().partition(is_tag);
        let firsts = (0..=u8::MAX).filter(|&byte| is_first.get(usize::from(byte)) == Some(&true)).collect();
        Self { tags, is_name, others, firsts, is_first, is_second }
    }

    /// The markers that a text with this head may begin with.
    fn candidates(&self, head: Option<TagHead<'_>>) -> impl Iterator<Item = &usize> {
        let is_name = |byte: u8| self.is_name.get(usize::from(byte)).copied().unwrap_or_default();
        let may_be_tag = head.is_some_and(|head| head.may_begin(is_name));
        self.others.iter().chain(self.tags.iter().filter(move |_| may_be_tag))
    }

    fn next_start(&self, text: &[u8], at: usize) -> Option<usize> {
        let mut at = at;
        loop {
            let first = *text.get(at)?;
            if !self.is_first.get(usize::from(first)).copied().unwrap_or_default() {
                at += self.seek(text.get(at..)?)?;
            }
            // Told by two bytes, so that a text full of first bytes costs little more than one without.
            match text.get(at + 1) {
                Some(&second) if !self.is_second.get(usize::from(second)).copied().unwrap_or_default() => at += 1,
                Some(_) | None => return Some(at),
            }
        }
    }

    fn seek(&self, text: &[u8]) -> Option<usize> {
        match *self.firsts.as_slice() {
            [] => None,
            [one] => memchr(one, text),
            [one, two] => memchr2(one, two, text),
            [one, two, three] => memchr3(one, two, three, text),
            [..] => text.iter().position(|&byte| self.is_first.get(usize::from(byte)).copied().unwrap_or_default()),
        }
    }
}
