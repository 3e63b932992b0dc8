// SPDX-License-Identifier: Apache-2.0
// Jobs of several processes: a rank that dies, one that stalls, errors that are said once, wrong numbers of
// processes.
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::test;
using testing::HasSubstr;

namespace {

struct Job {
  std::string folder = freshFolder("ranks"), artifact, words;
  explicit Job(ToyOptions options = {.batch = 6, .devices = 3, .m = 1}) {
    if (options.config.stepMilliseconds == 0)
      options.config.stepMilliseconds = 20;
    options.config.writePids = 1;
    artifact = writeToyArtifact(folder, options);
    words = artifact + " --lr 0.125 --data " + writeToyData(folder, makeToyData(12)) + " --steps ";
  }

  /// Runs a long job and sends `signal` to rank 1 after its first step.
  Outcome disturb(const std::string &signal, const std::string &watchdog) const {
    std::string pid = artifact + "/rank-1.pid";
    return runCommand("export ACCUM_WATCHDOG_SECONDS=" + watchdog + "; " ACCUM_RUN " " + words +
                      "3000 & p=$!; for i in $(seq 2000); "
                      "do test -s " +
                      pid + " && break; sleep 0.05; done; sleep 0.3; kill -" + signal + " $(cat " + pid +
                      "); wait $p");
  }
};

size_t countOf(const std::string &text, const std::string &word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

} // namespace

TEST(Ranks, ADeadRankEndsTheJobAndIsNamed) {
  Job job;
  Outcome outcome = job.disturb("KILL", "60");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("error: rank 1 died (Killed)"));
  EXPECT_FALSE(std::filesystem::exists(job.folder + "/toy.trained.safetensors"));
}

TEST(Ranks, AStalledRankEndsTheJobAndIsNamed) {
  Outcome outcome = Job().disturb("STOP", "5");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err,
              HasSubstr("rank 1 has stalled: it did nothing for 5 s while the others wait for it"));
}

