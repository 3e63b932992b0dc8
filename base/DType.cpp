// SPDX-License-Identifier: Apache-2.0
// Names and widths of ONNX element types.
#include "base/DType.h"
#include <array>
#include <cstddef>

namespace accum {
namespace {
struct DTypeRow {
  std::string_view name;
  int bits;
};
/// Indexed by the ONNX number.
constexpr std::array<DTypeRow, 27> dtypeRows{{
    {"undefined", 0},  {"f32", 32},   {"u8", 8},         {"i8", 8},     {"u16", 16},  {"i16", 16},
    {"i32", 32},       {"i64", 64},   {"string", 0},     {"bool", 8},   {"f16", 16},  {"f64", 64},
    {"u32", 32},       {"u64", 64},   {"c64", 64},       {"c128", 128}, {"bf16", 16}, {"f8e4m3fn", 8},
    {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8}, {"u4", 4},     {"i4", 4},    {"f4e2m1", 4},
    {"f8e8m0", 8},     {"u2", 2},     {"i2", 2},
}};
const DTypeRow &row(DType type) { return dtypeRows[static_cast<size_t>(type)]; }
} // namespace

std::optional<DType> dtypeFromNumber(int64_t number) {
  if (number < 1 || number >= static_cast<int64_t>(dtypeRows.size()))
    return std::nullopt;
  return static_cast<DType>(number);
}

std::string_view name(DType type) { return row(type).name; }

int bitWidth(DType type) { return row(type).bits; }

bool isFloat(DType type) {
  return type == DType::Float32 || type == DType::Float64 || type == DType::Float16 ||
         type == DType::BFloat16;
}

DType computedIn(DType type) {
  return type == DType::Float16 || type == DType::BFloat16 ? DType::Float32 : type;
}

} // namespace accum
