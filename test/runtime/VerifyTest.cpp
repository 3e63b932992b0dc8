// SPDX-License-Identifier: Apache-2.0
// accum_verify between two steps (oracle: the same run without it).
#include "runtime/accum_verify.h"
#include "test/runtime/ToyArtifact.h"
#include <gtest/gtest.h>

using namespace accum::runtime;
using namespace accum::test;

namespace {

/// Of four steps the losses, then a parameter and its slots.
std::vector<double> train(const std::string &artifact, void (*between)(accum_session *)) {
  accum_session *session = nullptr;
  EXPECT_EQ(accum_open(artifact.c_str(), nullptr, &session), 0) << accum_last_error();
  accum_data_options data{};
  data.size = sizeof data;
  data.samples = 10;
  EXPECT_EQ(accum_bind_synthetic(session, &data), 0) << accum_last_error();
  std::vector<double> seen;
  accum_step_result result;
  for (uint64_t step = 0; step < 4; ++step) {
    EXPECT_EQ(accum_step(session, step, &result), 0) << accum_last_error();
    seen.push_back(result.loss);
    if (step == 1)
      between(session);
  }
  for (const char *kind : {"parameter", "m", "v"}) {
    accum_tensor tensor;
    EXPECT_EQ(accum_read(session, kind, "w", &tensor), 0) << accum_last_error();
    const auto *values = static_cast<const double *>(tensor.data);
    seen.insert(seen.end(), values, values + kFeatures);
  }
  accum_close(session);
  return seen;
}

void verify(accum_session *session) {
  accum_info before, after;
  accum_get_info(session, &before);
  std::vector<double> errors;
  accum_verify_options options = {};
  options.size = sizeof options;
  options.seconds = 600;
  options.check = [](void *user, const accum_check *check) {
    EXPECT_TRUE(check->ok) << check->name;
    EXPECT_LE(check->measured, check->allowed) << check->name;
    static_cast<std::vector<double> *>(user)->push_back(check->measured);
  };
  options.user = &errors;
  EXPECT_EQ(accum_verify(session, &options), 0) << accum_last_error();
  EXPECT_EQ(errors.size(), 12U); // of five cuts the loss and the gradients, and both directions
  accum_get_info(session, &after);
  EXPECT_EQ(before.batch, after.batch);
  EXPECT_EQ(before.lr, after.lr);
}

} // namespace

TEST(Verify, LeavesNoTrace) {
  std::string artifact = writeToyArtifact(freshFolder("verify"), {.batch = 5, .m = 2, .optimizer = "adamw"});
  EXPECT_EQ(train(artifact, [](accum_session *) {}), train(artifact, verify));
}
