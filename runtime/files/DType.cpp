// SPDX-License-Identifier: Apache-2.0
// What files call the element types that programs have; base/DType knows the rest.
#include "runtime/files/DType.h"
#include "base/DType.h"
#include <iterator>

namespace accum::runtime {
namespace {

/// By number in accum_program.h.
struct Row {
  accum::DType type;
  std::string_view safetensors, numpy;
};

constexpr Row kRows[] = {
    {accum::DType::Bool, "BOOL", "|b1"},   {accum::DType::Int8, "I8", "|i1"},
    {accum::DType::UInt8, "U8", "|u1"},    {accum::DType::Int32, "I32", "<i4"},
    {accum::DType::Int64, "I64", "<i8"},   {accum::DType::Float16, "F16", "<f2"},
    {accum::DType::BFloat16, "BF16", ""},  {accum::DType::Float32, "F32", "<f4"},
    {accum::DType::Float64, "F64", "<f8"}, {accum::DType::Int16, "I16", "<i2"},
    {accum::DType::UInt16, "U16", "<u2"},  {accum::DType::UInt32, "U32", "<u4"},
    {accum::DType::UInt64, "U64", "<u8"},
};

template <typename Is> std::optional<DType> findRow(Is &&is) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (is(kRows[i]))
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace

size_t bytesOf(DType dtype) { return size_t(bitWidth(kRows[dtype].type)) / 8; }
bool isFloat(DType dtype) { return accum::isFloat(kRows[dtype].type); }
std::string_view nameOf(DType dtype) { return name(kRows[dtype].type); }
std::optional<DType> dtypeNamed(std::string_view name) {
  return findRow([&](const Row &row) { return accum::name(row.type) == name; });
}
std::optional<DType> dtypeOfOnnx(uint64_t number) {
  return findRow([&](const Row &row) { return uint64_t(row.type) == number; });
}
std::string_view safetensorsNameOf(DType dtype) { return kRows[dtype].safetensors; }
std::optional<DType> dtypeOfSafetensors(std::string_view name) {
  return findRow([&](const Row &row) { return row.safetensors == name; });
}
std::string_view numpyNameOf(DType dtype) { return kRows[dtype].numpy; }
std::optional<DType> dtypeOfNumpy(std::string_view descriptor) {
  return findRow([&](const Row &row) { return !row.numpy.empty() && row.numpy == descriptor; });
}

} // namespace accum::runtime
