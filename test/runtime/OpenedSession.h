// SPDX-License-Identifier: Apache-2.0
// The C interface on a toy artifact.
#pragma once
#include "runtime/accum_runtime.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
#include <gtest/gtest.h>

namespace accum::test {

/// An open session on a toy artifact, bound to arrays in memory.
struct Opened {
  ToyData data;
  std::vector<float> x, t;
  accum_session *session = nullptr;

  Opened(const ToyOptions &options, int64_t samples, int32_t threads) : data(makeToyData(samples)) {
    accum_open_options open = {};
    open.size = sizeof open;
    open.threads = threads;
    std::string artifact = writeToyArtifact(freshFolder("interface"), options);
    EXPECT_EQ(accum_open(artifact.c_str(), &open, &session), 0) << accum_last_error();
    x.assign(data.x.begin(), data.x.end());
    t.assign(data.t.begin(), data.t.end());
    withSamples(0, samples, [&](const accum_array *arrays, size_t count) {
      accum_data_options order{};
      order.size = sizeof order;
      EXPECT_EQ(accum_bind_arrays(session, arrays, count, &order), 0) << accum_last_error();
    });
    accum_hyper_options hyper;
    accum_hyper_defaults(&hyper);
    hyper.lr = 0.125;
    EXPECT_EQ(accum_set_hyper(session, &hyper), 0);
  }
  ~Opened() { accum_close(session); }

  /// Calls use(arrays, count) with those that hold samples [first, first + samples).
  template <typename Use> void withSamples(int64_t first, int64_t samples, Use &&use) const {
    const int64_t xShape[] = {samples, kFeatures}, wordShape[] = {samples, kWords}, tShape[] = {samples};
    accum_array arrays[] = {{"x", ACCUM_F32, 2, xShape, x.data() + first * kFeatures},
                            {"ids", ACCUM_I64, 2, wordShape, data.ids.data() + first * kWords},
                            {"mask", ACCUM_I64, 2, wordShape, data.mask.data() + first * kWords},
                            {"t", ACCUM_F32, 1, tShape, t.data() + first}};
    use(arrays, size_t(4));
  }
  int stepOver(uint64_t step, int64_t first, int64_t samples, accum_step_result &result) const {
    int code = 0;
    withSamples(first, samples, [&](const accum_array *arrays, size_t count) {
      code = accum_step_arrays(session, step, arrays, count, 0, &result);
    });
    return code;
  }

  double read(const char *kind, const char *name) const {
    accum_tensor tensor;
    EXPECT_EQ(accum_read(session, kind, name, &tensor), 0) << accum_last_error();
    return *static_cast<const double *>(tensor.data);
  }
};

} // namespace accum::test
