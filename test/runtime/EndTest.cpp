// SPDX-License-Identifier: Apache-2.0
// Runs that end early, in the middle of something: what is left then, and how it goes on.
#include "runtime/files/File.h"
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

/// Eight steps, evaluated behind the fourth and the last, over 23 samples. A signal comes behind step 4.
struct Job {
  Job(const std::string &name, const ToyOptions &options, int every = 4)
      : files(prepareToy(name, options, makeToyData(23), {.steps = 8, .shuffle = true})),
        folder(fs::path(files.saved).parent_path()), root(folder / "checkpoints"),
        words(files.words + " --progress none --eval " + (folder / "data.safetensors").string() +
              " --eval-every " + std::to_string(every) + " --checkpoint " + root.string() +
              " --resume auto") {}

  /// `target`: a process's number, as the shell knows it.
  Outcome disturb(const std::string &more, const std::string &signal, const std::string &target) const {
    return runCommand("export ACCUM_WATCHDOG_SECONDS=3; " ACCUM_RUN " " + words + " " + more +
                      " & p=$!; for i in $(seq 3000); do grep -q '\"step\":4' " + files.log +
                      " && break; sleep 0.02; done; kill -" + signal + " " + target + "; wait $p");
  }
  /// Losses by name and step.
  std::map<std::string, double> logged() const {
    std::map<std::string, double> all;
    std::ifstream log(files.log);
    for (std::string line; std::getline(log, line);) {
      auto entry = nlohmann::json::parse(line);
      for (const char *name : {"loss", "eval_loss"})
        if (entry.contains(name))
          EXPECT_TRUE(all.emplace(name + entry["step"].dump(), entry[name]).second) << line;
    }
    return all;
  }
  std::string weights() const { return *readText(files.saved, 1 << 20); }

  ToyFiles files;
  fs::path folder, root;
  std::string words;
};

ToyOptions slow(int64_t devices, uint32_t stepMilliseconds, uint32_t evalMilliseconds) {
  ToyOptions options{.batch = 6, .devices = devices, .m = 2, .optimizer = "adamw"};
  options.config.stepMilliseconds = stepMilliseconds;
  options.config.evalMilliseconds = evalMilliseconds;
  options.config.writePids = 1;
  return options;
}

} // namespace

/// It ends behind a micro-step of the evaluation, which is made when the run goes on.
TEST(End, ASignalLeavesAnEvaluation) {
  for (int64_t devices : {1, 2}) {
    Job straight("end-straight", slow(devices, 0, 0));
    ASSERT_EQ(accumRun(straight.words).code, 0);
    Job job("end", slow(devices, 0, 1000));
    Outcome outcome = job.disturb("", "TERM", "$p");
    EXPECT_EQ(outcome.code, kExitStopped) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("note: this goes on: accum-run "));
    EXPECT_FALSE(job.logged().contains("eval_loss4"));
    EXPECT_TRUE(fs::exists(job.root / "step-00000004"));
    writeToyArtifact(job.folder, slow(devices, 0, 0));
    Outcome again = accumRun(job.words);
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("at step 4"));
    EXPECT_EQ(job.logged(), straight.logged());
    EXPECT_EQ(job.weights(), straight.weights());
  }
}

TEST(End, ASignalLeavesEvalOnly) {
  Job job("end-eval-only", slow(1, 0, 250));
  std::string words =
      job.files.artifact + " --eval-only --eval " + (job.folder / "data.safetensors").string();
  Outcome outcome = runCommand("timeout --preserve-status -s TERM 0.5 " ACCUM_RUN " " + words);
  EXPECT_EQ(outcome.code, kExitStopped) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

/// Bounded, named, and what was written is whole.
TEST(End, ARankThatStandsStillEndsAStepAndAnEvaluation) {
  for (bool inEvaluation : {false, true}) {
    Job job("end-stalled", inEvaluation ? slow(2, 0, 250) : slow(2, 250, 0));
    Outcome outcome =
        job.disturb("--checkpoint-every 3", "STOP", "$(cat " + job.files.artifact + "/rank-1.pid)");
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 has stalled: it did nothing for 3 s"));
    EXPECT_LT(job.logged().size(), 8u);
    Outcome described = accumRun(job.root.string() + " --describe");
    EXPECT_THAT(described.out, testing::ContainsRegex("step +3 .* whole"));
  }
}

/// The loss is what was wanted, and there is time to evaluate it.
TEST(End, ALossThatIsGoodIsEvaluated) {
  Job job("end-good", slow(1, 0, 0));
  Outcome outcome = accumRun(job.words + " --stop-at-loss 1e9");
  EXPECT_EQ(outcome.code, kExitStopped);
  EXPECT_TRUE(job.logged().contains("eval_loss1"));
}

TEST(End, ATimeThatIsOverLeavesAnEvaluation) {
  Job job("end-late", slow(1, 0, 250), 1);
  Outcome outcome = accumRun(job.words + " --max-time 1s");
  EXPECT_EQ(outcome.code, kExitStopped);
  EXPECT_EQ(job.logged().size(), 1u);
  EXPECT_TRUE(fs::exists(job.root / "step-00000001"));
}
