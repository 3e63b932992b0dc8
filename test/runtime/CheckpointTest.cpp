// SPDX-License-Identifier: Apache-2.0
// Runs that were interrupted, and go on: the same bits as a run that was not.
#include "runtime/files/File.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyJob.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// Everything that a later step depends on.
const char *kEverything = "--schedule cosine --warmup 3 --clip-norm 0.5 --skip-spikes 5";

/// The loss of each step of the log, which has every step once.
std::vector<double> losses(const std::string &path) {
  std::ifstream log(path);
  std::vector<double> all;
  for (std::string line; std::getline(log, line);) {
    auto entry = nlohmann::json::parse(line);
    EXPECT_EQ(entry["step"], all.size() + 1);
    all.push_back(entry["loss"]);
  }
  return all;
}

} // namespace

TEST(Checkpoint, AnySplitHasTheBitsOfARunStraight) {
  for (const char *optimizer : {"sgd-momentum", "adamw"})
    for (int64_t devices : {1, 2}) {
      SCOPED_TRACE(optimizer);
      ToyOptions options{.batch = 5, .devices = devices, .m = 2, .optimizer = optimizer, .isDouble = false};
      // The schedule is that of 14 steps in all runs.
      ToyJob straight("straight", options, 14, kEverything);
      ASSERT_EQ(accumRun(straight.words).code, 0);
      std::vector<double> expected = losses(straight.files.log);
      ToyJob split("split", options, 14, kEverything);
      Outcome first =
          accumRun(split.words + " --checkpoint " + split.root + " --checkpoint-every 3 --stop-at-loss 1e9");
      ASSERT_EQ(first.code, kExitStopped) << first.err;
      EXPECT_THAT(first.err, HasSubstr("--resume auto"));
      for (int part = 0; part < 3; ++part)
        ASSERT_EQ(
            accumRun(split.words + " --checkpoint " + split.root + " --resume auto --stop-at-loss 1e9").code,
            kExitStopped);
      Outcome last = accumRun(split.words + " --checkpoint " + split.root + " --resume auto");
      ASSERT_EQ(last.code, 0) << last.err;
      EXPECT_THAT(last.out, HasSubstr("resumed  " + split.root + " at step 4"));
      EXPECT_EQ(split.weights(), straight.weights());
      EXPECT_EQ(losses(split.files.log), expected);
    }
}

/// Killed at any moment, writes included, a run goes on from a whole checkpoint.
TEST(Checkpoint, SurvivesKills) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw", .isDouble = false};
  ToyJob straight("kill-straight", options, 120, kEverything);
  ASSERT_EQ(accumRun(straight.words).code, 0);
  ToyJob killed("kill", options, 120, kEverything);
  std::string words = killed.words + " --checkpoint " + killed.root +
                      " --checkpoint-every 1 --checkpoint-keep 2 --resume auto";
  std::mt19937 random(4);
  int kills = 0;
  for (int round = 0; round < 10; ++round) {
    // The first one comes before any machine could be done.
    double seconds = round == 0 ? 0.005 : 0.01 + 0.001 * static_cast<double>(random() % 120);
    Outcome outcome = runCommand("timeout -s KILL " + std::to_string(seconds) + " " ACCUM_RUN " " + words);
    kills += outcome.code == 137 ? 1 : 0;
    ASSERT_TRUE(outcome.code == 137 || outcome.code == 0) << outcome.code << outcome.err;
  }
  EXPECT_GT(kills, 0);
  Outcome last = accumRun(words);
  ASSERT_EQ(last.code, 0) << last.err;
  EXPECT_EQ(killed.weights(), straight.weights());
  EXPECT_EQ(losses(killed.files.log), losses(straight.files.log));
  EXPECT_THAT(killed.names(), testing::ElementsAre(".lock", "step-00000119", "step-00000120"));
}

