//! Views of a chunk: what a policy gets where a chunk is split or something is left out of it.
//!
//! The caller's object is never altered: what changes is copied along the path to it, dicts and models alike.

use penstock_core::{Field, Origin, Piece};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// Where a field is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Delta,
    DeltaList,
    Choice,
    /// Any field of choice or delta that has no name here.
    Extra,
    Chunk,
    ChunkList,
    /// In every piece.
    Envelope,
}

/// The fields of a delta that belong to one piece or another.
const OF_DELTA: [Field; 13] = [
    Field::Role,
    Field::Content,
    Field::ContentPart,
    Field::Refusal,
    Field::ReasoningContent,
    Field::Reasoning,
    Field::ReasoningDetail,
    Field::OtherDetail,
    Field::ThinkingBlock,
    Field::Audio,
    Field::Image,
    Field::ToolCall,
    Field::FunctionCall,
];

fn place(field: Field) -> (Place, &'static str) {
    match field {
        Field::Role => (Place::Delta, "role"),
        Field::Content => (Place::Delta, "content"),
        Field::ContentPart => (Place::DeltaList, "content"),
        Field::Refusal => (Place::Delta, "refusal"),
        Field::ReasoningContent => (Place::Delta, "reasoning_content"),
        Field::Reasoning => (Place::Delta, "reasoning"),
        Field::ReasoningDetail | Field::OtherDetail => (Place::DeltaList, "reasoning_details"),
        Field::ThinkingBlock => (Place::DeltaList, "thinking_blocks"),
        Field::Audio => (Place::Delta, "audio"),
        Field::Image => (Place::DeltaList, "images"),
        Field::ToolCall => (Place::DeltaList, "tool_calls"),
        Field::FunctionCall => (Place::Delta, "function_call"),
        Field::Extra => (Place::Extra, ""),
        Field::FinishReason => (Place::Choice, "finish_reason"),
        Field::Usage => (Place::Chunk, "usage"),
        Field::Error => (Place::Chunk, "error"),
        Field::MessageContent => (Place::ChunkList, "content"),
        Field::ResponseOutput => (Place::ChunkList, "output"),
        Field::Envelope | Field::Event | Field::Continued => (Place::Envelope, ""),
    }
}

/// Fields of a choice that repeat what its delta says: they would say what is left out.
const REPEATED: [&str; 2] = ["message", "text"];

/// The chunk as it belongs to one piece.
pub(crate) fn view<'py>(chunk: &Bound<'py, PyAny>, piece: &Piece<'_>) -> PyResult<Bound<'py, PyAny>> {
    for field in [Field::MessageContent, Field::ResponseOutput] {
        let name = place(field).1;
        if piece.kept.iter().any(|origin| origin.field == field) || get(chunk, name)?.is_instance_of::<PyList>() {
            return select_elements(chunk, piece.kept, name);
        }
    }
    // An event says one thing: each piece of it is the event.
    if !piece.kept.is_empty() && piece.kept.iter().all(|origin| origin.field == Field::Event) {
        return Ok(chunk.clone());
    }
    if piece.kept.iter().any(|origin| origin.field == Field::Event) {
        return Ok(chunk.clone());
    }
    if get(chunk, "choices")?.is_none() {
        return without_text(chunk);
    }
    if piece.is_partial { select(chunk, piece.kept) } else { without(chunk, piece) }
}

/// An event whose text an earlier piece has shown.
fn without_text<'py>(chunk: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = chunk.py();
    let nothing = PyString::new(py, "").into_any();
    if chunk.is_instance_of::<PyString>() {
        return Ok(nothing);
    }
    let view = copy(chunk)?;
    let delta = get(chunk, "delta")?;
    if delta.is_instance_of::<PyString>() {
        set(&view, "delta", nothing)?;
    } else if !get(&delta, "text")?.is_none() {
        let silent = copy(&delta)?;
        set(&silent, "text", nothing)?;
        set(&view, "delta", silent)?;
    }
    Ok(view)
}

/// A chunk that says nothing, for a completion that no chunk of the wire brought.
pub(crate) fn closing<'py>(state: &Bound<'py, PyAny>, choice: u32) -> PyResult<Bound<'py, PyAny>> {
    let py = state.py();
    let silent = PyDict::new(py);
    silent.set_item("index", choice)?;
    silent.set_item("delta", PyDict::new(py))?;
    silent.set_item("finish_reason", py.None())?;
    let extras = state.getattr(intern!(py, "extras"))?.cast_into::<PyDict>()?;
    let chunk = PyDict::new(py);
    chunk.set_item("id", state.getattr(intern!(py, "id"))?)?;
    chunk.set_item("object", "chat.completion.chunk")?;
    chunk.set_item("created", extras.get_item("created")?.map_or(0, |created| created.extract().unwrap_or(0_u64)))?;
    chunk.set_item("model", state.getattr(intern!(py, "model"))?)?;
    chunk.set_item("choices", PyList::new(py, [silent])?)?;
    Ok(chunk.into_any())
}

