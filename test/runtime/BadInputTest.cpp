// SPDX-License-Identifier: Apache-2.0
// What wrong data, wrong artifacts and wrong use get: the exit code and the sentence, before any step.
#include "runtime/files/Array.h"
#include "runtime/files/File.h"
#include "runtime/files/SafetensorsWriter.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A toy artifact with good data, to be spoiled.
struct Scene {
  std::string folder = freshFolder("bad"), artifact, data;
  explicit Scene(const ToyOptions &options = {}, int64_t samples = 6)
      : artifact(writeToyArtifact(folder, options)), data(writeToyData(folder, makeToyData(samples))) {}

  Outcome run(const std::string &words = "") const {
    return accumRun(artifact + " --steps 1 --lr 0.1 --data " + data + " " + words);
  }
};

/// The refusal, which must come with this code, before any step, and leave no weights.
std::string refusal(const Scene &setup, int code, const std::string &words = "") {
  Outcome outcome = setup.run(words);
  EXPECT_EQ(outcome.code, code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_FALSE(fs::exists(setup.folder + "/toy.trained.safetensors"));
  return outcome.err;
}

using Edit = void (*)(ToyData &);

std::string badData(Edit edit, int64_t samples = 6) {
  Scene setup;
  ToyData data = makeToyData(samples);
  edit(data);
  writeToyData(setup.folder, data);
  return refusal(setup, 3);
}

/// Data whose array `name` is replaced by another.
std::string withArray(const std::string &name, const std::string &newName, DType dtype,
                      const std::vector<int64_t> &shape) {
  Scene setup;
  auto arrays = readSafetensors(setup.data);
  std::vector<uint8_t> zeros(4096);
  std::vector<TensorToWrite> tensors;
  for (const Array &array : *arrays)
    if (array.name != name)
      tensors.push_back({array.name, array.data, array.dtype, array.shape});
  if (!newName.empty())
    tensors.push_back({newName, zeros.data(), dtype, shape});
  EXPECT_TRUE(writeSafetensors(setup.data, tensors, false));
  return refusal(setup, 3);
}

} // namespace

TEST(BadData, NamesArrayIndexAndExpectation) {
  EXPECT_THAT(
      badData([](ToyData &data) { data.ids[7] = kVocabulary; }),
      HasSubstr(
          "data.safetensors: array `ids` holds 7 at [2, 1], expected 0 <= value < 7, or -100 [bad-data]"));
  EXPECT_THAT(badData([](ToyData &data) { data.ids[0] = -1; }), HasSubstr("array `ids` holds -1 at [0, 0]"));
  EXPECT_THAT(badData([](ToyData &data) { data.x[12] = NAN; }),
              HasSubstr("array `x` holds NaN at [2, 2], expected a number"));
  EXPECT_THAT(badData([](ToyData &) {}, 4),
              HasSubstr("the data holds 4 samples, expected at least one global batch of 5"));
}

TEST(BadData, NamesDtypesAndShapes) {
  EXPECT_THAT(withArray("x", "y", ACCUM_F32, {6, 5}),
              HasSubstr("no array named `x` in the data, expected one of dtype f64"));
  EXPECT_THAT(withArray("x", "x", ACCUM_I64, {6, 5}), HasSubstr("array `x` has dtype i64, expected f64"));
  EXPECT_THAT(withArray("ids", "ids", ACCUM_F32, {6, 3}),
              HasSubstr("array `ids` has dtype f32, expected i64"));
  EXPECT_THAT(withArray("x", "x", ACCUM_F32, {6, 4}),
              HasSubstr("array `x` has shape [6, 4], expected [samples, 5]"));
  EXPECT_THAT(withArray("t", "t", ACCUM_F32, {6, 1, 1}),
              HasSubstr("array `t` has shape [6, 1, 1], expected [samples]"));
  EXPECT_THAT(withArray("t", "t", ACCUM_F32, {5}), HasSubstr("samples, expected"));
  EXPECT_THAT(withArray("t", "", ACCUM_F32, {}), HasSubstr("no array named `t`"));
}

TEST(BadData, AbsentMaskIsOnesAndSaidSo) {
  Scene setup;
  auto arrays = readSafetensors(setup.data);
  std::vector<TensorToWrite> tensors;
  for (const Array &array : *arrays)
    if (array.name != "mask")
      tensors.push_back({array.name, array.data, array.dtype, array.shape});
  ASSERT_TRUE(writeSafetensors(setup.data, tensors, false));
  Outcome outcome = setup.run();
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("note: `mask` is not in the data: 1 everywhere"));
}