/// A machine that is short of processors gives a rank less than the watchdog's time for one piece of its
/// work.
TEST(Ranks, ARankThatComputesIsWaitedFor) {
  ToyOptions options{.batch = 6, .devices = 2, .m = 1};
  options.config.busyMilliseconds = 3000;
  Job job(options);
  std::string watchdog = "export ACCUM_WATCHDOG_SECONDS=1; ", words = ACCUM_RUN " " + job.words + "2";
  Outcome outcome = runCommand(watchdog + words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  outcome =
      runCommand(watchdog + "export MASTER_ADDR=localhost MASTER_PORT=29643 WORLD_SIZE=2; RANK=1 " + words +
                 " --launcher env & p=$!; RANK=0 " + words + " --launcher env; a=$?; wait $p && exit $a");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Ranks, AJobThatWasStoppedAsAWholeGoesOn) {
  Job job;
  std::string pids = "$(cat " + job.artifact + "/rank-*.pid)";
  Outcome outcome = runCommand(
      "export ACCUM_WATCHDOG_SECONDS=2; " ACCUM_RUN " " + job.words + "100 & p=$!; until test -s " +
      job.artifact + "/rank-2.pid && test -s " + job.artifact + "/rank-1.pid && test -s " + job.artifact +
      "/rank-0.pid; do sleep 0.05; done; kill -STOP " + pids + "; sleep 6; kill -CONT " + pids + "; wait $p");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

/// Without MPI: all who wait name the one that does not, also where they wait for each other.
TEST(Ranks, AStalledOrDeadRankOverSocketsIsNamedByAll) {
  for (auto [signal, sentence] :
       {std::pair("STOP", "rank 1 has stalled or cannot be reached: nothing was heard of it for 3 s"),
        std::pair("KILL", "rank 1 has died: its connection is closed")}) {
    Job job;
    std::string pid = job.artifact + "/rank-1.pid", words = ACCUM_RUN " " + job.words + "3000 --launcher env";
    Outcome outcome = runCommand(
        "export ACCUM_WATCHDOG_SECONDS=3 MASTER_ADDR=localhost MASTER_PORT=29642 WORLD_SIZE=3; RANK=1 " +
        words + " 2>/dev/null & RANK=2 " + words + " & p=$!; RANK=0 " + words +
        " & q=$!; for i in $(seq 2000); do test -s " + pid +
        " && break; sleep 0.05; done; sleep 0.3; kill -" + signal + " $(cat " + pid +
        "); wait $p; a=$?; wait $q; b=$?; kill -KILL $(cat " + pid + ") 2>/dev/null; test $a = 4 && exit $b");
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_EQ(countOf(outcome.err, sentence), 2u) << outcome.err;
  }
}

TEST(Ranks, AnotherInterruptEndsTheJobAtOnce) {
  ToyOptions options{.batch = 6, .devices = 3, .m = 1};
  options.config.stepMilliseconds = 3600'000; // a step that no request to stop can wait for
  Job job(options);
  // As from a terminal, whose jobs take SIGINT; again and again, since two at once may arrive as one.
  Outcome outcome = runCommand("set -m; " ACCUM_RUN " " + job.words +
                               "1 & p=$!; while kill -INT $p 2>/dev/null; do sleep 0.1; done; wait $p");
  EXPECT_EQ(outcome.code, 128 + SIGINT) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(job.folder + "/toy.trained.safetensors"));
}

/// Whoever is told while processes are still being started is told again.
TEST(Ranks, StopWhereverTheirStartIs) {
  Job job;
  for (const char *moment : {"0.02", "0.05", "0.08", "0.11", "0.2", "0.4"}) {
    Outcome outcome =
        runCommand("timeout -s KILL 60 " ACCUM_RUN " " + job.words + "1000000 & p=$!; sleep " + moment +
                   "; kill -TERM $(pgrep -P $p) 2>/dev/null || kill -TERM $p; wait $p");
    EXPECT_THAT(outcome.code, testing::AnyOf(4, 5, 128 + SIGTERM)) << moment << ": " << outcome.err;
  }
}

TEST(Ranks, AreEndedWithALauncherThatWasKilled) {
  Job job;
  std::string pipe = job.folder + "/pipe", pid = job.artifact + "/rank-1.pid";
  // It is open until the last process that has inherited it has ended.
  Outcome outcome = runCommand("mkfifo " + pipe + "; (exec 3>" + pipe + "; " ACCUM_RUN " " + job.words +
                               "1000000 & p=$!; until test -s " + pid +
                               "; do sleep 0.05; done; kill -KILL $p) & timeout 300 cat " + pipe);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(Ranks, AnErrorIsSaidOnce) {
  Job job;
  Outcome outcome = runCommand(ACCUM_RUN " " + job.words + "1 --data nothing.safetensors");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(countOf(outcome.err, "error: "), 1u) << outcome.err;
  std::filesystem::resize_file(job.artifact + "/kernels.so", 100);
  outcome = runCommand(ACCUM_RUN " " + job.words + "1");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(countOf(outcome.err, "error: "), 1u) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("kernels.so: is damaged"));
}

TEST(Ranks, NaNIsSaidOnceAndSavesTheLastGoodWeights) {
  ToyOptions options{.batch = 6, .devices = 3, .m = 1};
  options.config.nanStep = 2;
  Job job(options);
  Outcome outcome = accumRun(job.words + "5");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(countOf(outcome.err, "error: step 3: the loss or a gradient is not finite"), 1u) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(job.folder + "/toy.trained.safetensors"));
}

TEST(Ranks, AWrongNumberGetsTheLineToUse) {
  Job job;
  Outcome outcome = runCommand("mpirun -q -n 2 --oversubscribe --allow-run-as-root " ACCUM_RUN " " +
                               job.words + "1 --devices 3");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(countOf(outcome.err, "error: --devices 3, but the launcher started 2 processes"), 1u);
  EXPECT_THAT(outcome.err, HasSubstr("note: use: mpirun -n 3 accum-run " + job.artifact));
}

TEST(Ranks, JoinsTheOnesThatMpirunStarted) {
  Job job;
  Outcome outcome =
      runCommand("mpirun -q -n 3 --oversubscribe --allow-run-as-root " ACCUM_RUN " " + job.words + "2");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(countOf(outcome.out, "wrote "), 1u);
}

TEST(Ranks, APlanForThousandsOfDevicesStartsNothingHere) {
  Job job;
  editManifest(job.artifact, [](accum::runtime::Manifest &manifest) {
    manifest.devices = 1500;
    EXPECT_TRUE(assignStateLayout(manifest));
    manifest.m = 1;
  });
  Outcome outcome = accumRun(job.words + "1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("error: the run is for 1500 devices, but no launcher started its "
                                     "processes; at most 1024 are started here [wrong-ranks]"));
}
