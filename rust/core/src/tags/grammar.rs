//! A vocabulary made ready: its markers without repetitions, and where in a text the next one may stand.

use memchr::{memchr, memchr2, memchr3};

use super::lexeme::{Captures, Matched, Shape};
use super::lookup::{Found, Looking, Lookup, Scope};
use super::tag::{Tag, TagHead};
use super::vocabulary::{Body, Element, Kept, Marker, MarkerPiece, Role, Vocabulary, VocabularyError};

/// What a marker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Opens or closes elements.
    Element,
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
struct Lexeme {
    shape: Shape,
    /// The same, if it is a tag.
    tag: Option<Tag>,
    meaning: Meaning,
    /// The numbers of the elements that it opens.
    opens: Vec<usize>,
    /// The numbers of those that it closes.
    closes: Vec<usize>,
}

impl Lexeme {
    fn new(shape: Shape, meaning: Meaning) -> Self {
        let tag = match &shape {
            Shape::Pieces(pieces) => Tag::of(pieces),
            Shape::JsonCall { .. } | Shape::Entity => None,
        };
        Self { shape, tag, meaning, opens: Vec::new(), closes: Vec::new() }
    }

    /// Whether the marker stands at the beginning of a text; its head is read once for all tags.
    fn matches<'t>(&'t self, text: &'t str, head: Option<TagHead<'t>>, captures: &mut Captures<'t>) -> Matched {
        match (&self.tag, head) {
            (Some(tag), Some(head)) => tag.matches(head, text, captures),
            (Some(_), None) => Matched::No,
            (None, Some(_) | None) => self.shape.matches(text, captures),
        }
    }
}

/// The markers of one scope, and how each may begin.
#[derive(Clone, Debug)]
struct Table {
    /// Those that are tags, each behind the byte that its name begins with.
    tags: Vec<(u8, usize)>,
    others: Vec<usize>,
    firsts: Vec<u8>,
    is_first: [bool; 256],
    /// Which byte may stand behind the first.
    is_second: [bool; 256],
}

/// A vocabulary made ready, for any number of streams.
#[derive(Clone, Debug)]
pub struct Grammar {
    pub(super) vocabulary: Vocabulary,
    lexemes: Vec<Lexeme>,
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

    /// The marker at the beginning of a text. What closes the element that is open comes first: it may stand inside of what looks like
    /// another.
    pub(super) fn lookup<'t>(&'t self, text: &'t str, looking: &Looking) -> Lookup<'t> {
        let may_come = text.len() < self.tag_bytes && !looking.is_last;
        // A name that is cut where nothing more can come is no tag's.
        let head = text.starts_with('<').then(|| TagHead::read(text)).filter(|head| may_come || !head.is_cut());
        let closing = looking.own.and_then(|own| self.lexemes.get(own).map(|lexeme| (own, lexeme)));
        if let Some((own, lexeme)) = closing {
            match lexeme.matches(text, head, &mut Captures::default()) {
                Matched::Full(length) if length <= self.tag_bytes => {
                    return Lookup::Found(Found { lexeme: own, length, captures: Captures::default() });
                }
                Matched::Partial if may_come => return Lookup::Partial,
                Matched::Full(_) | Matched::Partial | Matched::No => {}
            }
        }
        self.lookup_any(text, looking, head, may_come)
    }

    /// Any of the markers of a scope: of several, the one that is known first. Of these a stop sequence, or else the first of the vocabulary.
    fn lookup_any<'t>(
        &'t self,
        text: &'t str,
        looking: &Looking,
        head: Option<TagHead<'t>>,
        may_come: bool,
    ) -> Lookup<'t> {
        let mut best: Option<((usize, bool, usize), Found<'t>)> = None;
        let mut is_partial = false;
        for number in self.table(looking.scope).candidates(head) {
            let Some(lexeme) = self.lexemes.get(number) else { continue };
            let is_stop = lexeme.meaning == Meaning::Stop;
            if is_stop && !looking.may_stop {
                continue;
            }
            let mut captures = Captures::default();
            match lexeme.matches(text, head, &mut captures) {
                Matched::Full(length) => {
                    let seen = length + usize::from(is_open_ended(&lexeme.shape));
                    let rank = (seen, !is_stop, number);
                    if seen <= self.tag_bytes && best.as_ref().is_none_or(|(best, _)| rank < *best) {
                        best = Some((rank, Found { lexeme: number, length, captures }));
                    }
                }
                Matched::Partial => is_partial |= may_come,
                Matched::No => {}
            }
        }
        match best {
            Some((_, found)) => Lookup::Found(found),
            None if is_partial => Lookup::Partial,
            None => Lookup::No,
        }
    }

    /// What a marker does.
    pub(super) fn meaning(&self, lexeme: usize) -> Option<Meaning> {
        self.lexemes.get(lexeme).map(|lexeme| lexeme.meaning)
    }

    pub(super) fn element(&self, number: usize) -> Option<&Element> {
        self.vocabulary.elements.get(number)
    }

    pub(super) fn role(&self, number: usize) -> Option<Role> {
        self.element(number).map(|element| element.role)
    }

    /// The elements that a marker opens, and those that it closes.
    pub(super) fn elements_of(&self, lexeme: usize) -> (&[usize], &[usize]) {
        self.lexemes.get(lexeme).map_or((&[], &[]), |lexeme| (&lexeme.opens, &lexeme.closes))
    }

    /// The marker that closes an element.
    pub(super) fn close_of(&self, element: usize) -> Option<usize> {
        self.closing.get(element).copied().flatten()
    }
}

