// SPDX-License-Identifier: Apache-2.0
// Rows of bf16 (brain floats) to f32 and back, in the widest vectors of this processor.
#ifndef ACCUM_RUNTIME_HOST_BF16ROWS_H
#define ACCUM_RUNTIME_HOST_BF16ROWS_H

#include <cstdint>

namespace accum::runtime {

/// Exact.
void widenRow(const uint16_t *from, int64_t count, float *to);

/// To nearest, ties to even, subnormal numbers too, as `toBf16` does.
void roundRow(const float *from, int64_t count, uint16_t *to);

} // namespace accum::runtime
#endif
