//! Python's vocabularies as the core's.

use std::sync::Arc;

use penstock_core::tags::{Body, Element, Grammar, Kept, Marker, MarkerPiece, Role, ValueRule, Vocabulary};
use penstock_core::{Protocol, Session};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// The attributes of a tag that are kept, and under which names.
type Attributes = Vec<(String, String)>;

/// A vocabulary made ready, which Python keeps for the next stream.
#[pyclass(frozen, module = "penstock._core")]
pub(crate) struct TagGrammar(Arc<Grammar>);

#[pymethods]
impl TagGrammar {
    #[new]
    fn new(grammar: &Bound<'_, PyAny>, tag_bytes: usize) -> PyResult<Self> {
        let made = Grammar::new(read_grammar(grammar)?, tag_bytes);
        made.map(|made| Self(Arc::new(made))).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// The session, reading the tags that were asked for: a name, a `TagVocabulary`, or several. Text alone may have some unasked.
pub(crate) fn with_tags(session: Session, tags: Option<&Bound<'_, PyAny>>, py: Python<'_>) -> PyResult<Session> {
    if tags.is_none() && session.protocol() != Some(Protocol::Text) {
        return Ok(session);
    }
    let source = session.protocol().map_or("auto", Protocol::name);
    let compiled = py.import(intern!(py, "penstock.vocabulary"))?.getattr(intern!(py, "compiled"))?;
    let grammar: Option<Py<TagGrammar>> = compiled.call1((tags, source, session.limits().tag_bytes))?.extract()?;
    Ok(match grammar {
        Some(grammar) => session.with_tags(Arc::clone(&grammar.get().0)),
        None => session,
    })
}

fn read_grammar(grammar: &Bound<'_, PyAny>) -> PyResult<Vocabulary> {
    let kept = |name: &str| {
        let changes: bool = grammar.getattr(name)?.extract()?;
        PyResult::Ok(if changes { Kept::No } else { Kept::AsItIs })
    };
    let types: Vec<(String, String, String)> = grammar.getattr("types")?.extract()?;
    let elements = grammar.getattr("elements")?.try_iter()?;
    Ok(Vocabulary {
        elements: elements.map(|element| read_element(&element?)).collect::<PyResult<_>>()?,
        stops: grammar.getattr("stop")?.extract()?,
        prefill: grammar.getattr("prefill")?.extract()?,
        entities: kept("decodes_entities")?,
        cdata: kept("unwraps_cdata")?,
        fences: kept("exempts_fences")?,
        thinking: kept("ends_thinking")?,
        types: types
            .into_iter()
            .map(|(tool, name, rule)| Ok((tool, name, read_rule(&rule)?)))
            .collect::<PyResult<_>>()?,
    })
}

fn read_element(element: &Bound<'_, PyAny>) -> PyResult<Element> {
    let text = |name: &str| element.getattr(name)?.extract::<String>();
    let close = element.getattr("close")?;
    Ok(Element {
        role: read_role(&text("role")?)?,
        open: read_marker(&element.getattr("open")?)?,
        close: if close.is_none() { None } else { Some(read_marker(&close)?) },
        body: read_body(element)?,
        values: read_rule(&text("values")?)?,
        trims: element.getattr("trims")?.extract()?,
        call_id: text("call_id")?,
    })
}

fn read_body(element: &Bound<'_, PyAny>) -> PyResult<Body> {
    match element.getattr("body")?.extract::<String>()?.as_str() {
        "elements" => Ok(Body::Elements),
        "arguments" => Ok(Body::Arguments),
        "json_calls" => Ok(Body::JsonCalls {
            names: element.getattr("json_names")?.extract()?,
            arguments: element.getattr("json_arguments")?.extract()?,
        }),
        other => Err(unknown("body", other)),
    }
}

fn read_marker(marker: &Bound<'_, PyAny>) -> PyResult<Marker> {
    let pieces: Vec<(String, String, Attributes)> = marker.extract()?;
    pieces.into_iter().map(|(kind, text, kept)| read_piece(&kind, text, kept)).collect()
}

fn read_piece(kind: &str, text: String, kept: Attributes) -> PyResult<MarkerPiece> {
    match kind {
        "literal" => Ok(MarkerPiece::Literal(text)),
        "space" => Ok(MarkerPiece::Space),
        "prefix" => Ok(MarkerPiece::Prefix),
        "capture" => Ok(MarkerPiece::Capture(text)),
        "attributes" => Ok(MarkerPiece::Attributes(kept)),
        other => Err(unknown("piece", other)),
    }
}

fn read_role(name: &str) -> PyResult<Role> {
    match name {
        "thinking" => Ok(Role::Thinking),
        "section" => Ok(Role::Section),
        "call" => Ok(Role::Call),
        "parameter" => Ok(Role::Parameter),
        "results" => Ok(Role::Results),
        "result" => Ok(Role::Result),
        "failure" => Ok(Role::Failure),
        "ignored" => Ok(Role::Ignored),
        other => Err(unknown("role", other)),
    }
}

fn read_rule(name: &str) -> PyResult<ValueRule> {
    match name {
        "raw" => Ok(ValueRule::Raw),
        "json" => Ok(ValueRule::Json),
        other => Err(unknown("value rule", other)),
    }
}

fn unknown(what: &str, name: &str) -> PyErr {
    PyValueError::new_err(format!("a vocabulary has no {what} {name:?}"))
}