fn closing(element: usize, lexemes: &[Lexeme]) -> Option<usize> {
    lexemes.iter().position(|lexeme| lexeme.closes.contains(&element))
}

/// Adds a marker, unless it is there. The same text may end the answer where it is visible, and be a tag elsewhere.
fn add(shape: Shape, meaning: Meaning, lexemes: &mut Vec<Lexeme>) -> Option<&mut Lexeme> {
    let known = lexemes.iter().position(|known| known.meaning == meaning && known.shape == shape);
    let at = known.unwrap_or_else(|| {
        lexemes.push(Lexeme::new(shape, meaning));
        lexemes.len() - 1
    });
    lexemes.get_mut(at)
}

fn add_element(number: usize, element: &Element, lexemes: &mut Vec<Lexeme>) {
    let marker = |marker: &Marker| Shape::Pieces(marker.clone());
    if let Some(open) = add(marker(&element.open), Meaning::Element, lexemes) {
        open.opens.push(number);
    }
    if let Some(close) = element.close.as_ref().and_then(|close| add(marker(close), Meaning::Element, lexemes)) {
        close.closes.push(number);
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
fn is_open_ended(shape: &Shape) -> bool {
    matches!(shape, Shape::Pieces(pieces) if matches!(pieces.last(), Some(MarkerPiece::Capture(_) | MarkerPiece::Space)))
}

/// Whether a marker is looked for in a scope.
fn belongs(lexeme: &Lexeme, vocabulary: &Vocabulary, scope: Scope) -> bool {
    let begins_with_word =
        matches!(&lexeme.shape, Shape::Pieces(pieces) if matches!(pieces.first(), Some(MarkerPiece::Capture(_))));
    if begins_with_word {
        return scope == Scope::Section;
    }
    match lexeme.meaning {
        Meaning::Element => {
            // `<result>` is a word of many languages: only inside results is it a marker.
            let is_result = |number: &usize| {
                let role = vocabulary.elements.get(*number).map(|element| element.role);
                matches!(role, Some(Role::Result | Role::Failure))
            };
            scope == Scope::Results || !lexeme.opens.iter().chain(&lexeme.closes).all(is_result)
        }
        Meaning::Stop => matches!(scope, Scope::Text | Scope::Section),
        Meaning::Fence => scope == Scope::Text,
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
        let (mut is_first, mut is_second) = ([false; 256], [false; 256]);
        let (mut tags, mut others) = (Vec::new(), Vec::new());
        for number in own {
            let Some(lexeme) = all.get(number) else { continue };
            lexeme.shape.each_start(|first, second| {
                mark(&mut is_first, first);
                mark(&mut is_second, second);
            });
            match &lexeme.tag {
                Some(tag) => tags.push((tag.first(), number)),
                None => others.push(number),
            }
        }
        let firsts = (0..=u8::MAX).filter(|&byte| is_first.get(usize::from(byte)) == Some(&true)).collect();
        Self { tags, others, firsts, is_first, is_second }
    }

    /// The markers that a text with this head may begin with.
    fn candidates(&self, head: Option<TagHead<'_>>) -> impl Iterator<Item = usize> {
        let tags = if head.is_some() { self.tags.as_slice() } else { &[] };
        let may_be = move |first: u8| head.is_some_and(|head| head.may_begin(first));
        let named = tags.iter().filter(move |(first, _)| may_be(*first)).map(|&(_, number)| number);
        self.others.iter().copied().chain(named)
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
