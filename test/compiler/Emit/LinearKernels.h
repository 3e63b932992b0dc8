// SPDX-License-Identifier: Apache-2.0
// The kernels of the linear regression, written by hand: pointers to operands, results and the flag.
#pragma once

#include "runtime/accum_program.h"
#include <cstddef>
#include <string_view>

namespace accum::test::linear {

template <typename T> T *as(void *pointer) { return static_cast<T *>(pointer); }

/// The flag 1 writes, 0 adds.
template <typename T> void contribute(void *target, T value, void *first) {
  *as<T>(target) = *as<uint8_t>(first) ? value : *as<T>(target) + value;
}

/// (y, b, t, valid, weight) -> (dy, loss), flag.
inline void residual(void *const *args, size_t m) {
  double loss = 0;
  float weight = *as<float>(args[4]);
  for (size_t i = 0; i < 2 * m; ++i) {
    float r = as<float>(args[0])[i] + as<float>(args[1])[i % 2] - as<float>(args[2])[i];
    r = as<uint8_t>(args[3])[i / 2] ? r : 0;
    as<float>(args[5])[i] = 2 * r * weight;
    loss += static_cast<double>(r * weight * r);
  }
  contribute(args[6], loss, args[7]);
}

/// (hyper, p, g, v) -> (p, v), in place: two rows of 64, one a parameter.
inline void update(void *const *args, size_t) {
  auto *hyper = as<double>(args[0]);
  for (size_t i = 0; i < 2 * 64; ++i) {
    float keep = static_cast<float>(hyper[ACCUM_HYPER_BETA1] * hyper[ACCUM_HYPER_CORRECTION1]);
    float v = as<float>(args[3])[i] * keep + as<float>(args[2])[i];
    as<float>(args[4])[i] = as<float>(args[1])[i] - v * static_cast<float>(hyper[ACCUM_HYPER_LR]);
    as<float>(args[5])[i] = v;
  }
}

inline void columns(void *const *args, size_t m) {
  for (size_t column = 0; column < 2; ++column) {
    float sum = 0;
    for (size_t i = 0; i < m; ++i)
      sum += as<float>(args[0])[2 * i + column];
    contribute(as<float>(args[1]) + column, sum, args[2]);
  }
}

// (valid) -> count, flag.
inline void count(void *const *args, size_t m) {
  int64_t real = 0;
  for (size_t i = 0; i < m; ++i)
    real += as<uint8_t>(args[0])[i];
  contribute(args[1], real, args[2]);
}

inline void weight(void *const *args, size_t) {
  *as<float>(args[1]) = 1 / (2 * static_cast<float>(*as<int64_t>(args[0])));
}

using Kernel = void (*)(void *const *args, size_t m);

/// In the order of their numbers.
struct NamedKernel {
  const char *name;
  Kernel run;
};
inline const NamedKernel kKernels[] = {
    {"count", count}, {"weight", weight}, {"residual", residual}, {"columns", columns}, {"update", update}};

inline Kernel kernelNamed(std::string_view name) {
  for (const NamedKernel &kernel : kKernels)
    if (kernel.name == name)
      return kernel.run;
  return nullptr;
}

} // namespace accum::test::linear
