// SPDX-License-Identifier: Apache-2.0
// Arrays of Python as arrays of the C interface, and back.
#pragma once

#include "runtime/accum_runtime.h"
#include <nanobind/ndarray.h>
#include <string>
#include <utility>
#include <vector>

namespace accum::python {

/// What a step is given: name and array (DLPack or the buffer protocol) each.
using NamedArrays = std::vector<std::pair<std::string, nanobind::object>>;

/// Views of arrays on the host; those that are not dense in rows are copied. Holds what it was made of.
class Arrays {
public:
  /// Raises accum.DataError for what is no array, or of a type that no array of data has.
  explicit Arrays(const NamedArrays &from);
  const accum_array *data() const { return views.data(); }
  size_t size() const { return views.size(); }

private:
  using View = nanobind::ndarray<nanobind::ro, nanobind::device::cpu, nanobind::c_contig>;
  std::vector<std::string> names;
  std::vector<View> held;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<accum_array> views;
};

/// A copy of the tensor, as a NumPy array; of bf16 as float32.
nanobind::object copyOf(const accum_tensor &tensor);

} // namespace accum::python
