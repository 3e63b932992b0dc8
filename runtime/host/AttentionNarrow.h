// SPDX-License-Identifier: Apache-2.0
// Attention on bf16 by way of f32.
#ifndef ACCUM_RUNTIME_HOST_ATTENTIONNARROW_H
#define ACCUM_RUNTIME_HOST_ATTENTIONNARROW_H

#include "runtime/accum_program.h"

namespace accum::runtime {

/// The part of `call`, on bf16, that belongs to one batch entry and one group of heads: `attend` gets it as a
/// call on f32 copies, with a batch and a group of 1. With `native` products read bf16: q, k and v are not
/// copied, and `attend` gets the part as it lies too; else null.
void attendWidened(const accum_attention &call, int64_t batch, int64_t group, bool native,
                   void (*attend)(accum_attention &, const accum_attention *));

} // namespace accum::runtime
#endif
