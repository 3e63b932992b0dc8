// SPDX-License-Identifier: Apache-2.0
// What a run leaves behind: weights, backups, prints, logs; and what it leaves when it cannot write or is
// stopped.
#include "runtime/files/Array.h"
#include "runtime/files/Convert.h"
#include "runtime/files/File.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
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

struct Scene {
  std::string folder = freshFolder("saving"), artifact, data;
  explicit Scene(const ToyOptions &options = {})
      : artifact(writeToyArtifact(folder, options)), data(writeToyData(folder, makeToyData(10))) {}

  std::string words(const std::string &more) const {
    return artifact + " --no-shuffle --lr 0.125 --data " + data + " " + more;
  }
};

double firstOf(const std::string &path, const std::string &name) {
  auto arrays = readSafetensors(path);
  EXPECT_TRUE(arrays);
  for (const Array &array : *arrays)
    if (array.name == name)
      return asDouble(array.data, array.dtype, 0);
  return NAN;
}

/// Lines of `text` with the words after `prefix`.
std::vector<std::string> linesWith(const std::string &text, const std::string &prefix) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    if (line.rfind(prefix, 0) == 0)
      lines.push_back(line.substr(line.rfind(' ') + 1));
    at = end + 1;
  }
  return lines;
}

} // namespace

TEST(Saving, DefaultsBesideTheArtifactAndKeepsTheOldOne) {
  Scene setup;
  std::string path = setup.folder + "/toy.trained.safetensors";
  ASSERT_EQ(accumRun(setup.words("--steps 1")).code, 0);
  double one = firstOf(path, "b");
  ASSERT_EQ(accumRun(setup.words("--steps 2")).code, 0);
  EXPECT_EQ(firstOf(path + ".1", "b"), one);
  EXPECT_NE(firstOf(path, "b"), one);
  for (const auto &entry : fs::directory_iterator(setup.folder))
    EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
}

TEST(Saving, ZeroStepsSaveTheInitialParametersInTheFilesDtype) {
  ToyOptions options;
  options.isDouble = false;
  Scene setup(options);
  std::string path = setup.folder + "/out.safetensors";
  ASSERT_EQ(accumRun(setup.artifact + " --steps 0 --save " + path).code, 0);
  auto arrays = readSafetensors(path);
  ASSERT_TRUE(arrays);
  EXPECT_EQ(arrays->size(), 4u); // w, its transposed copy, e, b
  for (const Array &array : *arrays)
    EXPECT_EQ(array.dtype, ACCUM_F32);
  EXPECT_EQ(firstOf(path, "w"), -0.5);
}

TEST(Saving, RandomParametersComeFromTheSeed) {
  Scene setup;
  std::string path = setup.folder + "/out.safetensors", words = setup.artifact + " --steps 0 --save " + path;
  ASSERT_EQ(accumRun(words + " --random-params 1").code, 0);
  double one = firstOf(path, "w");
  ASSERT_EQ(accumRun(words + " --random-params 1").code, 0);
  EXPECT_EQ(firstOf(path, "w"), one);
  ASSERT_EQ(accumRun(words + " --random-params 2").code, 0);
  EXPECT_NE(firstOf(path, "w"), one);
}

TEST(Saving, PrintParamShowsOneChangeAtTheEnd) {
  ToyOptions options{.batch = 8, .m = 2};
  Scene setup(options);
  Outcome outcome = accumRun(setup.words("--steps 1 --print-param b:3"));
  std::vector<std::string> values = linesWith(outcome.out, "step 1 micro-step");
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values[0], "0.5");
  EXPECT_EQ(values[1], values[0]);
  EXPECT_EQ(values[2], values[0]);
  EXPECT_NE(values[3], values[0]);
  EXPECT_EQ(std::stod(values[3]), firstOf(setup.folder + "/toy.trained.safetensors", "b"));
}

