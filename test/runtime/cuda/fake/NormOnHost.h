// SPDX-License-Identifier: Apache-2.0
// The runtime's own GPU kernels (runtime/cuda/norm.c) from the same source on the host, one thread after the
// other.
#ifndef ACCUM_TEST_FAKE_NORMONHOST_H
#define ACCUM_TEST_FAKE_NORMONHOST_H

#include <cstring>

namespace {

unsigned normThread, normThreads;
#define ACCUM_KERNEL
#define ACCUM_THREAD normThread
#define ACCUM_THREADS normThreads
#include "runtime/cuda/norm.c"

template <typename T>
void runThreads(void (*kernel)(const T *, accum_size, double *), unsigned threads, void **parameters) {
  normThreads = threads;
  for (normThread = 0; normThread < threads; ++normThread)
    kernel(*static_cast<const T **>(parameters[0]), *static_cast<accum_size *>(parameters[1]),
           *static_cast<double **>(parameters[2]));
}

/// Whether `name` is one of them; it has run then.
bool runNormKernel(const char *name, unsigned threads, void **parameters) {
  if (std::strcmp(name, "accum_squares_f32") == 0)
    runThreads(accum_squares_f32, threads, parameters);
  else if (std::strcmp(name, "accum_squares_f64") == 0)
    runThreads(accum_squares_f64, threads, parameters);
  else if (std::strcmp(name, "accum_sums") == 0)
    runThreads(accum_sums, threads, parameters);
  else
    return false;
  return true;
}

} // namespace
#endif
