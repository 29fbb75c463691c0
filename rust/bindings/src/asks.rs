//! What a gate asks, as Python's policies get it.

use penstock_core::{Ask, BlockKind, Gate, Translator as Core};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyFrozenSet, PyList};

use crate::maker::Maker;
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
            Ask::Block { block, kind } if kind.is_call() => {
                // One that has gone on growing since is asked about anew when it is whole.
                if let Some(subject) = call(py, core, block)? {
                    list.append(("call", block, subject))?;
                }
            }
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

/// A call that waits, as Python's `ToolCall`, and what keeps it from being allowed, if anything does. What that class checks holds for
/// every call of the core, so it is made past its checks.
fn call<'py>(
    py: Python<'py>,
    core: &Core,
    block: usize,
) -> PyResult<Option<(Bound<'py, PyAny>, Option<&'static str>)>> {
    let Some(view) = core.outlet().call(block) else { return Ok(None) };
    let flags = PyFrozenSet::new(py, view.flags())?;
    let call = maker(py)?.make(py, |call| {
        call.set(intern!(py, "id"), view.id)?;
        call.set(intern!(py, "name"), view.name)?;
        call.set(intern!(py, "arguments"), view.arguments)?;
        call.set(intern!(py, "kind"), view.kind.call_name())?;
        call.set(intern!(py, "choice"), view.choice)?;
        call.set(intern!(py, "index"), view.index)?;
        call.set(intern!(py, "flags"), flags)
    })?;
    Ok(Some((call, view.fault)))
}

static MAKER: PyOnceLock<Maker> = PyOnceLock::new();

fn maker(py: Python<'_>) -> PyResult<&'static Maker> {
    MAKER.get_or_try_init(py, || Maker::new(py.import("penstock.calls")?.getattr("ToolCall")?))
}
