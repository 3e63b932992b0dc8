// SPDX-License-Identifier: Apache-2.0
// ONNX element types.
#ifndef ACCUM_BASE_DTYPE_H
#define ACCUM_BASE_DTYPE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace accum {

/// Element type of a tensor; the numbers are those of onnx::TensorProto::DataType.
enum class DType : int32_t {
  Undefined = 0,
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  UInt2 = 25,
  Int2 = 26,
};

/// The type with that number in a file; nothing for a number outside the specification.
std::optional<DType> dtypeFromNumber(int64_t number);
/// "f32", "i64", "bool", "bf16", ...: how types are printed everywhere.
std::string_view name(DType type);
/// Bits of one element as stored in raw_data; 0 for Undefined and String.
int bitWidth(DType type);
/// f16, bf16, f32, f64: what can carry a gradient. The 8- and 4-bit formats cannot.
bool isFloat(DType type);
/// What values of the type are computed in: f32 for f16 and bf16, which `--precision` decides on later, else
/// the type itself. Of values in the graph no other is known; tensors of the file keep the type that they are
/// stored in.
DType computedIn(DType type);

} // namespace accum
#endif
