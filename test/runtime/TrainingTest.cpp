// SPDX-License-Identifier: Apache-2.0
// accum-run end to end on the toy artifact: loss, gradients and parameters equal one plain full-batch loop,
// for every way of cutting the batch.
#include "runtime/files/Array.h"
#include "runtime/files/Convert.h"
#include "runtime/files/File.h"
#include "runtime/system/Processors.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyTraining.h"
#include <cmath>
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
      run.hyper.decay = *decay ? std::vector<std::string>{decay} : std::vector<std::string>();
      ToyFiles files = prepareToy("decay", options, data, run);
      std::string flag = *decay ? " --decay " + std::string(decay) : "";
      ASSERT_EQ(accumRun(files.words + " --weight-decay 0.25" + flag).code, 0);
      expectEqualsReference(files, trainReference(options, data, run), 1e-12);
    }
  }
}

TEST(Training, ClipsToTheGlobalNorm) {
  ToyData data = makeToyData(10);
  for (const char *optimizer : {"sgd", "sgd-momentum", "adamw"})
    for (int64_t devices : {1, 2}) {
      SCOPED_TRACE(optimizer);
      ToyOptions options{.batch = 5, .devices = devices, .m = 2, .optimizer = optimizer};
      ToyRun run{.steps = 6};
      run.hyper.lr = 0.125;
      run.hyper.clipNorm = 0.5;
      ToyFiles files = prepareToy("clip", options, data, run);
      ASSERT_EQ(accumRun(files.words + " --clip-norm 0.5").code, 0);
      expectEqualsReference(files, trainReference(options, data, run), 1e-12);
      run.hyper.clipNorm.reset();
      ToyState free = trainReference(options, data, run);
      run.hyper.clipNorm = 1e9;
      EXPECT_EQ(trainReference(options, data, run).w, free.w);
      run.hyper.clipNorm = 0.5;
      EXPECT_NE(trainReference(options, data, run).w, free.w) << "nothing was clipped";
    }
}

TEST(Training, FollowsTheSchedule) {
  ToyData data = makeToyData(10);
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  // Three steps of warm-up, then a cosine down to a tenth in step 8, the last of nine.
  ToyRun run{.steps = 9, .factor = [](uint64_t step) {
               auto s = double(step);
               return s < 3 ? (s + 1) / 3 : 0.1 + 0.9 * (1 + std::cos(M_PI * (s - 3) / 5)) / 2;
             }};
  run.hyper.lr = 0.125;
  ToyFiles files = prepareToy("schedule", options, data, run);
  Outcome outcome = accumRun(files.words + " --schedule cosine --warmup 3 --lr-floor 10%");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expectEqualsReference(files, trainReference(options, data, run), 1e-12);
  auto log = readText(files.log, 1 << 20);
  ASSERT_TRUE(log);
  EXPECT_THAT(*log,
              testing::HasSubstr(R"("lr":0.041666666666666664)")); // a third, then all of it in steps 3 and 4
  EXPECT_THAT(*log, testing::HasSubstr(R"({"step":4,)"));
  EXPECT_THAT(*log, testing::HasSubstr(R"("lr":0.0125)"));
}

/// The number of steps may follow from epochs, and the percentage from it.
TEST(Training, SchedulesEpochs) {
  ToyData data = makeToyData(10);
  ToyOptions options{.batch = 5, .m = 2};
  ToyFiles files = prepareToy("epochs", options, data, {.steps = 8});
  std::string words = files.words;
  words.replace(words.find("--steps 8"), 9, "--epochs 4");
  ASSERT_EQ(accumRun(words + " --schedule linear --warmup 25%").code, 0);
  ToyRun run{.steps = 8, .factor = [](uint64_t step) {
               return step < 2 ? (double(step) + 1) / 2 : (7 - double(step)) / 5;
             }};
  run.hyper.lr = 0.125;
  expectEqualsReference(files, trainReference(options, data, run), 1e-12);
}

