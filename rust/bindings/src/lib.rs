//! `penstock._core`: the Python face of the core. Conversion only; every rule is in `penstock-core`, every await in Python.

use pyo3::prelude::*;

mod asks;
mod blocks;
mod chunks;
mod digest;
mod errors;
mod framer;
mod from_python;
mod items;
mod maker;
mod options;
mod pauses;
mod processor;
mod reader;
mod state;
mod to_python;
mod translator;
mod vocabulary;

#[pymodule(gil_used = false)]
mod _core {
    /// The version of the package; its one home is `Cargo.toml`.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python has for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::blocks::BlockSource;
    #[pymodule_export]
    use super::digest::digest_of;
    #[pymodule_export]
    use super::framer::SseFramer;
    #[pymodule_export]
    use super::processor::StreamProcessor;
    #[pymodule_export]
    use super::reader::BlockReader;
    #[pymodule_export]
    use super::translator::Translator;
    #[pymodule_export]
    use super::vocabulary::TagGrammar;
}
