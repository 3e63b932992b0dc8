// SPDX-License-Identifier: Apache-2.0
// Element types by number (accum_program.h), manifest name, safetensors name and NumPy descriptor.
#ifndef ACCUM_RUNTIME_FILES_DTYPE_H
#define ACCUM_RUNTIME_FILES_DTYPE_H

#include "runtime/accum_program.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace accum::runtime {

using DType = accum_dtype;

size_t bytesOf(DType dtype);
bool isFloat(DType dtype);

/// "bool", "i8", "u8", "i32", "i64", "f16", "bf16", "f32", "f64".
std::string_view nameOf(DType dtype);
std::optional<DType> dtypeNamed(std::string_view name);
/// By the number of onnx::TensorProto::DataType.
std::optional<DType> dtypeOfOnnx(uint64_t number);

/// "BOOL", "I8", "U8", "I32", "I64", "F16", "BF16", "F32", "F64".
std::string_view safetensorsNameOf(DType dtype);
std::optional<DType> dtypeOfSafetensors(std::string_view name);

/// "|b1", "|i1", "|u1", "<i4", "<i8", "<f2", "<f4", "<f8"; NumPy has no bf16: empty.
std::string_view numpyNameOf(DType dtype);
std::optional<DType> dtypeOfNumpy(std::string_view descriptor);

} // namespace accum::runtime
#endif
