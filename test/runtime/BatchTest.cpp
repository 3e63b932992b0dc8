// SPDX-License-Identifier: Apache-2.0
// Batches that change during a run, other numbers of devices than the artifact's, and the best weights of a
// run: against one plain full-batch loop, and bit for bit against runs that were made otherwise.
#include "runtime/files/File.h"
#include "runtime/host/HostDevice.h"
#include "runtime/system/Memory.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyTraining.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kSamples = 13;

std::string bytesOfFile(const std::string &path) {
  auto text = readText(path, 1 << 20);
  return text ? *text : "";
}

void trainAndCompare(const std::string &name, const ToyOptions &options, ToyRun run,
                     const std::string &more) {
  SCOPED_TRACE(name);
  run.hyper.lr = 0.125;
  ToyData data = makeToyData(kSamples);
  ToyFiles files = prepareToy(name, options, data, run);
  Outcome outcome = accumRun(files.words + more);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expectEqualsReference(files, trainReference(options, data, run), 1e-12);
}

/// A run of `steps` in a folder of its own, which other runs may share.
struct Job {
  Job(const std::string &name, int64_t batch, uint64_t steps, const std::vector<BatchChange> &batches = {})
      : files(prepareToy(name, {.batch = batch, .m = 2, .optimizer = "adamw", .isDouble = false},
                         makeToyData(kSamples),
                         {.steps = steps, .shuffle = true, .seed = 4, .batches = batches})) {}
  Outcome run(const std::string &more = "") const { return accumRun(files.words + " " + more); }
  std::string weights() const { return bytesOfFile(files.saved); }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream log(files.log);
    for (std::string line; std::getline(log, line);)
      all.push_back(nlohmann::json::parse(line));
    return all;
  }
  ToyFiles files;
};

const std::vector<BatchChange> kRamp = {{0, 3}, {4, 5}, {7, 2}};

} // namespace

TEST(BatchSchedule, EqualsFullBatchesOfTheirSizes) {
  for (int64_t m : {1, 2, 4}) // 4 is more than some batches
    trainAndCompare("ramp-m" + std::to_string(m), {.batch = 4, .m = m}, {.steps = 12, .batches = kRamp}, "");
  trainAndCompare("ramp-d3", {.batch = 4, .devices = 3, .m = 1},
                  {.steps = 9, .shuffle = true, .seed = 2, .batches = kRamp}, "");
  trainAndCompare("ramp-drop", {.batch = 4, .m = 2},
                  {.steps = 12, .shuffle = true, .dropLast = true, .seed = 2, .batches = kRamp}, "");
}

TEST(BatchSchedule, HasTheBitsOfARunThatWentOnWithAnotherBatch) {
  Job straight("ramp-straight", 5, 9, {{0, 3}, {4, 5}}), first("ramp-first", 3, 4),
      second("ramp-second", 5, 9);
  ASSERT_EQ(straight.run().code, 0);
  std::string root = fs::path(first.files.saved).parent_path() / "checkpoints";
  ASSERT_EQ(first.run("--checkpoint " + root).code, 0);
  Outcome refused = second.run("--resume " + root);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("was made with a batch of 3, not 5 [other-checkpoint]\n"
                                     "note: --batch-schedule 0:3,4:5 goes on with another batch"));
  Outcome resumed = second.run("--resume " + root + " --batch-schedule 0:3,4:5");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("at step 4"));
  EXPECT_FALSE(straight.weights().empty());
  EXPECT_EQ(second.weights(), straight.weights());
  // What a schedule says of later steps is free; of the steps that were made it is not.
  EXPECT_EQ(second.run("--resume " + root + " --batch-schedule 0:3,6:4").code, 0);
  EXPECT_NE(second.weights(), straight.weights());
  EXPECT_THAT(second.run("--resume " + root + " --batch-schedule 0:3,2:5").err,
              HasSubstr("was made with batches of 0:3, not 0:3,2:5 [other-checkpoint]"));
}

TEST(BatchSchedule, EpochsEndWhereTheirSamplesDo) {
  Job job("ramp-epochs", 4, 0, kRamp);
  std::string words = job.files.words;
  words.replace(words.find("--steps 0"), 9, "--epochs 3");
  words.replace(words.find("--dump-gradients"), 16, "--profile");
  ASSERT_EQ(accumRun(words).code, 0);
  // 3 3 3 3 1 | 5 5 2 1 | 2 2 2 2 2 2 1
  std::vector<int64_t> samples;
  for (const nlohmann::json &line : job.lines())
    samples.push_back(line["samples"]);
  EXPECT_THAT(samples, testing::ElementsAre(3, 3, 3, 3, 1, 5, 5, 2, 1, 2, 2, 2, 2, 2, 2, 1));
}

