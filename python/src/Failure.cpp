// SPDX-License-Identifier: Apache-2.0
// Which class an error has is decided in Python, where the classes are.
#include "python/src/Failure.h"
#include "runtime/accum_runtime.h"
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace accum::python {

void raise(int code, const std::string &text) {
  nb::object error = nb::module_::import_("accum._errors").attr("from_text")(code, text);
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

void require(int code) {
  if (code == 0)
    return;
  std::string text = accum_last_error();
  raise(code, text.empty() ? accum_other_error() : text);
}

} // namespace accum::python