TEST(BadData, EvaluationDataIsCheckedBeforeTheFirstStep) {
  auto evaluated = [](Edit edit, int64_t samples) {
    Scene setup;
    fs::create_directory(setup.folder + "/eval");
    ToyData data = makeToyData(samples);
    edit(data);
    return refusal(setup, 3, "--eval " + writeToyData(setup.folder + "/eval", data));
  };
  EXPECT_THAT(evaluated([](ToyData &data) { data.x[12] = NAN; }, 6),
              HasSubstr("eval/data.safetensors: array `x` holds NaN at [2, 2], expected a number"));
  EXPECT_THAT(evaluated([](ToyData &) {}, 0),
              HasSubstr("the evaluation data holds 0 samples, expected at least one"));
  EXPECT_THAT(refusal(Scene(), 3, "--eval gone.safetensors"), HasSubstr("gone.safetensors"));
}

TEST(BadData, EvaluationDataHasTheShapesOfTraining) {
  Scene setup;
  auto arrays = readSafetensors(setup.data);
  std::vector<TensorToWrite> tensors;
  for (const Array &array : *arrays) {
    std::vector<int64_t> shape = array.shape;
    if (array.name == "x")
      shape[1] -= 1;
    tensors.push_back({array.name, array.data, array.dtype, shape});
  }
  std::string other = setup.folder + "/other.safetensors";
  ASSERT_TRUE(writeSafetensors(other, tensors, false));
  EXPECT_THAT(refusal(setup, 3, "--eval " + other),
              HasSubstr("other.safetensors: array `x` has shape [6, 4], expected [samples, 5]"));
}

TEST(BadData, EvaluationTakesLessThanABatch) {
  Scene setup;
  fs::create_directory(setup.folder + "/eval");
  Outcome outcome = setup.run("--eval " + writeToyData(setup.folder + "/eval", makeToyData(1)));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("eval     step 1: loss "));
  EXPECT_THAT(outcome.out, HasSubstr("; 1 samples"));
}

TEST(BadUse, EvaluationNeedsData) {
  for (const char *words : {"--eval-every 2", "--eval-only"})
    EXPECT_THAT(refusal(Scene(), 2, words), HasSubstr(" needs --eval PATH"));
  EXPECT_THAT(refusal(Scene(), 2, "--eval-only --val-split 1 --eval e.safetensors"), HasSubstr("exclude"));
  Scene setup;
  EXPECT_THAT(refusal(setup, 2, "--eval-only --eval " + setup.data),
              HasSubstr("--eval-only trains nothing and saves nothing: leave --"));
  EXPECT_THAT(refusal(setup, 2, "--eval " + setup.data + " --eval-every 0"),
              HasSubstr("--eval-every: `0` is not a whole number from 1 on"));
  EXPECT_THAT(refusal(setup, 2, "--eval-micro-batch 2"),
              HasSubstr("evaluation has the micro-batch of training"));
}

TEST(BadArtifact, MissingOrDamagedFiles) {
  for (const char *name : {"program.so", "kernels.so", "params.safetensors"}) {
    Scene setup;
    std::string path = setup.artifact + "/" + name, content = *readText(path, 1 << 24);
    fs::resize_file(path, content.size() / 2);
    EXPECT_THAT(refusal(setup, 3), HasSubstr(std::string(name) + ": is damaged: "));
    content[content.size() / 2] ^= 1;
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_THAT(refusal(setup, 3), HasSubstr(std::string(name) + ": is damaged: its checksum is"));
    fs::remove(path);
    EXPECT_THAT(refusal(setup, 3), HasSubstr(std::string(name) + ": is missing from the artifact"));
  }
}

TEST(BadArtifact, ManifestMissingCutOrNewer) {
  Scene setup;
  std::string path = setup.artifact + "/manifest.json", text = *readText(path, 1 << 20);
  for (size_t length : {size_t(0), size_t(1), text.size() / 3, text.size() - 3}) {
    std::ofstream(path) << text.substr(0, length);
    EXPECT_THAT(refusal(setup, 3), HasSubstr("manifest.json: is damaged: "));
  }
  std::string newer = text;
  newer.replace(newer.find("\"format\": 3"), 11, "\"format\": 6");
  std::ofstream(path) << newer;
  EXPECT_THAT(refusal(setup, 3), HasSubstr("is format 6, this runtime reads formats 3 to 5"));
  fs::remove(path);
  EXPECT_THAT(refusal(setup, 3), HasSubstr("is not an artifact: it has no manifest.json"));
  EXPECT_EQ(accumRun("/nonexistent.accum --steps 1 --synthetic").code, 3);
}

