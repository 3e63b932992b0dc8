// SPDX-License-Identifier: Apache-2.0
// Files in, files out.
#include "test/runtime/ToyTraining.h"
#include "runtime/files/Array.h"
#include "runtime/files/Convert.h"
#include "runtime/files/File.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace accum::test {

using namespace accum::runtime;

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

} // namespace

ToyFiles prepareToy(const std::string &name, const ToyOptions &options, const ToyData &data,
                    const ToyRun &run) {
  std::string folder = freshFolder(name);
  ToyFiles files;
  files.artifact = writeToyArtifact(folder, options);
  files.saved = folder + "/out.safetensors";
  files.gradients = folder + "/gradients.safetensors";
  files.log = folder + "/log.jsonl";
  files.words = files.artifact + " --data " + writeToyData(folder, data) + " --steps " +
                std::to_string(run.steps) + " --lr 0.125 --save " + files.saved + " --dump-gradients " +
                files.gradients + " --log " + files.log +
                (run.shuffle ? " --seed " + std::to_string(run.seed) : " --no-shuffle") +
                (run.dropLast ? " --drop-last" : "");
  for (const BatchChange &change : run.batches)
    files.words += (&change == &run.batches.front() ? " --batch-schedule " : ",") +
                   std::to_string(change.step) + ":" + std::to_string(change.batch);
  return files;
}

void expectEqualsReference(const ToyFiles &files, const ToyState &expected, double tolerance) {
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

} // namespace accum::test