/// A chunk for an error that the wire did not put into one.
pub(crate) fn failure<'py>(state: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let chunk = PyDict::new(state.py());
    chunk.set_item("error", state.getattr(intern!(state.py(), "error"))?)?;
    Ok(chunk.into_any())
}

/// The fields of a body that belong to its last piece.
const OF_BODY: [(Field, &str); 3] =
    [(Field::FinishReason, "stop_reason"), (Field::FinishReason, "stop_sequence"), (Field::Usage, "usage")];

/// A body with only those elements of its list that belong to the piece.
fn select_elements<'py>(chunk: &Bound<'py, PyAny>, kept: &[Origin], name: &str) -> PyResult<Bound<'py, PyAny>> {
    let view = copy(chunk)?;
    let is_kept = |at: usize| kept.iter().any(|origin| place(origin.field).1 == name && origin.element as usize == at);
    set(&view, name, elements_where(chunk, name, is_kept)?)?;
    let has = |field: Field| kept.iter().any(|origin| origin.field == field);
    for (_, name) in OF_BODY.into_iter().filter(|(field, _)| !has(*field)) {
        clear(&view, name)?;
    }
    Ok(view)
}

/// Whether nothing is left of a chunk once what was refused is taken out: it said one thing.
pub(crate) fn is_refused(piece: &Piece<'_>) -> bool {
    piece.dropped.iter().any(|origin| origin.field == Field::Event)
}

/// Everything but what was left out.
fn without<'py>(chunk: &Bound<'py, PyAny>, piece: &Piece<'_>) -> PyResult<Bound<'py, PyAny>> {
    let whole = copy(chunk)?;
    let choices = list(&get(chunk, "choices")?)?;
    let copies = PyList::empty(chunk.py());
    for (position, choice) in choices.iter().enumerate() {
        let of_choice =
            |origins: &[Origin]| origins.iter().filter(|o| o.choice as usize == position).copied().collect::<Vec<_>>();
        let dropped = of_choice(piece.dropped);
        let view = if dropped.is_empty() { choice } else { choice_without(&choice, &dropped, &of_choice(piece.kept))? };
        copies.append(view)?;
    }
    set(&whole, "choices", copies.into_any())?;
    Ok(whole)
}

fn choice_without<'py>(choice: &Bound<'py, PyAny>, dropped: &[Origin], kept: &[Origin]) -> PyResult<Bound<'py, PyAny>> {
    let view = copy(choice)?;
    let payload = payload(choice)?;
    for repeated in REPEATED.into_iter().filter(|&name| name != payload) {
        remove(&view, repeated)?;
    }
    let original = get(choice, payload)?;
    let delta = copy(&original)?;
    for origin in dropped {
        match place(origin.field) {
            (Place::DeltaList, name) => {
                let is_gone = |at: usize| dropped.iter().any(|o| place(o.field).1 == name && o.element as usize == at);
                let is_kept = |at: usize| kept.iter().any(|o| place(o.field).1 == name && o.element as usize == at);
                keep_elements(&delta, &original, name, |at| is_kept(at) || !is_gone(at))?;
            }
            (Place::Delta, name) => remove(&delta, name)?,
            (Place::Choice | Place::Extra | Place::Chunk | Place::ChunkList | Place::Envelope, _) => {}
        }
    }
    set(&view, payload, delta)?;
    Ok(view)
}

/// The field of a choice that says what it adds: `delta`, or the `message` of an answer that was not streamed.
fn payload(choice: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    Ok(if get(choice, "delta")?.is_none() { "message" } else { "delta" })
}

/// Leaves only some elements of a list, and no list where none are left.
fn keep_elements<'py>(
    delta: &Bound<'py, PyAny>,
    original: &Bound<'py, PyAny>,
    name: &str,
    keep: impl Fn(usize) -> bool,
) -> PyResult<()> {
    let kept = elements_where(original, name, keep)?;
    if kept.is_truthy()? { set(delta, name, kept) } else { remove(delta, name) }
}

/// Nothing but what belongs to the piece.
fn select<'py>(chunk: &Bound<'py, PyAny>, kept: &[Origin]) -> PyResult<Bound<'py, PyAny>> {
    let view = copy(chunk)?;
    let copies = PyList::empty(chunk.py());
    for (position, choice) in list(&get(chunk, "choices")?)?.iter().enumerate() {
        let own: Vec<Origin> = kept
            .iter()
            .filter(|origin| origin.choice as usize == position && is_of_choice(origin.field))
            .copied()
            .collect();
        if !own.is_empty() {
            copies.append(choice_with(&choice, &own)?)?;
        }
    }
    set(&view, "choices", copies.into_any())?;
    let has = |field: Field| kept.iter().any(|origin| origin.field == field);
    for (field, name) in [(Field::Usage, "usage"), (Field::Usage, "x_groq"), (Field::Error, "error")] {
        if !has(field) {
            clear(&view, name)?;
        }
    }
    Ok(view)
}

fn is_of_choice(field: Field) -> bool {
    match place(field).0 {
        Place::Delta | Place::DeltaList | Place::Choice | Place::Extra => true,
        Place::Chunk | Place::ChunkList | Place::Envelope => false,
    }
}

