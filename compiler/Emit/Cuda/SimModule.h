// SPDX-License-Identifier: Apache-2.0
// GPU kernels as code for this machine, instrumented.
#pragma once

#include "compiler/Emit/Cuda/CudaKernels.h"

namespace accum::emit {

/// The kernels' optimised LLVM IR with its special registers, barriers, shuffles and shared memory replaced
/// by hooks and every access announced (runtime/sim/accum_sim.h). Defines accum_sim(). Errors: an intrinsic
/// that has no hook.
llvm::Expected<std::unique_ptr<llvm::Module>> simModule(const CudaKernels &kernels);

} // namespace accum::emit
