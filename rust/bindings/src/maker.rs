//! Objects of dataclasses, made past their constructors: those set each field by a call, which takes longer than all else.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};
use pyo3::{BoundObject, ffi};

/// Makes the objects of one dataclass. A field that is not set has the class's default.
pub(crate) struct Maker {
    class: Py<PyType>,
    new: ffi::newfunc,
    nothing: Py<PyTuple>,
}

impl Maker {
    pub(crate) fn new(class: Bound<'_, PyAny>) -> PyResult<Self> {
        let class = class.cast_into::<PyType>()?;
        // SAFETY: The class is alive, and what makes its objects does not change after it was made.
        let new = unsafe { (*class.as_type_ptr()).tp_new };
        let new = new.ok_or_else(|| PyTypeError::new_err("a class without objects"))?;
        Ok(Self { nothing: PyTuple::empty(class.py()).unbind(), class: class.unbind(), new })
    }

    pub(crate) fn make<'py>(
        &self,
        py: Python<'py>,
        set_fields: impl FnOnce(&Made<'py>) -> PyResult<()>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: Class and arguments are alive and the interpreter attached; `new` is the class's own. The result is a new reference,
        // or null with an error set.
        let object = unsafe {
            let object = (self.new)(self.class.as_ptr().cast(), self.nothing.as_ptr(), std::ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, object)?
        };
        let made = Made(object);
        set_fields(&made)?;
        Ok(made.0)
    }
}

/// An object whose fields are being set.
pub(crate) struct Made<'py>(Bound<'py, PyAny>);

impl<'py> Made<'py> {
    /// Sets a field, past a class that refuses to have its fields set.
    pub(crate) fn set(&self, name: &Bound<'py, PyString>, value: impl IntoPyObject<'py>) -> PyResult<()> {
        let py = self.0.py();
        let value = value.into_pyobject(py).map_err(Into::into)?.into_any();
        // SAFETY: All three are alive and the interpreter attached; no reference is taken over.
        let outcome = unsafe { ffi::PyObject_GenericSetAttr(self.0.as_ptr(), name.as_ptr(), value.as_ptr()) };
        if outcome == 0 { Ok(()) } else { Err(PyErr::fetch(py)) }
    }

    /// Sets a field that is not the default.
    pub(crate) fn set_some(&self, name: &Bound<'py, PyString>, value: Option<impl IntoPyObject<'py>>) -> PyResult<()> {
        value.map_or(Ok(()), |value| self.set(name, value))
    }
}
