// SPDX-License-Identifier: Apache-2.0
// The instructions that the threads of a GPU issue for a kernel, as the time model counts them.
#pragma once
#include "compiler/Planner/Problem/Problem.h"

namespace accum::planner {

/// Instructions of all threads for one of `pieces` parts of `m` samples, from the kernel's operations and the
/// bytes that it moves; 0 where its operations are not known. Counted in machine code
/// (docs/decisions/card-instructions.md): within a third for the kernels of transformers.
double instructionsOf(const Variant &kernel, int64_t m, int64_t pieces);

} // namespace accum::planner
