// SPDX-License-Identifier: Apache-2.0
// One table for everything that is known about element types.
#include "runtime/files/DType.h"

namespace accum::runtime {
namespace {

struct Row {
  size_t bytes;
  bool isFloat;
  std::string_view name, safetensors, numpy;
};

constexpr Row kRows[] = {
    {1, false, "bool", "BOOL", "|b1"}, {1, false, "i8", "I8", "|i1"},   {1, false, "u8", "U8", "|u1"},
    {4, false, "i32", "I32", "<i4"},   {8, false, "i64", "I64", "<i8"}, {2, true, "f16", "F16", "<f2"},
    {2, true, "bf16", "BF16", ""},     {4, true, "f32", "F32", "<f4"},  {8, true, "f64", "F64", "<f8"},
    {2, false, "i16", "I16", "<i2"},   {2, false, "u16", "U16", "<u2"}, {4, false, "u32", "U32", "<u4"},
    {8, false, "u64", "U64", "<u8"},
};

std::optional<DType> find(std::string_view Row::*column, std::string_view text) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (!text.empty() && kRows[i].*column == text)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace

size_t bytesOf(DType dtype) { return kRows[dtype].bytes; }
bool isFloat(DType dtype) { return kRows[dtype].isFloat; }
std::string_view nameOf(DType dtype) { return kRows[dtype].name; }
std::optional<DType> dtypeNamed(std::string_view name) { return find(&Row::name, name); }
std::string_view safetensorsNameOf(DType dtype) { return kRows[dtype].safetensors; }
std::optional<DType> dtypeOfSafetensors(std::string_view name) { return find(&Row::safetensors, name); }
std::string_view numpyNameOf(DType dtype) { return kRows[dtype].numpy; }
std::optional<DType> dtypeOfNumpy(std::string_view descriptor) { return find(&Row::numpy, descriptor); }

} // namespace accum::runtime