TEST(BadArtifact, OtherInterfaceProcessorTargetOrProgram) {
  Scene setup;
  editManifest(setup.artifact, [](Manifest &manifest) { manifest.abi = ACCUM_ABI_VERSION + 1; });
  EXPECT_THAT(refusal(setup, 3),
              HasSubstr("was compiled by toy 1 for program interface 8, this runtime has 7"));
  ToyOptions options;
  options.config.abi = 8;
  EXPECT_THAT(refusal(Scene(options), 3), HasSubstr("program.so: has program interface 8, expected 7"));
  options = {};
  options.cpuFeatures = {"sse2", "avx1024-turbo"};
  EXPECT_THAT(refusal(Scene(options), 3),
              HasSubstr("was compiled for a processor with avx1024-turbo, which this one lacks"));
  Scene other;
  editManifest(other.artifact, [](Manifest &manifest) { manifest.m = 3; });
  EXPECT_THAT(refusal(other, 3), HasSubstr("does not belong to the manifest beside it"));
  Scene cuda;
  editManifest(cuda.artifact, [](Manifest &manifest) { manifest.target = "h100"; });
  EXPECT_THAT(refusal(cuda, 2), HasSubstr("is for target h100, this runtime runs host, cuda and sim"));
}

TEST(BadArtifact, ParametersThatDoNotMatch) {
  Scene setup;
  editManifest(setup.artifact, [](Manifest &manifest) { manifest.params[3].shape = {2}; });
  EXPECT_THAT(refusal(setup, 3), HasSubstr("parameter `scale` has shape [1], expected [2]"));
  editManifest(setup.artifact, [](Manifest &manifest) { manifest.params[3].onnxName = "other"; });
  EXPECT_THAT(refusal(setup, 3), HasSubstr("parameter `other` is missing"));
}

/// A NUL ends what C prints, an escape steers terminals: `a\0b` with a bell.
const std::string &strangeName() {
  static const std::string name("a\0b\a", 4);
  return name;
}

TEST(BadArtifact, NamesThatAreNoTextAreShownAsSuch) {
  Scene setup;
  editManifest(setup.artifact, [](Manifest &manifest) { manifest.params[3].onnxName = strangeName(); });
  EXPECT_THAT(refusal(setup, 3), HasSubstr("parameter `a\\x00b\\x07` is missing [bad-artifact]\n"));
  editManifest(setup.artifact, [](Manifest &manifest) {
    for (PhaseSpec &phase : manifest.phases)
      std::ranges::replace(phase.inputs, manifest.inputs[0].name, strangeName());
    manifest.inputs[0].name = strangeName();
  });
  EXPECT_THAT(accumRun(setup.artifact + " --describe").out,
              AllOf(HasSubstr("  a\\x00b\\x07"), HasSubstr("model hash")));
}

TEST(BadUse, Options) {
  Scene setup;
  for (const char *words :
       {"--bogus", "--on-nan maybe", "--names both", "--threads 0", "--threads 1025", "--lr -1", "--lr x",
        "--momentum 0.9", "--beta1 0.5", "--eps 1e-9", "--decay all", "--lr-scale w", "--lr-scale w=-1",
        "--lr-scale nothing*=2", "--weight-decay 0.1 --decay nothing*", "--synthetic", "--print-param nobody",
        "--save ''", "--log ''"})
    EXPECT_EQ(refusal(setup, 2, words).substr(0, 7), "error: ") << words;
  EXPECT_THAT(accumRun(setup.artifact + " --data " + setup.data).err,
              HasSubstr("one of --steps and --epochs is required"));
  for (const char *rate : {"nan", "-nan", "x", "0.1x", "-1", "inf"}) // NaN would be taken for "not given"
    EXPECT_EQ(accumRun(setup.artifact + " --synthetic --steps 1 --lr " + rate).code, 2) << rate;
  for (const char *steps : {"-1", "x", "1.5", "99999999999999999999"})
    EXPECT_EQ(accumRun(setup.artifact + " --synthetic --steps " + steps).code, 2) << steps;
  EXPECT_EQ(accumRun(setup.artifact + " --steps 1").code, 2);
  EXPECT_THAT(refusal(setup, 2, "--save x.safetensors --dump-gradients ./x.safetensors"),
              HasSubstr("--save and --dump-gradients name the same file [usage]"));
  EXPECT_EQ(accumRun("--steps 1 --synthetic").code, 2);
}

TEST(BadUse, VerifyDrawsItsOwnDataAndTrainsNothing) {
  EXPECT_EQ(accumRun("toy.accum --verify --steps 1").code, 2);
  EXPECT_EQ(accumRun("toy.accum --verify --data x.npz --synthetic").code, 2);
}
