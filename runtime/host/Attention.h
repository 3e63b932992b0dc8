// SPDX-License-Identifier: Apache-2.0
// The attention of accum_program.h on the host: blocks of queries against blocks of keys, never a matrix of
// all scores. Result bits depend on operands and shapes only, never on the number of threads. Scratch is on
// the threads' stacks: a block of scores, in the backward pass two.
#ifndef ACCUM_RUNTIME_HOST_ATTENTION_H
#define ACCUM_RUNTIME_HOST_ATTENTION_H

#include "runtime/accum_program.h"
#include "runtime/host/Gemm.h"
#include "runtime/system/Status.h"

namespace accum::runtime {

/// Refuses dtypes other than f32, f64 and bf16 (attended to in f32, on copies of a group's heads), sizes
/// below 1 and columns that are not neighbours.
///
/// On bf16 products may be the processor's own: then they read the rows' weights, and the cotangents of
/// scores, rounded to bf16, as kernels on tensor cores do. Everything else is in f32.
Status attention(const accum_attention &call, ShortProducts products = ShortProducts::Fastest);

} // namespace accum::runtime
#endif
