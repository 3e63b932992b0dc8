// SPDX-License-Identifier: Apache-2.0
// A scheduled module becomes a folder that accum-run trains; what may be in its place; what a failure leaves.
#include "compiler/Emit/Artifact.h"
#include "compiler/Emit/OutputFolder.h"
#include "mlir/IR/Diagnostics.h"
#include "runtime/files/Array.h"
#include "runtime/files/Convert.h"
#include "runtime/files/SafetensorsWriter.h"
#include "test/compiler/Emit/LinearRegression.h"
#include "test/runtime/Command.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

using namespace accum;
using namespace accum::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr float kWeights[8] = {-0.2f, -0.1f, 0.0f, 0.1f, 0.2f, 0.3f, 0.0f, 0.5f}; // w, then b

struct ArtifactTest : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / ("accum-artifact-" + std::to_string(::getpid()));
  mlir::MLIRContext context;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler{&context, [this](mlir::Diagnostic &diagnostic) {
                                          messages += diagnostic.str() + "\n";
                                          for (mlir::Diagnostic &note : diagnostic.getNotes())
                                            messages += note.str() + "\n";
                                        }};

  ArtifactTest() {
    fs::remove_all(folder);
    fs::create_directories(folder);
    std::ofstream model(folder / "linear.onnx", std::ios::binary);
    model << std::string(64, 'x');
    model.write(reinterpret_cast<const char *>(kWeights), sizeof kWeights);
  }
  ~ArtifactTest() override { fs::remove_all(folder); }

  emit::ArtifactOptions options(int64_t m) {
    emit::ArtifactOptions options;
    options.folder = folder / "linear.accum";
    options.model = folder / "linear.onnx";
    options.labels = "none";
    options.plan = "{}\n";
    options.cpu = "x86-64";
    options.argv = {"accumc", "linear.onnx"};
    options.batch = 11;
    options.kernels = [m](mlir::ModuleOp, llvm::StringRef path) {
      std::string command =
          "c++ -std=c++20 -O1 -fPIC -shared -ffp-contract=off -DMICRO_BATCH=" + std::to_string(m) +
          " -I " ACCUM_SOURCE_DIR " " ACCUM_SOURCE_DIR "/test/compiler/Emit/LinearKernels.cpp -o " +
          path.str();
      return mlir::success(std::system(command.c_str()) == 0);
    };
    return options;
  }

  bool write(int64_t m, const emit::ArtifactOptions &options) {
    auto module = scheduleLinearRegression(context, m);
    return module && succeeded(emit::writeArtifact(*module, options));
  }

  std::string writeData(const Samples &samples) {
    std::string path = folder / "data.safetensors";
    auto bytes = [](const auto &rows) { return reinterpret_cast<const uint8_t *>(rows.data()); };
    auto count = static_cast<int64_t>(samples.x.size());
    EXPECT_TRUE(runtime::writeSafetensors(
        path,
        {{"x", bytes(samples.x), ACCUM_F32, {count, 3}}, {"t", bytes(samples.t), ACCUM_F32, {count, 2}}},
        false));
    return path;
  }

  void put(const fs::path &path) { std::ofstream(path) << "mine"; }
  size_t entries() { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); }
};

std::map<std::string, std::vector<double>> readAll(const std::string &path) {
  std::map<std::string, std::vector<double>> all;
  auto arrays = runtime::readSafetensors(path);
  EXPECT_TRUE(arrays) << path;
  if (arrays)
    for (const runtime::Array &array : *arrays)
      for (int64_t i = 0; i < array.elements(); ++i)
        all[array.name].push_back(runtime::asDouble(array.data, array.dtype, i));
  return all;
}

/// The gradients over all samples at once at `w` (with b behind it), in double precision.
std::vector<double> gradientsAt(const std::vector<double> &w, const Samples &samples) {
  std::vector<double> gradient(8);
  double count = static_cast<double>(samples.x.size());
  for (size_t i = 0; i < samples.x.size(); ++i)
    for (size_t n = 0; n < 2; ++n) {
      double r = w[6 + n] - static_cast<double>(samples.t[i][n]);
      for (size_t k = 0; k < 3; ++k)
        r += static_cast<double>(samples.x[i][k]) * w[2 * k + n];
      gradient[6 + n] += r / count;
      for (size_t k = 0; k < 3; ++k)
        gradient[2 * k + n] += r * static_cast<double>(samples.x[i][k]) / count;
    }
  return gradient;
}

struct TrainedArtifactTest : ArtifactTest, testing::WithParamInterface<const char *> {};