TEST(Saving, DiskFullLeavesWhatWasThere) {
  Scene setup;
  std::string path = setup.folder + "/toy.trained.safetensors";
  ASSERT_EQ(accumRun(setup.words("--steps 1")).code, 0);
  std::string before = *readText(path, 1 << 20);
  // A file-size limit stands for a full disk; without the trap its signal would end the process.
  Outcome outcome =
      runCommand("bash -c \"trap '' XFSZ; ulimit -f 0; " ACCUM_RUN " " + setup.words("--steps 2") + "\"");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(*readText(path, 1 << 20), before);
  EXPECT_FALSE(fs::exists(path + ".1"));
  for (const auto &entry : fs::directory_iterator(setup.folder))
    EXPECT_EQ(entry.path().string().find(".tmp."), std::string::npos) << entry.path();
  outcome = accumRun(setup.words("--steps 1 --save /dev/full/x"));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(accumRun(setup.words("--steps 1 --save /nonexistent/x.safetensors")).code, 3);
}

TEST(Saving, NothingElseThatFailsCostsTheWeights) {
  for (const std::string &flag : {"--dump-gradients", "--profile"}) {
    ToyOptions options;
    options.config.stepMilliseconds = 50;
    Scene setup(options);
    std::string gone = setup.folder + "/gone", log = setup.folder + "/log.jsonl";
    fs::create_directory(gone);
    Outcome outcome = runCommand(
        ACCUM_RUN " " + setup.words("--steps 100000 --log " + log + " " + flag + " " + gone + "/x") +
        " & p=$!; until test -s " + log + "; do sleep 0.1; done; rmdir " + gone + "; kill -TERM $p; wait $p");
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("gone/x: cannot be written"));
    EXPECT_TRUE(std::isfinite(firstOf(setup.folder + "/toy.trained.safetensors", "b")));
  }
}

TEST(Saving, APlaceThatIsGoneIsReplaced) {
  ToyOptions options;
  options.config.stepMilliseconds = 50;
  Scene setup(options);
  std::string gone = setup.folder + "/gone", log = setup.folder + "/log.jsonl",
              spare = setup.folder + "/spare";
  fs::create_directory(gone);
  fs::create_directory(spare);
  Outcome outcome = runCommand(
      "TMPDIR=" + spare + " " ACCUM_RUN " " +
      setup.words("--steps 100000 --log " + log + " --save " + gone + "/x.safetensors") +
      " & p=$!; until test -s " + log + "; do sleep 0.1; done; rmdir " + gone + "; kill -TERM $p; wait $p");
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("gone/x.safetensors: cannot be written"));
  ASSERT_THAT(outcome.err, HasSubstr("note: the weights are in " + spare));
  std::string found;
  for (const auto &entry : fs::directory_iterator(spare))
    if (entry.path().extension() == ".safetensors")
      found = entry.path();
  EXPECT_TRUE(std::isfinite(firstOf(found, "b")));
}

/// Whatever ends a save between its two renames: nothing was changed at that path.
TEST(Saving, TheOldFileStaysUntilTheNewOneIsThere) {
  std::string folder = freshFolder("saving-twice"), path = folder + "/weights";
  auto write = [&](const std::string &text) {
    auto writer = FileWriter::create(path);
    EXPECT_TRUE(writer && (*writer)->write(text.data(), text.size()));
    return writer ? std::move(*writer) : nullptr;
  };
  ASSERT_TRUE(write("one")->commit(/*keepOld=*/true));
  auto writer = write("two");
  for (const auto &entry : fs::directory_iterator(folder))
    if (entry.path().string().find(".tmp.") != std::string::npos)
      fs::remove(entry.path());
  EXPECT_FALSE(writer->commit(/*keepOld=*/true));
  EXPECT_EQ(*readText(path, 100), "one");
  ASSERT_TRUE(write("three")->commit(/*keepOld=*/true));
  EXPECT_EQ(*readText(path, 100), "three");
  EXPECT_EQ(*readText(path + ".1", 100), "one");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 2);
}

TEST(Saving, FoldersAndDevicesAreNoFiles) {
  Scene setup;
  std::string folder = setup.folder + "/mine", link = setup.folder + "/link";
  fs::create_directory(folder);
  fs::create_symlink("/dev/null", link);
  for (const std::string &flag : {"--save", "--dump-gradients"}) {
    Outcome outcome = accumRun(setup.words("--steps 1 " + flag + " " + folder));
    EXPECT_EQ(outcome.code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("mine: cannot be written: it is a folder [unwritable]"));
    outcome = accumRun(setup.words("--steps 1 " + flag + " " + link));
    EXPECT_EQ(outcome.code, 3);
    EXPECT_THAT(outcome.err, HasSubstr("link: cannot be written: it is no regular file [unwritable]"));
  }
  EXPECT_TRUE(fs::is_directory(folder));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(fs::exists(folder + ".1"));
}

