//! Options that are words.

use penstock_core::Target;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The choice of that name.
pub(crate) fn choose<T: Copy>(option: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let chosen = choices.iter().find(|(known, _)| *known == name).map(|&(_, choice)| choice);
    chosen.ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
        PyValueError::new_err(format!("{option} must be {}, not {name:?}", names.join(" or ")))
    })
}

/// The format of that name.
pub(crate) fn read_target(name: &str) -> PyResult<Target> {
    Target::from_name(name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "target must be \"openai_chat\", \"anthropic_messages\" or \"openai_responses\", not {name:?}"
        ))
    })
}
