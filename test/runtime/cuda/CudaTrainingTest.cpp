// SPDX-License-Identifier: Apache-2.0
// accum-run end to end on the fake GPU: the same loss, gradients and parameters as one plain full-batch loop,
// for every order in which streams may run; graphs are used, nothing is allocated later, nothing is left
// behind.
#include "runtime/files/File.h"
#include "test/runtime/cuda/CudaRun.h"
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <sstream>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;

namespace {

/// How often each function of the fake was called.
std::map<std::string, int> callsIn(const std::string &path) {
  std::map<std::string, int> calls;
  std::istringstream lines(*readText(path, 1 << 20));
  std::string name;
  for (int count; lines >> name >> count;)
    calls[name] += count;
  return calls;
}

void trainAndCompare(const std::string &name, ToyOptions options, ToyRun run,
                     const std::string &settings = "") {
  SCOPED_TRACE(name + " " + settings);
  options.target = "cuda";
  run.hyper.lr = 0.125;
  ToyData data = makeToyData(13);
  ToyFiles files = prepareToy("cuda-" + name, options, data, run);
  Outcome outcome = runOnFake(files, settings);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expectEqualsReference(files, trainReference(options, data, run), options.isDouble ? 1e-12 : 5e-6);
}

} // namespace

TEST(CudaTraining, EqualsFullBatchForEveryMicroBatchAndOrder) {
  for (int64_t m : {1, 2, 5})
    for (int seed : {1, 2, 3})
      trainAndCompare("m" + std::to_string(m), {.batch = 5, .m = m}, {.steps = 5},
                      "FAKE_CUDA_SEED=" + std::to_string(seed));
}

TEST(CudaTraining, EqualsFullBatchInSinglePrecisionWithShuffle) {
  trainAndCompare("f32", {.batch = 7, .m = 2, .optimizer = "adamw", .isDouble = false},
                  {.steps = 6, .shuffle = true, .seed = 5});
}

TEST(CudaTraining, EqualsFullBatchCallByCall) {
  trainAndCompare("stepwise", {.batch = 7, .m = 2}, {.steps = 3}, "ACCUM_CUDA_STEPWISE=1");
}

TEST(CudaTraining, ReplaysGraphsAndAllocatesOnce) {
  ToyData data = makeToyData(24);
  ToyFiles files = prepareToy("cuda-graphs", {.batch = 12, .m = 2, .target = "cuda"}, data, {.steps = 8});
  std::string log = freshFolder("cuda-graphs-log") + "/calls";
  Outcome outcome = runOnFake(files, "FAKE_CUDA_LOG=" + log);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("note: GPU 0 of 1: Fake GPU, sm_90"));
  auto calls = callsIn(log);
  EXPECT_EQ(calls["cuMemAlloc_v2"], 1);
  EXPECT_EQ(calls["cuMemAllocHost_v2"], 4);
  // Three variants of the pre-pass and of the micro-step, and the update; the step's first two passes through
  // a segment are not replays, but the second is a graph.
  EXPECT_EQ(calls["cuGraphInstantiateWithFlags"], 7);
  EXPECT_EQ(calls["cuGraphLaunch"], 8 * 13 - 7);
  EXPECT_EQ(calls["left"], 0);
}

TEST(CudaTraining, WithoutGraphsItSaysSoAndGoesOn) {
  ToyData data = makeToyData(13);
  ToyOptions options = {.batch = 5, .m = 2, .target = "cuda"};
  ToyRun run{.steps = 4};
  run.hyper.lr = 0.125;
  for (const char *failing : {"cuStreamEndCapture=901", "cuGraphInstantiateWithFlags=801"}) {
    ToyFiles files = prepareToy("cuda-no-graphs", options, data, run);
    Outcome outcome = runOnFake(files, std::string("FAKE_CUDA_FAIL=") + failing);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("note: micro-steps run call by call, not as CUDA graphs: "));
    expectEqualsReference(files, trainReference(options, data, run), 1e-12);
  }
}

TEST(CudaTraining, LeavesOutWhatIsNotFinite) {
  ToyData data = makeToyData(13);
  ToyOptions options = {.batch = 5, .m = 2, .target = "cuda"};
  options.config.nanStep = 1;
  ToyFiles files = prepareToy("cuda-nan", options, data, {.steps = 3});
  Outcome outcome = runOnFake(files);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("error: step 2: the loss or a gradient is not finite [nan]"));
  files.words += " --on-nan skip";
  outcome = runOnFake(files);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 skipped, not finite"));
}

TEST(CudaTraining, PrintsParametersOfTheCard) {
  ToyData data = makeToyData(5);
  ToyFiles host = prepareToy("cuda-print-host", {.batch = 5, .m = 2}, data, {.steps = 2});
  ToyFiles card = prepareToy("cuda-print", {.batch = 5, .m = 2, .target = "cuda"}, data, {.steps = 2});
  std::string print = " --print-param b:1 --progress none | grep '^step 1 '";
  Outcome expected = accumRun(host.words + print);
  Outcome printed = runCommand(fakeGpu(card.artifact) + ACCUM_RUN " " + card.words + print);
  EXPECT_THAT(expected.out, HasSubstr("step 1 micro-step 3/3 b"));
  EXPECT_EQ(printed.out.substr(0, printed.out.find('\n')), expected.out.substr(0, expected.out.find('\n')));
}