fn choice_with<'py>(choice: &Bound<'py, PyAny>, kept: &[Origin]) -> PyResult<Bound<'py, PyAny>> {
    let has = |field: Field| kept.iter().any(|origin| origin.field == field);
    let view = copy(choice)?;
    let payload = payload(choice)?;
    for repeated in REPEATED.into_iter().filter(|&name| name != payload) {
        remove(&view, repeated)?;
    }
    if !has(Field::FinishReason) {
        clear(&view, "finish_reason")?;
    }
    // The extras of a choice complete nothing, so they are all in one piece.
    if !has(Field::Extra) {
        remove_others(&view, |name| matches!(name, "index" | "finish_reason") || name == payload)?;
    }
    let original = get(choice, payload)?;
    if !original.is_none() {
        set(&view, payload, delta_with(&original, kept)?)?;
    }
    Ok(view)
}

fn delta_with<'py>(original: &Bound<'py, PyAny>, kept: &[Origin]) -> PyResult<Bound<'py, PyAny>> {
    let is_kept = |field: Field| kept.iter().any(|origin| origin.field == field);
    let is_named = |name: &str| OF_DELTA.iter().any(|&field| place(field).1 == name);
    let delta = copy(original)?;
    let is_left = |name: &str| OF_DELTA.iter().any(|&field| place(field).1 == name && is_kept(field));
    remove_others(&delta, |name| if is_named(name) { is_left(name) } else { is_kept(Field::Extra) })?;
    for field in OF_DELTA.into_iter().filter(|&field| is_kept(field)) {
        if let (Place::DeltaList, name) = place(field) {
            let elements: Vec<usize> =
                kept.iter().filter(|o| place(o.field).1 == name).map(|o| o.element as usize).collect();
            set(&delta, name, elements_where(original, name, |at| elements.contains(&at))?)?;
        }
    }
    Ok(delta)
}

fn elements_where<'py>(
    delta: &Bound<'py, PyAny>,
    name: &str,
    keep: impl Fn(usize) -> bool,
) -> PyResult<Bound<'py, PyAny>> {
    let kept = PyList::empty(delta.py());
    for (at, element) in list(&get(delta, name)?)?.iter().enumerate() {
        if keep(at) {
            kept.append(element)?;
        }
    }
    Ok(kept.into_any())
}

fn list<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    if value.is_none() {
        return Ok(PyList::empty(value.py()));
    }
    match value.cast::<PyList>() {
        Ok(list) => Ok(list.clone()),
        Err(_) => value.try_iter()?.collect::<PyResult<Vec<_>>>().and_then(|all| PyList::new(value.py(), all)),
    }
}

fn copy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match object.cast::<PyDict>() {
        Ok(dict) => Ok(dict.copy()?.into_any()),
        Err(_) => {
            object.py().import(intern!(object.py(), "copy"))?.call_method1(intern!(object.py(), "copy"), (object,))
        }
    }
}

fn get<'py>(object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let found = match object.cast::<PyDict>() {
        Ok(dict) => dict.get_item(name)?,
        Err(_) => object.getattr_opt(name)?,
    };
    Ok(found.unwrap_or_else(|| object.py().None().into_bound(object.py())))
}

fn set<'py>(object: &Bound<'py, PyAny>, name: &str, value: Bound<'py, PyAny>) -> PyResult<()> {
    match object.cast::<PyDict>() {
        Ok(dict) => dict.set_item(name, value),
        Err(_) => object.setattr(name, value),
    }
}

/// Takes a field away.
fn remove(object: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    match object.cast::<PyDict>() {
        Ok(dict) if dict.contains(name)? => dict.del_item(name),
        // LiteLLM's models are asked with `in` what they have; of the SDK's, a field that is gone would be an AttributeError.
        Err(_) if object.hasattr(name)? && object.hasattr(intern!(object.py(), "__contains__"))? => {
            object.delattr(name)
        }
        Err(_) if object.hasattr(name)? => object.setattr(name, object.py().None()),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Takes away every field but some.
fn remove_others(object: &Bound<'_, PyAny>, stays: impl Fn(&str) -> bool) -> PyResult<()> {
    for name in names(object)? {
        if !stays(&name) {
            remove(object, &name)?;
        }
    }
    Ok(())
}

/// The names of a dict, or of an object's attributes, declared and extra ones alike.
fn names(object: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(dict) = object.cast::<PyDict>() {
        return dict.keys().extract();
    }
    let mut names = Vec::new();
    for members in ["__dict__", "__pydantic_extra__"] {
        if let Some(members) = object.getattr_opt(members)?
            && let Ok(members) = members.cast::<PyDict>()
        {
            names.extend(members.keys().extract::<Vec<String>>()?);
        }
    }
    Ok(names)
}

/// Makes a field that must stay say nothing.
fn clear(object: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    if get(object, name)?.is_none() {
        return Ok(());
    }
    set(object, name, object.py().None().into_bound(object.py()))
}
