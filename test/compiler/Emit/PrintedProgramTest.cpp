// SPDX-License-Identifier: Apache-2.0
// A real model's program.cpp, compiled by the system's compiler, trains the weights that program.so trains,
// bit for bit.
#include "runtime/artifact/Manifest.h"
#include "runtime/files/File.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace accum::test;

namespace {

std::string contents(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Trains three steps of AdamW and returns the bytes of the weights.
std::string train(const std::string &folder, const std::string &model, const std::string &saved) {
  Outcome run = accumRun(folder + "/model.accum --data " ACCUM_SOURCE_DIR "/test/models/" + model +
                         ".data.safetensors --steps 3 --lr 0.001 --save " + saved);
  EXPECT_EQ(run.code, 0) << run.err;
  return contents(saved);
}

/// The manifest takes the file as it is now.
void listAgain(const std::string &artifact, const std::string &name) {
  std::string path = artifact + "/manifest.json", file = artifact + "/" + name;
  auto manifest = accum::runtime::parseManifest(contents(path), path);
  ASSERT_TRUE(manifest);
  for (accum::runtime::FileSpec &spec : manifest->files)
    if (spec.name == name)
      spec = {name, contents(file).size(), *accum::runtime::hashFile(file)};
  std::ofstream(path) << accum::runtime::toJson(*manifest);
}

struct Printed {
  const char *name, *model, *flags;
};

struct PrintedProgramTest : testing::TestWithParam<Printed> {};

TEST_P(PrintedProgramTest, TrainsTheSameBits) {
  std::string model = GetParam().model, folder = freshFolder(std::string("printed-") + GetParam().name),
              artifact = folder + "/model.accum";
  Outcome compiled = runCommand(ACCUMC " " ACCUM_SOURCE_DIR "/test/models/" + model +
                                ".onnx --batch 7 --micro-batch 3 " + GetParam().flags + " -o " + artifact);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  std::string native = train(folder, model, folder + "/native.safetensors");
  std::string code = contents(artifact + "/program.so");
  Outcome build =
      runCommand("c++ -std=c++20 -Wall -Wextra -Werror -O1 -fPIC -shared -I " ACCUM_SOURCE_DIR "/runtime " +
                 artifact + "/program.cpp -o " + artifact + "/program.so");
  ASSERT_EQ(build.code, 0) << build.err;
  ASSERT_NE(contents(artifact + "/program.so"), code);
  listAgain(artifact, "program.so");
  std::string printed = train(folder, model, folder + "/printed.safetensors");
  EXPECT_FALSE(native.empty());
  EXPECT_TRUE(native == printed);
}

INSTANTIATE_TEST_SUITE_P(Models, PrintedProgramTest,
                         testing::Values(Printed{"Gpt2", "gpt2-dynamo", ""},
                                         Printed{"Llama", "llama-torchscript", ""},
                                         Printed{"Bf16", "gpt2-dynamo", "--precision bf16"},
                                         Printed{"Dropout", "bert-mlm-dynamo-train", "--recompute all"},
                                         Printed{"Resnet", "resnet-torchscript-frozen", "--precision bf16"}),
                         [](const auto &test) { return std::string(test.param.name); });

} // namespace
