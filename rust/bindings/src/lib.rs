//! `penstock._core`: the Python face of the core. Conversion only; every rule is in `penstock-core`, every await in Python.

use pyo3::prelude::*;

mod chunks;
mod errors;
mod framer;
mod from_python;
mod processor;
mod state;
mod to_python;

#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::framer::SseFramer;
    #[pymodule_export]
    use super::processor::StreamProcessor;
    #[pymodule_export]
    use super::state::BlockSource;
}
