// SPDX-License-Identifier: Apache-2.0
// accum-run end to end on the toy artifact: loss, gradients and parameters equal one plain full-batch loop,
// for every way of cutting the batch.
#include "runtime/File.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyTraining.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace accum::runtime;
using namespace accum::test;

namespace {

void trainAndCompare(const std::string &name, const ToyOptions &options, int64_t samples, ToyRun run) {
  SCOPED_TRACE(name);
  run.hyper.lr = 0.125;
  ToyData data = makeToyData(samples);
  ToyFiles files = prepareToy(name, options, data, run);
  Outcome outcome = accumRun(files.words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expectEqualsReference(files, trainReference(options, data, run), options.isDouble ? 1e-12 : 5e-6);
}

} // namespace

TEST(Training, EqualsFullBatchForEveryMicroBatch) {
  for (int64_t m : {1, 2, 3, 5})
    trainAndCompare("m" + std::to_string(m), {.batch = 5, .m = m}, 13, {.steps = 7});
}

TEST(Training, EqualsFullBatchForEveryDeviceCount) {
  // 5 over 4 devices: 2, 2, 1, 0; the last window of an epoch holds 3 samples: 1, 1, 1, 0 with a smaller K.
  for (int64_t devices : {2, 3, 4})
    for (int64_t m : {1, 2})
      trainAndCompare("d" + std::to_string(devices) + "m" + std::to_string(m),
                      {.batch = 5, .devices = devices, .m = m}, 13, {.steps = 4});
}

TEST(Training, EqualsFullBatchForEveryOptimizer) {
  for (const char *optimizer : {"sgd", "sgd-momentum", "adam", "adamw"})
    trainAndCompare(optimizer, {.batch = 5, .m = 2, .optimizer = optimizer}, 13, {.steps = 6});
}

TEST(Training, EqualsFullBatchInSinglePrecision) {
  trainAndCompare("f32", {.batch = 5, .m = 2, .optimizer = "adamw", .isDouble = false}, 13, {.steps = 6});
  trainAndCompare("f32d2", {.batch = 7, .devices = 2, .m = 3, .isDouble = false}, 13, {.steps = 3});
}

TEST(Training, ShufflesTheSameForEveryCut) {
  trainAndCompare("shuffled", {.batch = 4, .m = 3}, 10, {.steps = 8, .shuffle = true, .seed = 5});
  trainAndCompare("shuffled-d2", {.batch = 4, .devices = 2, .m = 1}, 10,
                  {.steps = 8, .shuffle = true, .seed = 5});
  trainAndCompare("drop-last", {.batch = 4, .m = 3}, 10,
                  {.steps = 8, .shuffle = true, .dropLast = true, .seed = 6});
}

TEST(Training, DecaysWhatIsAskedFor) {
  ToyData data = makeToyData(10);
  for (const char *optimizer : {"sgd", "adam", "adamw"}) {
    for (const char *decay : {"", "all"}) {
      ToyOptions options{.batch = 5, .m = 2, .optimizer = optimizer};
      ToyRun run{.steps = 5};
      run.hyper.lr = 0.125;
      run.hyper.weightDecay = 0.25;
      run.hyper.decay = decay;
      ToyFiles files = prepareToy("decay", options, data, run);
      std::string flag = *decay ? " --decay " + std::string(decay) : "";
      ASSERT_EQ(accumRun(files.words + " --weight-decay 0.25" + flag).code, 0);
      expectEqualsReference(files, trainReference(options, data, run), 1e-12);
    }
  }
}

TEST(Training, MoreThreadsThanProcessorsAreNoted) {
  ToyFiles files = prepareToy("many", {.batch = 5, .m = 2}, makeToyData(5), {.steps = 1});
  auto processors = std::thread::hardware_concurrency();
  auto errorsOf = [&](unsigned threads) {
    return accumRun(files.words + " --threads " + std::to_string(threads)).err;
  };
  EXPECT_THAT(errorsOf(processors + 1), testing::HasSubstr("takes memory that the plan does not count"));
  EXPECT_THAT(errorsOf(processors), testing::Not(testing::HasSubstr("does not count")));
}

TEST(Training, BitsDoNotDependOnThreads) {
  ToyOptions options{.batch = 64, .m = 16, .optimizer = "adamw", .isDouble = false};
  ToyFiles files = prepareToy("threads", options, makeToyData(64), {.steps = 5});
  std::string first;
  for (int threads : {1, 2, 5}) {
    ASSERT_EQ(accumRun(files.words + " --threads " + std::to_string(threads)).code, 0);
    std::string bytes = *readText(files.saved, 1 << 20);
    first = first.empty() ? bytes : first;
    EXPECT_EQ(bytes, first);
  }
}