TEST(Saving, NaNStopsWithTheLastGoodWeights) {
  ToyOptions options;
  options.config.nanStep = 2;
  Scene setup(options);
  std::string path = setup.folder + "/toy.trained.safetensors";
  Outcome outcome = accumRun(setup.words("--steps 5"));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("error: step 3: the loss or a gradient is not finite [nan]"));
  ToyRun run{.steps = 2};
  run.hyper.lr = 0.125;
  EXPECT_NEAR(firstOf(path, "b"), trainReference(options, makeToyData(10), run).b, 1e-12);
}

TEST(Saving, NaNSkipLeavesTheStepOut) {
  ToyOptions options;
  options.config.nanStep = 1;
  Scene setup(options);
  Outcome outcome = accumRun(setup.words("--steps 3 --on-nan skip"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("1 skipped, not finite"));
  // Steps 1 and 3 see the epoch's first window (10 samples, 2 windows of 5), so they equal two steps of one
  // window.
  ToyRun run{.steps = 2};
  run.hyper.lr = 0.125;
  ToyData all = makeToyData(10), half = all;
  half.samples = 5;
  EXPECT_NEAR(firstOf(setup.folder + "/toy.trained.safetensors", "b"), trainReference(options, half, run).b,
              1e-12);
}

TEST(Saving, AFailingCommandNamesItsNode) {
  ToyOptions options;
  options.config.failKernel = 1;
  Scene setup(options);
  Outcome outcome = accumRun(setup.words("--steps 1"));
  EXPECT_EQ(outcome.code, 70);
  EXPECT_THAT(outcome.err, HasSubstr("command 2 @residual: the program launches kernel 99 of 9"));
  EXPECT_THAT(outcome.err, HasSubstr("note: it computes `/loss/Sub`"));
}

TEST(Saving, ASignalFinishesTheStepAndSaves) {
  for (int64_t devices : {1, 3}) {
    ToyOptions options{.batch = 6, .devices = devices, .m = 2};
    options.config.stepMilliseconds = 50;
    Scene setup(options);
    std::string log = setup.folder + "/log.jsonl";
    Outcome outcome =
        runCommand(ACCUM_RUN " " + setup.words("--steps 100000 --log " + log) + " & p=$!; until test -s " +
                   log + "; do sleep 0.1; done; kill -TERM $p; wait $p");
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_TRUE(std::isfinite(firstOf(setup.folder + "/toy.trained.safetensors", "b")));
    EXPECT_GT(fs::file_size(log), 100u);
  }
}

TEST(Saving, AFullDiskEndsTheLogAndNotTheTraining) {
  Scene setup;
  auto run = accumRun(setup.words("--steps 2 --log /dev/full"));
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, HasSubstr("note: step 1: --log cannot be written: No space left on device"));
  EXPECT_EQ(run.err.find("step 2"), std::string::npos) << "told once";
  EXPECT_TRUE(fs::exists(setup.folder + "/toy.trained.safetensors"));
}

TEST(Saving, AReaderWhoLeavesEndsTheLogAndNotTheTraining) {
  Scene scene;
  std::string saved = scene.folder + "/w.safetensors", code = scene.folder + "/code";
  // A pipe holds 64 KiB, and each step writes some 300 bytes.
  Outcome outcome = runCommand("(" ACCUM_RUN " " + scene.words("--steps 500 --log - --save " + saved) +
                               "; echo $? > " + code + ") | true; cat " + code);
  EXPECT_EQ(outcome.out, "0\n");
  EXPECT_THAT(outcome.err, HasSubstr("--log cannot be written: Broken pipe; training goes on without it"));
  EXPECT_TRUE(fs::exists(saved));
}

TEST(Saving, ATextThatNobodyGetsIsAnError) {
  Scene scene;
  EXPECT_EQ(runCommand(ACCUM_RUN " " + scene.artifact + " --describe > /dev/full").code, kExitFile);
}
