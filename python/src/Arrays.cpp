// SPDX-License-Identifier: Apache-2.0
// Types by DLPack's codes.
#include "python/src/Arrays.h"
#include "python/src/Failure.h"
#include <bit>
#include <cstring>
#include <memory>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace accum::python {
namespace {

/// Or -1: no data has that type.
int32_t dtypeOf(nb::dlpack::dtype type) {
  if (type.lanes != 1)
    return -1;
  auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return type.code == uint8_t(code) && type.bits == bits;
  };
  using Code = nb::dlpack::dtype_code;
  constexpr struct {
    Code code;
    int bits;
    int32_t dtype;
  } known[] = {{Code::Bool, 8, ACCUM_BOOL},  {Code::UInt, 8, ACCUM_U8},      {Code::Int, 8, ACCUM_I8},
               {Code::Int, 16, ACCUM_I16},   {Code::UInt, 16, ACCUM_U16},    {Code::Int, 32, ACCUM_I32},
               {Code::UInt, 32, ACCUM_U32},  {Code::Int, 64, ACCUM_I64},     {Code::UInt, 64, ACCUM_U64},
               {Code::Float, 16, ACCUM_F16}, {Code::Bfloat, 16, ACCUM_BF16}, {Code::Float, 32, ACCUM_F32},
               {Code::Float, 64, ACCUM_F64}};
  for (const auto &each : known)
    if (is(each.code, each.bits))
      return each.dtype;
  return -1;
}

std::string typeName(nb::handle object) {
  return nb::cast<std::string>(
      nb::str(nb::handle(reinterpret_cast<PyObject *>(Py_TYPE(object.ptr()))).attr("__name__")));
}

nb::dlpack::dtype numpyType(int32_t dtype) {
  switch (dtype) {
  case ACCUM_F64:
    return nb::dtype<double>();
  case ACCUM_I64:
    return nb::dtype<int64_t>();
  case ACCUM_I32:
    return nb::dtype<int32_t>();
  case ACCUM_I8:
    return nb::dtype<int8_t>();
  case ACCUM_U8:
    return nb::dtype<uint8_t>();
  case ACCUM_BOOL:
    return nb::dtype<bool>();
  default:
    return nb::dtype<float>();
  }
}

} // namespace

Arrays::Arrays(const NamedArrays &from) {
  for (const auto &[name, object] : from) {
    View view;
    if (!nb::try_cast(object, view, /*convert=*/true))
      raise(3, "error: `" + name + "` is a " + typeName(object) +
                   ", expected an array on the host: NumPy's, a tensor, or what speaks DLPack or the buffer "
                   "protocol [bad-data]\n");
    if (dtypeOf(view.dtype()) < 0)
      raise(3, "error: `" + name + "` has elements of a type that no model reads [bad-data]\n");
    names.push_back(name);
    shapes.emplace_back();
    for (size_t d = 0; d < view.ndim(); ++d)
      shapes.back().push_back(int64_t(view.shape(d)));
    held.push_back(std::move(view));
  }
  for (size_t i = 0; i < held.size(); ++i)
    views.push_back({names[i].c_str(), dtypeOf(held[i].dtype()), int32_t(shapes[i].size()), shapes[i].data(),
                     held[i].data()});
}

nb::object copyOf(const accum_tensor &tensor) {
  size_t count = 1;
  std::vector<size_t> shape(tensor.shape, tensor.shape + tensor.rank);
  for (size_t size : shape)
    count *= size;
  bool isShort = tensor.dtype == ACCUM_BF16;
  nb::dlpack::dtype type = numpyType(tensor.dtype);
  size_t bytes = count * type.bits / 8;
  auto values = std::make_unique<uint8_t[]>(bytes);
  if (isShort)
    for (size_t i = 0; i < count; ++i) {
      uint16_t half = 0;
      std::memcpy(&half, static_cast<const uint8_t *>(tensor.data) + 2 * i, 2);
      uint32_t whole = uint32_t(half) << 16;
      std::memcpy(values.get() + 4 * i, &whole, 4);
    }
  else
    std::memcpy(values.get(), tensor.data, bytes);
  uint8_t *raw = values.release();
  nb::capsule owner(raw, [](void *data) noexcept { delete[] static_cast<uint8_t *>(data); });
  return nb::cast(nb::ndarray<nb::numpy>(raw, shape.size(), shape.data(), owner, nullptr, type));
}

} // namespace accum::python
