// SPDX-License-Identifier: Apache-2.0
// kernels.so of the linear regression for micro-batches of MICRO_BATCH samples; the test compiles it.
#include "test/compiler/Emit/LinearKernels.h"

using namespace accum::test;

template <int number> static void run(void *const *args, int64_t, int64_t) {
  linear::kKernels[number].run(args, MICRO_BATCH);
}

static const accum_kernel_v1 table[] = {{"count", run<0>, 1, 1, 3},
                                        {"weight", run<1>, 1, 1, 2},
                                        {"residual", run<2>, 1, 1, 8},
                                        {"columns", run<3>, 1, 1, 3},
                                        {"update", run<4>, 1, 1, 6}};

extern "C" const accum_kernels_v1 *accum_kernels(void) {
  static const accum_kernels_v1 kernels = {ACCUM_ABI_VERSION, sizeof(accum_kernels_v1), 5, table};
  return &kernels;
}