TEST(CudaTraining, DrawsTheSameParametersAsTheHost) {
  for (const char *target : {"host", "cuda"}) {
    std::string folder = freshFolder(std::string("cuda-random-") + target);
    std::string artifact = writeToyArtifact(folder, {.batch = 5, .m = 2, .target = target});
    Outcome outcome = runCommand(fakeGpu(artifact) + ACCUM_RUN " " + artifact +
                                 " --steps 0 --random-params 7 --save " + folder + "/w.safetensors");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  EXPECT_EQ(*readText(ACCUM_TEST_FOLDER "/cuda-random-host/w.safetensors", 1 << 20),
            *readText(ACCUM_TEST_FOLDER "/cuda-random-cuda/w.safetensors", 1 << 20));
}

/// `ranks` processes, the last one started first; each with the settings and an order of streams of its own.
Outcome runRanks(const ToyFiles &files, int ranks, const std::string &settings) {
  std::string one = "RANK=$r LOCAL_RANK=$r WORLD_SIZE=" + std::to_string(ranks) +
                    " MASTER_ADDR=127.0.0.1 MASTER_PORT=29613 " + fakeGpu(files.artifact, settings) +
                    ACCUM_RUN " " + files.words + " --launcher env";
  return runCommand("for r in $(seq " + std::to_string(ranks - 1) + " -1 0); do " + one +
                    " & p=\"$p $!\"; done; for i in $p; do wait $i || exit 1; done");
}

TEST(CudaTraining, SeveralGpusWithoutMpi) {
  ToyData data = makeToyData(13);
  ToyOptions options = {.batch = 5, .devices = 3, .m = 1, .target = "cuda"};
  ToyRun run{.steps = 4};
  run.hyper.lr = 0.125;
  ToyFiles files = prepareToy("cuda-ranks", options, data, run);
  Outcome outcome = runRanks(files, 3, "FAKE_CUDA=count=3 FAKE_CUDA_SEED=$r");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("GPU 0 of 3"));
  expectEqualsReference(files, trainReference(options, data, run), 1e-12);
}

/// A step sums once: the targets, one gradient inside the last micro-step, the loss, the rest.
TEST(CudaTraining, SumsOfGradientsRunBesideTheLastMicroStep) {
  ToyData data = makeToyData(24);
  ToyOptions options = {.batch = 12, .devices = 2, .m = 2, .target = "cuda"};
  ToyRun run{.steps = 6};
  run.hyper.lr = 0.125;
  ToyFiles files = prepareToy("cuda-overlap", options, data, run);
  for (const char *more : {"", "ACCUM_CUDA_STEPWISE=1", "FAKE_CUDA_FAIL=cuStreamEndCapture=901"})
    for (int seed : {1, 2, 3}) {
      SCOPED_TRACE(std::string(more) + " seed " + std::to_string(seed));
      std::string log = freshFolder("cuda-overlap-log") + "/calls";
      Outcome outcome = runRanks(files, 2,
                                 "FAKE_CUDA=count=2 FAKE_CUDA_SEED=$((r+" + std::to_string(seed) +
                                     ")) FAKE_CUDA_LOG=" + log + "-$r " + more);
      ASSERT_EQ(outcome.code, 0) << outcome.err;
      expectEqualsReference(files, trainReference(options, data, run), 1e-12);
      auto calls = callsIn(log + "-0");
      // Targets, loss, and the rest of the gradients in front of and behind the one; that one is a branch of
      // the graph from the third step on, where there are graphs.
      int inGraphs = *more ? 0 : 6 - 2;
      if (!std::string(more).starts_with("FAKE"))
        EXPECT_EQ(calls["ncclAllReduce"], 6 * 5 - inGraphs);
      EXPECT_EQ(calls["left"], 0);
    }
}

TEST(CudaTraining, SeveralGpusThroughMpi) {
  trainAndCompare("mpi", {.batch = 5, .devices = 2, .m = 2}, {.steps = 3}, "FAKE_CUDA=count=2");
}

TEST(CudaTraining, HostRanksWithoutMpi) {
  ToyData data = makeToyData(13);
  ToyOptions options = {.batch = 5, .devices = 2, .m = 2};
  ToyRun run{.steps = 4};
  run.hyper.lr = 0.125;
  ToyFiles files = prepareToy("tcp-ranks", options, data, run);
  std::string one =
      "RANK=$r WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29614 " ACCUM_RUN " " + files.words;
  Outcome outcome =
      runCommand("for r in 0 1; do " + one + " & p=\"$p $!\"; done; for i in $p; do wait $i || exit 1; done");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expectEqualsReference(files, trainReference(options, data, run), 1e-12);
}