TEST(Training, LeavesSpikesOut) {
  ToyData data = makeToyData(5 * 132);
  for (int sample = 5 * 130; sample < 5 * 131; ++sample)
    data.t[sample] = 1000;
  ToyOptions options{.batch = 5, .devices = 2, .m = 2};
  ToyRun run{.steps = 130};
  run.hyper.lr = 0.001;
  ToyFiles files = prepareToy("spike", options, data, {.steps = 131});
  std::string words = files.words;
  words.replace(words.find("--lr 0.125"), 10, "--lr 0.001");
  Outcome outcome = accumRun(words + " --skip-spikes 10");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::HasSubstr("; 1 skipped as spikes"));
  auto log = readText(files.log, 1 << 20);
  ASSERT_TRUE(log);
  EXPECT_THAT(log->substr(log->rfind(R"({"step":131,)")), testing::HasSubstr(R"("skipped":"spike")"));
  ToyState expected = trainReference(options, data, run);
  auto saved = readSafetensors(files.saved);
  ASSERT_TRUE(saved);
  for (const Array &array : *saved)
    if (array.name == "b")
      EXPECT_NEAR(asDouble(array.data, array.dtype, 0), expected.b, 1e-12);
}

TEST(Training, EndsWhenItIsEnough) {
  ToyOptions options{.batch = 5, .m = 2};
  ToyFiles files = prepareToy("enough", options, makeToyData(10), {.steps = 1000000});
  Outcome late = accumRun(files.words + " --max-time 0.2s");
  EXPECT_EQ(late.code, kExitStopped) << late.err;
  EXPECT_TRUE(readSafetensors(files.saved));
  Outcome low = accumRun(files.words + " --stop-at-loss 1e9");
  EXPECT_EQ(low.code, kExitStopped) << low.err;
  EXPECT_THAT(low.out, testing::HasSubstr("steps    1 of 5 samples"));
  EXPECT_EQ(accumRun(files.words + " --max-time soon").code, kExitUsage);
  EXPECT_EQ(accumRun(files.words + " --max-time 5x").code, kExitUsage);
}

TEST(Training, RefusesLimitsThatAreNone) {
  ToyFiles files = prepareToy("limits", {.batch = 5, .m = 2}, makeToyData(5), {.steps = 2});
  for (const char *flags : {"--lr nan", "--lr inf", "--lr -inf", "--lr -nan", "--weight-decay nan",
                            "--weight-decay inf", "--clip-norm inf", "--skip-spikes nan", "--skip-spikes inf",
                            "--clip-norm 0", "--clip-norm -1", "--clip-norm nan", "--skip-spikes 0",
                            "--warmup 2", "--schedule wsd --decay-steps 5", "--lr-floor 10%"})
    EXPECT_EQ(accumRun(files.words + " " + flags).code, kExitUsage) << flags;
  EXPECT_EQ(accumRun(files.words + " --schedule nothing.csv").code, kExitFile);
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

/// torchrun sets it for everybody: who asked for no such thing is told.
TEST(Training, OneThreadByTorchrunIsNoted) {
  ToyFiles files = prepareToy("torchrun", {.batch = 5, .m = 2}, makeToyData(5), {.steps = 1});
  auto said = [&](const std::string &environment, const std::string &flags) {
    Outcome outcome = runCommand("env -u TORCHELASTIC_RUN_ID -u OMP_NUM_THREADS " + environment +
                                 " " ACCUM_RUN " " + files.words + flags);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.err.find("as OMP_NUM_THREADS says, which torchrun sets to 1") != std::string::npos;
  };
  EXPECT_EQ(said("TORCHELASTIC_RUN_ID=none OMP_NUM_THREADS=1", ""), usableProcessors() > 1);
  EXPECT_FALSE(said("TORCHELASTIC_RUN_ID=none OMP_NUM_THREADS=1", " --threads 1"));
  EXPECT_FALSE(said("OMP_NUM_THREADS=1", ""));
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
