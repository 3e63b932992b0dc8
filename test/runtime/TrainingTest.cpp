// SPDX-License-Identifier: Apache-2.0
// accum-run end to end on the toy artifact: loss, gradients and parameters equal one plain full-batch loop,
// for every way of cutting the batch.
#include "runtime/Array.h"
#include "runtime/Convert.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace accum::runtime;
using namespace accum::test;

namespace {

/// name -> values of a safetensors file.
std::map<std::string, std::vector<double>> readAll(const std::string &path) {
  std::map<std::string, std::vector<double>> all;
  auto arrays = readSafetensors(path);
  EXPECT_TRUE(arrays) << format(arrays.error());
  if (arrays)
    for (const Array &array : *arrays)
      for (int64_t i = 0; i < array.elements(); ++i)
        all[array.name].push_back(asDouble(array.data, array.dtype, i));
  return all;
}

void expectNear(const std::vector<double> &actual, const std::vector<double> &expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << "at " << i;
}

struct Files {
  std::string artifact, words, saved, gradients, log;
};

Files prepare(const std::string &name, const ToyOptions &options, const ToyData &data, const ToyRun &run) {
  std::string folder = freshFolder(name);
  Files files;
  files.artifact = writeToyArtifact(folder, options);
  files.saved = folder + "/out.safetensors";
  files.gradients = folder + "/gradients.safetensors";
  files.log = folder + "/log.jsonl";
  files.words = files.artifact + " --data " + writeToyData(folder, data) + " --steps " +
                std::to_string(run.steps) + " --lr 0.125 --save " + files.saved + " --dump-gradients " +
                files.gradients + " --log " + files.log +
                (run.shuffle ? " --seed " + std::to_string(run.seed) : " --no-shuffle") +
                (run.dropLast ? " --drop-last" : "");
  return files;
}

void expectEqualsReference(const Files &files, const ToyState &expected, double tolerance) {
  auto saved = readAll(files.saved), gradients = readAll(files.gradients);
  expectNear(saved["w"], expected.w, tolerance);
  expectNear(saved["onnx::MatMul_7"], expected.w, tolerance);
  expectNear(saved["e"], expected.e, tolerance);
  expectNear(saved["b"], {expected.b}, tolerance);
  EXPECT_EQ(saved.count("scale"), 0u);
  expectNear(gradients["w"], expected.dw, tolerance);
  expectNear(gradients["e"], expected.de, tolerance);
  expectNear(gradients["b"], {expected.db}, tolerance);
  auto text = readText(files.log, 1 << 20);
  ASSERT_TRUE(text);
  std::istringstream lines(*text);
  nlohmann::json last;
  for (std::string line; std::getline(lines, line);)
    last = nlohmann::json::parse(line);
  EXPECT_NEAR(last["loss"].get<double>(), expected.loss, tolerance * std::max(1.0, expected.loss));
  EXPECT_EQ(last["targets"].get<int64_t>(), expected.targets);
}

void trainAndCompare(const std::string &name, const ToyOptions &options, int64_t samples, ToyRun run) {
  SCOPED_TRACE(name);
  run.hyper.lr = 0.125;
  ToyData data = makeToyData(samples);
  Files files = prepare(name, options, data, run);
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
      Files files = prepare("decay", options, data, run);
      std::string flag = *decay ? " --decay " + std::string(decay) : "";
      ASSERT_EQ(accumRun(files.words + " --weight-decay 0.25" + flag).code, 0);
      expectEqualsReference(files, trainReference(options, data, run), 1e-12);
    }
  }
}

TEST(Training, BitsDoNotDependOnThreads) {
  ToyOptions options{.batch = 64, .m = 16, .optimizer = "adamw", .isDouble = false};
  Files files = prepare("threads", options, makeToyData(64), {.steps = 5});
  std::string first;
  for (int threads : {1, 2, 5}) {
    ASSERT_EQ(accumRun(files.words + " --threads " + std::to_string(threads)).code, 0);
    std::string bytes = *readText(files.saved, 1 << 20);
    first = first.empty() ? bytes : first;
    EXPECT_EQ(bytes, first);
  }
}