/// Kernels by hand, vector code, reference code: two steps of SGD with momentum 0.9.
TEST_P(TrainedArtifactTest, AccumRunTrainsItAsOneBigBatch) {
  Samples samples = makeSamples(11);
  std::string data = writeData(samples);
  std::vector<double> w(kWeights, kWeights + 8), momentum(8), gradient;
  for (int step = 0; step < 2; ++step) {
    gradient = gradientsAt(w, samples);
    for (size_t i = 0; i < 8; ++i) {
      momentum[i] = momentum[i] * 0.9 + gradient[i];
      w[i] -= 0.125 * momentum[i];
    }
  }
  for (int64_t m : {1, 2, 4, 11}) {
    SCOPED_TRACE(m);
    emit::ArtifactOptions with = options(m);
    if (GetParam() != std::string("ByHand"))
      with.kernels = nullptr;
    with.reference = GetParam() == std::string("Reference");
    ASSERT_TRUE(write(m, with)) << messages;
    std::string saved = folder / "out.safetensors", gradients = folder / "gradients.safetensors";
    Outcome run = accumRun((folder / "linear.accum").string() + " --data " + data +
                           " --steps 2 --lr 0.125 --momentum 0.9 --no-shuffle --save " + saved +
                           " --dump-gradients " + gradients);
    ASSERT_EQ(run.code, 0) << run.err;
    auto trained = readAll(saved), dumped = readAll(gradients);
    ASSERT_EQ(trained["w"].size() + trained["b"].size(), 8u);
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR((i < 6 ? trained["w"][i] : trained["b"][i - 6]), w[i], 1e-6);
      EXPECT_NEAR((i < 6 ? dumped["w"][i] : dumped["b"][i - 6]), gradient[i], 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, TrainedArtifactTest, testing::Values("ByHand", "Vector", "Reference"),
                         [](const auto &test) { return std::string(test.param); });

TEST_F(ArtifactTest, ReplacesAnOlderArtifactAndNothingElse) {
  ASSERT_TRUE(write(2, options(2))) << messages;
  ASSERT_TRUE(write(4, options(4))) << messages;
  put(folder / "linear.accum" / "notes.txt");
  EXPECT_FALSE(write(2, options(2)));
  EXPECT_THAT(
      messages,
      HasSubstr("linear.accum: holds `notes.txt`, which is no part of the artifact [output-not-ours]"));
  EXPECT_TRUE(fs::exists(folder / "linear.accum" / "manifest.json"));
  EXPECT_TRUE(fs::exists(folder / "linear.accum" / "notes.txt"));
  EXPECT_EQ(entries(), 2u); // the model and the artifact: nothing temporary
}

TEST_F(ArtifactTest, RefusesAFolderOfTheUsers) {
  fs::create_directory(folder / "linear.accum");
  put(folder / "linear.accum" / "manifest.json");
  EXPECT_FALSE(write(2, options(2)));
  EXPECT_THAT(
      messages,
      HasSubstr("is a folder, but not an artifact: it has no manifest.json of ours [output-not-ours]"));
  EXPECT_TRUE(fs::exists(folder / "linear.accum" / "manifest.json"));
}

TEST_F(ArtifactTest, RefusesAFile) {
  put(folder / "linear.accum");
  EXPECT_FALSE(write(2, options(2)));
  EXPECT_THAT(messages, HasSubstr("exists and is not a folder [output-not-ours]"));
  EXPECT_TRUE(fs::is_regular_file(folder / "linear.accum"));
}

TEST_F(ArtifactTest, EmptyFolderIsFree) {
  fs::create_directory(folder / "linear.accum");
  EXPECT_TRUE(write(2, options(2))) << messages;
}

TEST_F(ArtifactTest, MissingParentFolder) {
  auto elsewhere = options(2);
  elsewhere.folder = folder / "no" / "linear.accum";
  EXPECT_FALSE(write(2, elsewhere));
  EXPECT_THAT(messages, HasSubstr("linear.accum: cannot be written: there is no folder "));
  EXPECT_THAT(messages, HasSubstr("[output-failed]"));
}

TEST_F(ArtifactTest, ShortModelFileLeavesNothing) {
  fs::resize_file(folder / "linear.onnx", 90);
  EXPECT_FALSE(write(2, options(2)));
  EXPECT_THAT(messages, HasSubstr("weights of `b` end behind the end of linear.onnx [missing-weights]"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ArtifactTest, AbsentModelFileKeepsTheOldArtifact) {
  ASSERT_TRUE(write(2, options(2))) << messages;
  fs::remove(folder / "linear.onnx");
  EXPECT_FALSE(write(4, options(4)));
  EXPECT_THAT(messages,
              HasSubstr("weights of `w` are in linear.onnx, which cannot be read [missing-weights]"));
  EXPECT_THAT(messages, HasSubstr("--plan-only"));
  EXPECT_TRUE(fs::exists(folder / "linear.accum" / "manifest.json"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(ArtifactTest, ParametersAreTheModelsBytes) {
  ASSERT_TRUE(write(2, options(2))) << messages;
  auto params = readAll(folder / "linear.accum" / "params.safetensors");
  EXPECT_EQ(params["w"], std::vector<double>(kWeights, kWeights + 6));
  EXPECT_EQ(params["b"], std::vector<double>(kWeights + 6, kWeights + 8));
}

TEST_F(ArtifactTest, NoRoomLeft) {
  {
    auto output = emit::OutputFolder::create(folder / "linear.accum");
    ASSERT_TRUE(output);
    EXPECT_TRUE((*output)->requireRoom(1));
    runtime::Status status = (*output)->requireRoom(uint64_t(1) << 62);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().exitCode, 3);
    EXPECT_THAT(status.error().message,
                HasSubstr("linear.accum: cannot be written: no space left on device"));
  }
  EXPECT_EQ(entries(), 1u); // the model: the temporary folder is gone
}

TEST_F(ArtifactTest, WhatKilledRunsLeftIsRemoved) {
  pid_t gone = fork();
  if (gone == 0)
    _exit(0);
  waitpid(gone, nullptr, 0);
  auto left = [&](const std::string &end, const fs::path &file) {
    fs::path place = folder / ("linear.accum.tmp." + end);
    fs::create_directories((place / file).parent_path());
    std::ofstream(place / file) << "half written";
    return place;
  };
  std::string dead = std::to_string(gone);
  fs::path stale = left(dead, "kernels.so"), alive = left(std::to_string(getppid()), "kernels.so");
  fs::path users = left("0" + dead, "sub/kernels.so"), named = left("notes", "a.txt");
  ASSERT_TRUE(emit::OutputFolder::create(folder / "linear.accum"));
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(alive)) << "another run may be writing it";
  EXPECT_TRUE(fs::exists(users / "sub" / "kernels.so")) << "no run of ours makes folders there";
  EXPECT_TRUE(fs::exists(named));
}

} // namespace