TEST(Checkpoint, RefusesWhatDoesNotFit) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  ToyJob run("other", options, 4);
  ASSERT_EQ(accumRun(run.words + " --checkpoint " + run.root).code, 0);
  std::string resume = " --resume " + run.root;
  auto expectOther = [&](const std::string &words, const char *what) {
    Outcome outcome = accumRun(words + resume);
    EXPECT_EQ(outcome.code, kExitUsage) << what;
    EXPECT_THAT(outcome.err, HasSubstr(std::string("was made with ") + what));
    EXPECT_THAT(outcome.err, HasSubstr("--resume-weights-only"));
  };
  expectOther(ToyJob::replaced(run.words, "--seed 9", "--seed 8"), "--seed 9, not 8");
  expectOther(run.words + " --no-shuffle", "shuffled data");
  std::string elsewhere = run.files.artifact.substr(0, run.files.artifact.rfind('/'));
  fs::copy_file(elsewhere + "/data.safetensors", elsewhere + "/renamed.safetensors");
  expectOther(ToyJob::replaced(run.words, "data.safetensors", "renamed.safetensors"),
              "data in files of other names or sizes");
  expectOther(ToyJob("other-batch", {.batch = 4, .m = 2, .optimizer = "adamw"}, 4).words,
              "a batch of 5, not 4");
  expectOther(run.words + " --lr-scale b=0.5", "other groups");
  expectOther(run.words + " --weight-decay 0.5", "other groups");
  expectOther(ToyJob("other-sgd", {.batch = 5, .m = 2}, 4).words, "optimizer adamw, not sgd");
  Outcome weights =
      accumRun(ToyJob("weights", {.batch = 5, .m = 2}, 0).words + resume + " --resume-weights-only");
  EXPECT_EQ(weights.code, 0) << weights.err;
  EXPECT_THAT(weights.out, HasSubstr("at step 0"));
  // Another micro-batch and another number of devices are the same samples in the same order.
  EXPECT_EQ(
      accumRun(ToyJob("other-m", {.batch = 5, .devices = 2, .m = 1, .optimizer = "adamw"}, 6).words + resume)
          .code,
      0);
}

TEST(Checkpoint, ReachedStepsAreNotMadeAgain) {
  ToyOptions options{.batch = 5, .m = 2};
  ToyJob run("reached", options, 4);
  ASSERT_EQ(accumRun(run.words + " --checkpoint " + run.root).code, 0);
  std::string weights = run.weights();
  Outcome again = accumRun(run.words + " --checkpoint " + run.root + " --resume auto");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("steps    0 of 5 samples"));
  EXPECT_EQ(run.weights(), weights);
}

TEST(Checkpoint, StartsAfreshOnlyWhereItIsToldTo) {
  ToyOptions options{.batch = 5, .m = 2};
  ToyJob run("fresh", options, 2);
  Outcome fresh = accumRun(run.words + " --checkpoint " + run.root + " --resume auto");
  EXPECT_EQ(fresh.code, 0);
  EXPECT_THAT(fresh.err, HasSubstr("holds no checkpoint: a fresh start"));
  Outcome named = accumRun(run.words + " --resume " + run.root + "-not-there");
  EXPECT_EQ(named.code, kExitFile);
  EXPECT_THAT(named.err, HasSubstr("holds no checkpoint [missing-file]"));
  for (const char *flags :
       {"--checkpoint-every 5", "--checkpoint-keep 2", "--resume auto", "--resume-weights-only",
        "--checkpoint x --checkpoint-every 0", "--checkpoint x --checkpoint-every soon"})
    EXPECT_EQ(accumRun(run.words + " " + flags).code, kExitUsage) << flags;
}

TEST(Checkpoint, AFolderHasOneRun) {
  ToyOptions options{.batch = 5, .m = 2};
  ToyJob run("locked", options, 2);
  fs::create_directories(run.root);
  Outcome outcome =
      runCommand("flock " + run.root + "/.lock " ACCUM_RUN " " + run.words + " --checkpoint " + run.root);
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("another run writes its checkpoints there [checkpoint-in-use]"));
}

