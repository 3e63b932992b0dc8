// SPDX-License-Identifier: Apache-2.0
// Element conversion between dtypes: exact widening for data, f32 <-> f64 for weights, anything to double to
// compare.
#ifndef ACCUM_RUNTIME_FILES_CONVERT_H
#define ACCUM_RUNTIME_FILES_CONVERT_H

#include "runtime/files/DType.h"
#include <cstdint>

namespace accum::runtime {

/// Whether `convert` knows this pair: equal dtypes, what is narrower to i32, i64, f32 or f64 of its kind (a
/// bool is an integer, 0 or 1), and f64 -> f32, f32 and f16 -> bf16.
bool canConvert(DType from, DType to);

/// Whether both are integers or bools: then `convert` knows the pair, and a value that `to` lacks is cut off.
bool areIntegers(DType from, DType to);

/// `count` elements; neither side needs to be aligned. Saved weights may also become f16 and bf16 of any
/// float type: to nearest, ties to even.
void convert(const uint8_t *from, DType fromType, uint8_t *to, DType toType, int64_t count);

/// Element `index` as a double; i64 beyond 2^53 is rounded.
double asDouble(const uint8_t *data, DType dtype, int64_t index);

/// The reverse for f64, f32 and bf16: rounded to nearest.
void storeFloat(uint8_t *data, DType dtype, int64_t index, double value);

/// Element `index` of an integer or bool array.
int64_t asInteger(const uint8_t *data, DType dtype, int64_t index);

} // namespace accum::runtime
#endif
