// SPDX-License-Identifier: Apache-2.0
// Element types by the names and numbers of the formats that files have.
#include "base/DType.h"
#include "runtime/files/DType.h"
#include <gtest/gtest.h>

namespace accum {

TEST(DType, ProgramsTypesAreThoseOfTheModelFile) {
  struct Known {
    accum_dtype type;
    int onnx; // onnx.proto's TensorProto.DataType
    size_t bytes;
    bool isFloat;
    const char *name, *safetensors, *numpy;
  };
  constexpr Known kKnown[] = {
      {ACCUM_BOOL, 9, 1, false, "bool", "BOOL", "|b1"}, {ACCUM_I8, 3, 1, false, "i8", "I8", "|i1"},
      {ACCUM_U8, 2, 1, false, "u8", "U8", "|u1"},       {ACCUM_I32, 6, 4, false, "i32", "I32", "<i4"},
      {ACCUM_I64, 7, 8, false, "i64", "I64", "<i8"},    {ACCUM_F16, 10, 2, true, "f16", "F16", "<f2"},
      {ACCUM_BF16, 16, 2, true, "bf16", "BF16", ""},    {ACCUM_F32, 1, 4, true, "f32", "F32", "<f4"},
      {ACCUM_F64, 11, 8, true, "f64", "F64", "<f8"},    {ACCUM_I16, 5, 2, false, "i16", "I16", "<i2"},
      {ACCUM_U16, 4, 2, false, "u16", "U16", "<u2"},    {ACCUM_U32, 12, 4, false, "u32", "U32", "<u4"},
      {ACCUM_U64, 13, 8, false, "u64", "U64", "<u8"}};
  for (const Known &known : kKnown) {
    EXPECT_EQ(runtime::dtypeOfOnnx(uint64_t(known.onnx)), known.type) << known.name;
    EXPECT_EQ(runtime::bytesOf(known.type), known.bytes) << known.name;
    EXPECT_EQ(runtime::isFloat(known.type), known.isFloat) << known.name;
    EXPECT_EQ(runtime::nameOf(known.type), known.name);
    EXPECT_EQ(runtime::dtypeNamed(known.name), known.type);
    EXPECT_EQ(runtime::dtypeOfSafetensors(known.safetensors), known.type);
    EXPECT_EQ(runtime::numpyNameOf(known.type), known.numpy);
    if (*known.numpy)
      EXPECT_EQ(runtime::dtypeOfNumpy(known.numpy), known.type);
  }
  EXPECT_FALSE(runtime::dtypeOfNumpy(""));
  EXPECT_FALSE(runtime::dtypeOfOnnx(8)); // strings
  EXPECT_FALSE(runtime::dtypeNamed("f8e5m2"));
}

} // namespace accum