/// What else is in the folder stays, whatever it is called.
TEST(Checkpoint, AFolderMayHoldOtherThings) {
  ToyOptions options{.batch = 5, .m = 2};
  ToyJob run("mixed", options, 6, "--checkpoint-every 1 --checkpoint-keep 1");
  for (const char *name : {"step-00000002", "step-00000900", "step-1", "step-abc", ".writing-mine", "data"}) {
    fs::create_directories(run.root + "/" + name);
    std::ofstream(run.root + "/" + name + "/notes.txt") << "mine";
  }
  fs::create_directories(run.root + "/.writing-step-00000003"); // a killed run's
  std::ofstream(run.root + "/step-00000004") << "a file";
  Outcome outcome = accumRun(run.words + " --resume auto --checkpoint " + run.root);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("step-00000002: cannot be written: something else has that name"));
  EXPECT_THAT(outcome.err, HasSubstr("note: step 4 has no checkpoint; training goes on"));
  EXPECT_THAT(run.names(),
              testing::ElementsAre(".lock", ".writing-mine", "data", "step-00000002", "step-00000004",
                                   "step-00000006", "step-00000900", "step-1", "step-abc"));
  EXPECT_EQ(*readText(run.root + "/step-00000900/notes.txt", 10), "mine");
  Outcome described = accumRun(run.root + " --describe");
  EXPECT_THAT(described.out, HasSubstr("whole"));
  EXPECT_THAT(described.out, testing::Not(HasSubstr("damaged")));
}

/// They would be taken for this run's, and --checkpoint-keep would keep them instead of its own.
TEST(Checkpoint, NewerOnesOfAnotherRunAreNoPlaceToBegin) {
  ToyOptions options{.batch = 5, .m = 2};
  ToyJob run("newer", options, 4, "--checkpoint-every 2");
  std::string words = run.words + " --checkpoint " + run.root;
  ASSERT_EQ(accumRun(words).code, 0);
  std::vector<std::string> before = run.names();
  std::string older = " --resume " + run.root + "/step-00000002";
  for (const std::string &more :
       {std::string(), older, std::string(" --resume auto --resume-weights-only")}) {
    Outcome outcome = accumRun(words + more);
    EXPECT_EQ(outcome.code, kExitUsage) << more;
    EXPECT_THAT(outcome.err, HasSubstr("holds checkpoints up to step 4, and this run begins at step "));
    EXPECT_EQ(run.names(), before);
  }
}

/// No file may grow beyond a block, as on a full disk: the run goes on, keeps what it has, and says so at the
/// end.
TEST(Checkpoint, OneThatCannotBeWrittenEndsNoRun) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  ToyJob run("full", options, 4);
  ASSERT_EQ(accumRun(run.words + " --checkpoint " + run.root).code, 0);
  std::string longer = ToyJob::replaced(run.words, "--steps 4", "--steps 8");
  longer = ToyJob::replaced(longer, "--log " + run.files.log, "--log -");
  Outcome full = runCommand("(ulimit -f 0; " ACCUM_RUN " " + longer + " --checkpoint " + run.root +
                            " --checkpoint-every 2 --resume auto) 2>&1 | cat");
  EXPECT_THAT(full.out, HasSubstr("note: step 6 has no checkpoint; training goes on"));
  EXPECT_THAT(full.out, HasSubstr(R"("step":8,)"));
  EXPECT_THAT(full.out,
              HasSubstr("the weights are lost: " + run.files.saved + " did not take them, and neither did "));
  EXPECT_THAT(full.out, HasSubstr("note: those after step 4 are in the checkpoint: --resume " + run.root +
                                  " --steps 4 --save FILE writes them elsewhere"));
  Outcome rescued = accumRun(ToyJob::replaced(run.words, run.files.saved, run.files.saved + ".safetensors") +
                             " --resume " + run.root);
  EXPECT_EQ(rescued.code, 0) << rescued.err;
  EXPECT_EQ(*readText(run.files.saved + ".safetensors", 1 << 20), run.weights());
  Outcome lost = runCommand("(ulimit -f 0; " ACCUM_RUN " " + longer + ") 2>&1 | cat");
  EXPECT_THAT(lost.out, HasSubstr("the weights are lost: "));
  EXPECT_THAT(lost.out, HasSubstr("note: TMPDIR names a folder on another disk, and --checkpoint DIR keeps"));
  EXPECT_THAT(run.names(), testing::ElementsAre(".lock", "step-00000004"));
  Outcome resumed = accumRun(longer + " --checkpoint " + run.root + " --resume auto");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("at step 4"));
  Outcome nowhere = accumRun(run.words + " --checkpoint /proc/checkpoints");
  EXPECT_EQ(nowhere.code, kExitFile);
  EXPECT_THAT(nowhere.err, HasSubstr("cannot be written"));
}
