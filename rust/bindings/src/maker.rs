//! Objects of dataclasses, made past their constructors: those set each field by a call, which takes longer than all else.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Makes the objects of one dataclass. A field that is not set has the class's default.
pub(crate) struct Maker {
    class: Py<PyAny>,
    new: Py<PyAny>,
}

impl Maker {
    pub(crate) fn new(class: Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { new: class.getattr("__new__")?.unbind(), class: class.unbind() })
    }

    pub(crate) fn make<'py>(
        &self,
        py: Python<'py>,
        set_fields: impl FnOnce(&Bound<'py, PyDict>) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let object = self.new.bind(py).call1((&self.class,))?;
        set_fields(object.getattr(intern!(py, "__dict__"))?.cast::<PyDict>()?)?;
        Ok(object)
    }
}
