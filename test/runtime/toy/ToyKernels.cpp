// SPDX-License-Identifier: Apache-2.0
// kernels.so of the toy artifact: plain loops, in f32 and f64.
#include "ToyModel.h"
#include "runtime/accum_program.h"
#include <cmath>
#include <cstddef>

namespace {

const ToyConfig &configOf(void *const *args) { return *static_cast<const ToyConfig *>(args[0]); }

// args: config, ids, mask, valid, targets, k
void count(void *const *args, int64_t, int64_t) {
  auto *ids = static_cast<const int64_t *>(args[1]), *mask = static_cast<const int64_t *>(args[2]);
  auto *valid = static_cast<const uint8_t *>(args[3]);
  int64_t sum = 0;
  for (int64_t i = 0; i < int64_t(configOf(args).m) * kWords; ++i)
    if (valid[i / kWords] && ids[i] != kIgnored)
      sum += mask[i];
  auto *targets = static_cast<int64_t *>(args[4]);
  *targets = (*static_cast<uint32_t *>(args[5]) == 0 ? 0 : *targets) + sum;
}

// args: config, pred, ids, mask, t, valid, e, b, scale, targets, r, scaled r, loss, k
template <typename T> void residual(void *const *args, int64_t, int64_t) {
  auto *pred = static_cast<const T *>(args[1]);
  auto *ids = static_cast<const int64_t *>(args[2]), *mask = static_cast<const int64_t *>(args[3]);
  auto *t = static_cast<const T *>(args[4]);
  auto *valid = static_cast<const uint8_t *>(args[5]);
  auto *e = static_cast<const T *>(args[6]), *b = static_cast<const T *>(args[7]);
  T scale = *static_cast<const T *>(args[8]), total = T(*static_cast<const int64_t *>(args[9]));
  auto *r = static_cast<T *>(args[10]), *scaled = static_cast<T *>(args[11]);
  auto *loss = static_cast<double *>(args[12]);
  double sum = *static_cast<uint32_t *>(args[13]) == 0 ? 0 : *loss;
  for (uint32_t n = 0; n < configOf(args).m; ++n) {
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

// args: config, ids, mask, r, de, db, k
template <typename T> void scatter(void *const *args, int64_t, int64_t) {
  auto *ids = static_cast<const int64_t *>(args[1]), *mask = static_cast<const int64_t *>(args[2]);
  auto *r = static_cast<const T *>(args[3]);
  auto *de = static_cast<T *>(args[4]), *db = static_cast<T *>(args[5]);
  if (*static_cast<uint32_t *>(args[6]) == 0) {
    *db = 0;
    for (int i = 0; i < kVocabulary; ++i)
      de[i] = 0;
  }
  for (uint32_t n = 0; n < configOf(args).m; ++n) {
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

// args: config, state, hyper; one row per parameter
template <typename T> void update(void *const *args, int64_t begin, int64_t end) {
  const ToyConfig &config = configOf(args);
  auto *state = static_cast<uint8_t *>(args[1]);
  auto *hyper = static_cast<const accum_hyper *>(args[2]);
  const uint64_t parameters[] = {config.w, config.e, config.b},
                 gradients[] = {config.dw, config.de, config.db};
  const int sizes[] = {kFeatures, kVocabulary, 1};
  auto at = [&](uint64_t offset, int i) { return reinterpret_cast<T *>(state + offset) + i; };
  for (int64_t p = begin; p < end; ++p)
    for (int i = 0; i < sizes[p]; ++i) {
      double gradient = *at(gradients[p], i) * hyper->values[ACCUM_HYPER_GRAD_SCALE];
      Element<T> element = {at(parameters[p], i), at(config.slots[0][p], i), at(config.slots[1][p], i),
                            gradient, hyper->decay[p]};
      if (config.optimizer >= kAdam)
        adaptive(element, hyper->values, config.optimizer == kAdamW);
      else
        plain(element, hyper->values, config.optimizer == kMomentum);
    }
}

const accum_kernel_v1 kTable[] = {{"count", count, 1, 1, 6},
                                  {"residual_f32", residual<float>, 1, 1, 14},
                                  {"residual_f64", residual<double>, 1, 1, 14},
                                  {"scatter_f32", scatter<float>, 1, 1, 7},
                                  {"scatter_f64", scatter<double>, 1, 1, 7},
                                  {"update_f32", update<float>, 3, 3, 3},
                                  {"update_f64", update<double>, 3, 3, 3}};

} // namespace

extern "C" const accum_kernels_v1 *accum_kernels(void) {
  static const accum_kernels_v1 table = {ACCUM_ABI_VERSION, sizeof(accum_kernels_v1), 7, kTable};
  return &table;
}