TEST(BatchSchedule, RefusesWhatIsNone) {
  Job job("ramp-bad", 4, 1);
  auto refused = [&](const std::string &schedule) {
    Outcome outcome = job.run("--batch-schedule '" + schedule + "'");
    EXPECT_EQ(outcome.code, 2) << schedule;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(refused("1:4"), HasSubstr("a schedule of batches says the batch of step 0 first [usage]"));
  EXPECT_THAT(refused("0:4,5:2,5:3"), HasSubstr("has step 5 behind step 5, expected ascending steps"));
  EXPECT_THAT(refused("0:4,5:2,3:3"), HasSubstr("has step 3 behind step 5, expected ascending steps"));
  EXPECT_THAT(refused("0:0"), HasSubstr("has a batch of 0 at step 0"));
  EXPECT_THAT(refused("0:1000000000000000"), HasSubstr("which is more micro-steps than can be counted"));
  for (const char *text :
       {"64", "0:", ":4", "0:4,", "0:4;5:2", "0:-4", "0:4,5", "0:99999999999999999999", ""})
    EXPECT_THAT(refused(text), HasSubstr("is not STEP:BATCH,... like 0:64,1000:256"));
  Outcome large = job.run("--batch-schedule 0:4,5:14");
  EXPECT_EQ(large.code, 3);
  EXPECT_THAT(large.err, HasSubstr("holds 13 samples, expected at least one global batch of 14"));
}

TEST(Devices, EveryNumberEqualsFullBatches) {
  for (int64_t compiled : {1, 3})
    for (int devices : {1, 2, 4})
      trainAndCompare("d" + std::to_string(compiled) + "as" + std::to_string(devices),
                      {.batch = 5, .devices = compiled, .m = 2},
                      {.steps = 5, .shuffle = true, .seed = 8, .batches = {{0, 5}, {2, 7}}},
                      " --devices " + std::to_string(devices));
}

TEST(Devices, TheWorldDecidesUnderALauncher) {
  Job job("world", 5, 3);
  Outcome outcome =
      runCommand("mpirun -q -n 2 --oversubscribe --allow-run-as-root " ACCUM_RUN " " + job.files.words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("note: compiled for 1 device, runs on 2: micro-steps of 2 as before"));
  EXPECT_EQ(job.lines().front()["micro_steps"], 2); // 3 and 2 of the 5 samples
  EXPECT_THAT(job.run("--devices 0").err, HasSubstr("`0` is not a whole number from 1"));
}

/// None of them has allocated when they ask.
TEST(Devices, ProcessesOfAMachineShareItsMemory) {
  HostDevice device;
  uint64_t third = availableMemory() / 3;
  EXPECT_TRUE(device.requireRoom(third, 2));
  Status status = device.requireRoom(third, 4);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().exitCode, 4);
  EXPECT_EQ(status.error().slug, "out-of-memory");
  EXPECT_THAT(status.error().message, HasSubstr("4 processes with an arena of "));
  EXPECT_FALSE(device.requireRoom(UINT64_MAX, 2));
}

TEST(Best, KeepsTheWeightsOfTheLowestLoss) {
  Job job("best", 5, 12);
  fs::path folder = fs::path(job.files.saved).parent_path();
  fs::create_directory(folder / "eval");
  std::string best = folder / "best.safetensors", root = folder / "checkpoints";
  // Data of another distribution: its loss falls for some steps, and rises then.
  ToyData other = makeToyData(9);
  for (double &target : other.t)
    target = -target / 4;
  std::string words = "--eval " + writeToyData(folder / "eval", other) + " --eval-every 1 --best " + best +
                      " --checkpoint " + root + " --checkpoint-every 1 ";
  ASSERT_EQ(job.run(words).code, 0);
  uint64_t step = 0;
  double lowest = HUGE_VAL;
  for (const nlohmann::json &line : job.lines())
    if (line.contains("eval_loss") && line["eval_loss"] < lowest) {
      lowest = line["eval_loss"];
      step = line["step"];
    }
  ASSERT_GT(step, 1u);
  ASSERT_LT(step, 12u);
  std::string kept = bytesOfFile(best), last = job.weights();
  EXPECT_NE(kept, last);
  Job shorter("best-shorter", 5, step);
  ASSERT_EQ(shorter.run().code, 0);
  EXPECT_EQ(kept, shorter.weights());
  // A run that goes on behind the best step knows how low it was.
  fs::remove(best);
  for (uint64_t later = step + 1; later <= 12; ++later)
    fs::remove_all(root + "/step-000000" + (later < 10 ? "0" : "") + std::to_string(later));
  Outcome resumed = job.run(words + "--resume auto");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(job.weights(), last);
  EXPECT_FALSE(fs::exists(best));
}

TEST(Best, NeedsAnEvaluationAndAPlace) {
  Job job("best-bad", 5, 2);
  EXPECT_THAT(job.run("--best x.safetensors").err, HasSubstr("--best needs --eval PATH"));
  fs::path folder = fs::path(job.files.saved).parent_path();
  std::string data = folder / "data.safetensors";
  Outcome nowhere = job.run("--eval " + data + " --best " + (folder / "gone" / "b.safetensors").string());
  EXPECT_EQ(nowhere.code, 3);
  EXPECT_EQ(nowhere.out, ""); // before the first step
  EXPECT_THAT(job.run("--eval " + data + " --best " + job.files.saved).err, HasSubstr("name the same file"));
}
