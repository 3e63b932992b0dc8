// SPDX-License-Identifier: Apache-2.0
// kernels.so of the toy artifact: plain loops, in f32 and f64. It also serves the fake GPU, which finds its
// kernels through fake_kernel().
#include "ToyConfig.h"
#include "ToyModel.h"
#include "runtime/accum_program.h"
#include "test/runtime/cuda/fake/NormOnHost.h"
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace {

ToyConfig config; ///< of the artifact in whose folder this object lies

bool writes(const void *flag) { return *static_cast<const uint8_t *>(flag) != 0; }

// args: ids, mask, valid, targets, flag
void count(void *const *args, int64_t, int64_t) {
  auto *ids = static_cast<const int64_t *>(args[0]), *mask = static_cast<const int64_t *>(args[1]);
  auto *valid = static_cast<const uint8_t *>(args[2]);
  int64_t sum = 0;
  for (int64_t i = 0; i < int64_t(config.m) * kWords; ++i)
    if (valid[i / kWords] && ids[i] != kIgnored)
      sum += mask[i];
  auto *targets = static_cast<int64_t *>(args[3]);
  *targets = (writes(args[4]) ? 0 : *targets) + sum;
}

// args: pred, ids, mask, t, valid, e, b, scale, targets, r, scaled r, loss, flag
template <typename T> void residual(void *const *args, int64_t, int64_t) {
  auto *pred = static_cast<const T *>(args[0]);
  auto *ids = static_cast<const int64_t *>(args[1]), *mask = static_cast<const int64_t *>(args[2]);
  auto *t = static_cast<const T *>(args[3]);
  auto *valid = static_cast<const uint8_t *>(args[4]);
  auto *e = static_cast<const T *>(args[5]), *b = static_cast<const T *>(args[6]);
  T scale = *static_cast<const T *>(args[7]), total = T(*static_cast<const int64_t *>(args[8]));
  auto *r = static_cast<T *>(args[9]), *scaled = static_cast<T *>(args[10]);
  auto *loss = static_cast<double *>(args[11]);
  double sum = writes(args[12]) ? 0 : *loss;
  for (uint32_t n = 0; n < config.m; ++n) {
    T value = scale * pred[n] + *b - t[n];
    for (int j = 0; j < kWords; ++j)
      if (ids[n * kWords + j] != kIgnored)
        value += T(mask[n * kWords + j]) * e[ids[n * kWords + j]];
    r[n] = valid[n] ? 2 * value / total : 0;
    scaled[n] = scale * r[n];
    sum += valid[n] ? double(value) * double(value) / double(total) : 0;
  }
  *loss = sum;
}

// args: ids, mask, r, de, db, flag
template <typename T> void scatter(void *const *args, int64_t, int64_t) {
  auto *ids = static_cast<const int64_t *>(args[0]), *mask = static_cast<const int64_t *>(args[1]);
  auto *r = static_cast<const T *>(args[2]);
  auto *de = static_cast<T *>(args[3]), *db = static_cast<T *>(args[4]);
  if (writes(args[5])) {
    *db = 0;
    for (int i = 0; i < kVocabulary; ++i)
      de[i] = 0;
  }
  for (uint32_t n = 0; n < config.m; ++n) {
    *db += r[n];
    for (int j = 0; j < kWords; ++j)
      if (ids[n * kWords + j] != kIgnored)
        de[ids[n * kWords + j]] += T(mask[n * kWords + j]) * r[n];
  }
}

template <typename T> struct Element {
  T *parameter, *first, *second; // first, second: optimizer slots
  double gradient, decay;
};

template <typename T> void adaptive(Element<T> x, const double *hyper, bool decoupled) {
  double lr = hyper[ACCUM_HYPER_LR], beta1 = hyper[ACCUM_HYPER_BETA1], beta2 = hyper[ACCUM_HYPER_BETA2];
  double value = *x.parameter;
  if (decoupled)
    value -= lr * x.decay * value;
  else
    x.gradient += x.decay * value;
  *x.first = T(beta1 * *x.first + (1 - beta1) * x.gradient);
  *x.second = T(beta2 * *x.second + (1 - beta2) * x.gradient * x.gradient);
  double root = std::sqrt(double(*x.second)) / hyper[ACCUM_HYPER_CORRECTION2] + hyper[ACCUM_HYPER_EPS];
  *x.parameter = T(value - lr / hyper[ACCUM_HYPER_CORRECTION1] * *x.first / root);
}

template <typename T> void plain(Element<T> x, const double *hyper, bool momentum) {
  x.gradient += x.decay * *x.parameter;
  if (momentum) {
    double kept = hyper[ACCUM_HYPER_BETA1] * hyper[ACCUM_HYPER_CORRECTION1] * *x.first;
    *x.first = T(kept + x.gradient);
    x.gradient = *x.first;
  }
  *x.parameter = T(*x.parameter - hyper[ACCUM_HYPER_LR] * x.gradient);
}

// args: state, hyper values, decay; one row per parameter
template <typename T> void update(void *const *args, int64_t begin, int64_t end) {
  auto *state = static_cast<uint8_t *>(args[0]);
  auto *values = static_cast<const double *>(args[1]), *decay = static_cast<const double *>(args[2]);
  const uint64_t parameters[] = {config.w, config.e, config.b},
                 gradients[] = {config.dw, config.de, config.db};
  const int sizes[] = {kFeatures, kVocabulary, 1};
  auto at = [&](uint64_t offset, int i) { return reinterpret_cast<T *>(state + offset) + i; };
  for (int64_t p = begin; p < end; ++p)
    for (int i = 0; i < sizes[p]; ++i) {
      double gradient = *at(gradients[p], i) * values[ACCUM_HYPER_GRAD_SCALE];
      Element<T> element = {at(parameters[p], i), at(config.slots[0][p], i), at(config.slots[1][p], i),
                            gradient, decay[2 * p]};
      if (config.optimizer >= kAdam)
        adaptive(element, values, config.optimizer == kAdamW);
      else
        plain(element, values, config.optimizer == kMomentum);
    }
}

// args: a number that becomes NaN
template <typename T> void poison(void *const *args, int64_t, int64_t) {
  *static_cast<T *>(args[0]) = T(NAN);
}

const accum_kernel_v1 kTable[] = {
    {"count", count, 1, 1, 5},
    {"residual_f32", residual<float>, 1, 1, 13},
    {"residual_f64", residual<double>, 1, 1, 13},
    {"scatter_f32", scatter<float>, 1, 1, 6},
    {"scatter_f64", scatter<double>, 1, 1, 6},
    {"update_f32", update<float>, 3, 3, 3},
    {"update_f64", update<double>, 3, 3, 3},
    {"poison_f32", poison<float>, 1, 1, 1},
    {"poison_f64", poison<double>, 1, 1, 1},
};

} // namespace

extern "C" const accum_kernels_v1 *accum_kernels(void) {
  static const accum_kernels_v1 table = {ACCUM_ABI_VERSION, sizeof(accum_kernels_v1), std::size(kTable),
                                         kTable};
  readConfig(config);
  return &table;
}

/// The fake GPU's way in; see test/runtime/cuda/fake.
extern "C" int fake_kernel(const char *name, const unsigned *grid, const unsigned *block, void **parameters) {
  if (config.m == 0)
    readConfig(config);
  if (runNormKernel(name, grid[0] * block[0], parameters))
    return 0;
  for (const accum_kernel_v1 &kernel : kTable)
    if (std::strcmp(kernel.name, name) == 0) {
      void *args[16];
      for (uint32_t i = 0; i < kernel.num_args; ++i)
        args[i] = *static_cast<void **>(parameters[i]);
      kernel.fn(args, 0, kernel.n);
      return 0;
    }
  return 1;
}
