//! What a gate asks, as Python's policies get it.

use penstock_core::{Ask, BlockKind, Gate, Translator as Core};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList};

use crate::state::type_name;

/// What a gate asks about besides calls.
pub(crate) fn read_gate(asks: &[String]) -> PyResult<Gate> {
    let mut gate = Gate::default();
    for ask in asks {
        match ask.as_str() {
            "text" => gate.asks_text = true,
            "thinking" => gate.asks_thinking = true,
            "everything" => gate.is_buffered = true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "gate must be a list of \"text\", \"thinking\" and \"everything\", not of {other:?}"
                )));
            }
        }
    }
    Ok(gate)
}

/// What is asked since the last call, each as a tuple: what it is, the block, and what is asked about.
pub(crate) fn take_asks<'py>(py: Python<'py>, core: &mut Core) -> PyResult<Bound<'py, PyList>> {
    let outlet = core.outlet_mut();
    let (asks, texts) = (outlet.take_asks(), outlet.take_asked_text());
    let list = PyList::empty(py);
    for ask in asks {
        match ask {
            Ask::Block { block, kind } if kind.is_call() => list.append(("call", block, call(py, core, block)?))?,
            Ask::Block { block, kind } => {
                let what = if kind == BlockKind::Thinking { "thinking" } else { "block" };
                list.append((what, block, (type_name(kind), core.outlet().name(block))))?;
            }
            Ask::Text { block, start, end } => {
                list.append(("text", block, texts.get(start..end).unwrap_or_default()))?;
            }
            Ask::TextEnd { block } => list.append(("text_end", block, py.None()))?,
        }
    }
    Ok(list)
}

/// A call that waits, as the fields of Python's `ToolCall`, and what keeps it from being allowed, if anything does.
fn call<'py>(py: Python<'py>, core: &Core, block: usize) -> PyResult<Bound<'py, PyDict>> {
    let call = PyDict::new(py);
    let Some(view) = core.outlet().call(block) else { return Ok(call) };
    call.set_item("kind", view.kind.call_name())?;
    call.set_item("choice", view.choice)?;
    call.set_item("index", view.index)?;
    call.set_item("id", view.id)?;
    call.set_item("name", view.name)?;
    call.set_item("arguments", view.arguments)?;
    call.set_item("flags", PyFrozenSet::new(py, view.flags())?)?;
    call.set_item("fault", view.fault)?;
    Ok(call)
}
