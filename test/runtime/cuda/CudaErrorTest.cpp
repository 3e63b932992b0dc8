// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a GPU machine, one sentence each, exit 4; and every call of the driver fails once.
#include "test/runtime/cuda/CudaRun.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::test;
using testing::HasSubstr;
using testing::Not;

namespace {

struct Toy {
  std::string folder = freshFolder("cuda-errors"),
              artifact = writeToyArtifact(folder, {.batch = 4, .m = 2, .target = "cuda"});

  Outcome run(const std::string &settings, const std::string &libraries = FAKE_CUDA_LIBRARIES) const {
    return runCommand(fakeGpu(artifact, settings, libraries) + ACCUM_RUN " " + artifact +
                      " --synthetic --steps 3 --save " + folder + "/out.safetensors");
  }
  void expectError(const Outcome &outcome, const std::string &sentence) const {
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
    EXPECT_FALSE(std::filesystem::exists(folder + "/out.safetensors"));
  }
};

} // namespace

TEST(CudaErrors, DriverAndCard) {
  Toy toy;
  toy.expectError(toy.run("", "/nonexistent"),
                  "the artifact is for a GPU, and the CUDA driver cannot be loaded: ");
  toy.expectError(toy.run("FAKE_CUDA=count=0"), "the CUDA driver is there, but shows no GPU [no-gpu]");
  toy.expectError(toy.run("FAKE_CUDA=version=11080"),
                  "the driver supports CUDA 11.8, the runtime needs 12.0 [cuda-driver-too-old]");
  toy.expectError(toy.run("FAKE_CUDA=major=7,minor=5"),
                  "Fake GPU is sm_75, and artifacts run on sm_80 and later [gpu-architecture]");
  toy.expectError(toy.run("FAKE_CUDA_FAIL=cuInit=34"),
                  "is the toolkit's stub, for linking only [no-cuda-driver]");
  Outcome outcome = toy.run("FAKE_CUDA_FAIL=cuInit=802");
  toy.expectError(outcome, "the GPUs of this machine are not ready: ");
  EXPECT_THAT(outcome.err, HasSubstr("nvidia-fabricmanager"));
  toy.expectError(toy.run("FAKE_CUDA_FAIL=cuDevicePrimaryCtxRetain=46"),
                  "Fake GPU does not take another process: ");
  toy.expectError(toy.run("FAKE_CUDA=count=2 LOCAL_RANK=2"),
                  "local rank 2 has no GPU: this machine shows 2 [no-gpu]");
}

TEST(CudaErrors, Memory) {
  Toy toy;
  Outcome outcome = toy.run("FAKE_CUDA=total=40000000,used=20000000");
  toy.expectError(outcome,
                  "the program needs 33.0 MiB of Fake GPU, and 19.1 MiB of 38.1 MiB are free [gpu-memory]");
  EXPECT_THAT(outcome.err, HasSubstr("note: nvidia-smi shows who holds the rest"));
}

TEST(CudaErrors, MissingLibraries) {
  Toy toy;
  std::string folder = freshFolder("cuda-errors-libraries");
  std::filesystem::create_symlink(FAKE_CUDA_LIBRARIES "/libaccum_fake_cuda.so", folder + "/libcuda.so.1");
  toy.expectError(toy.run("", folder), "the program multiplies matrices, and cuBLASLt cannot be loaded: ");
  std::filesystem::create_symlink(FAKE_CUDA_LIBRARIES "/libaccum_fake_cuda.so",
                                  folder + "/libcublasLt.so.12");
  EXPECT_EQ(toy.run("", folder).code, 0);
  std::string several = writeToyArtifact(folder, {.batch = 4, .devices = 2, .m = 2, .target = "cuda"});
  Outcome outcome = runCommand(fakeGpu(several, "FAKE_CUDA=count=2", folder) + ACCUM_RUN " " + several +
                               " --synthetic --steps 1 --save " + folder + "/out.safetensors");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("the artifact is for several GPUs, and NCCL cannot be loaded: "));
}

TEST(CudaErrors, LibrariesOfOtherVersions) {
  Toy toy;
  toy.expectError(toy.run("FAKE_CUDA_FAIL=cuInit=803"),
                  "the CUDA library and the kernel's driver are of different versions");
  std::string folder = freshFolder("cuda-errors-versions"),
              fake = FAKE_CUDA_LIBRARIES "/libaccum_fake_cuda.so";
  auto place = [&](const std::string &library, const std::string &name) {
    std::filesystem::remove(folder + "/" + name);
    std::filesystem::create_symlink(library, folder + "/" + name);
  };
  const std::string other = "/lib/x86_64-linux-gnu/libm.so.6"; // what lacks a function, as an older one does
  place(other, "libcuda.so.1");
  toy.expectError(toy.run("", folder),
                  "the CUDA driver cannot be loaded: libcuda.so.1 lacks cuInit [no-cuda-driver]");
  place(fake, "libcuda.so.1");
  place(fake, "libcublasLt.so.13");
  Outcome outcome = toy.run("FAKE_CUDA=version=12080", folder);
  toy.expectError(outcome, "the program multiplies matrices, and cuBLASLt cannot be loaded: ");
  EXPECT_THAT(outcome.err, HasSubstr("note: this driver is of CUDA 12: install libcublas of CUDA 12"));
  EXPECT_EQ(toy.run("", folder).code, 0);
}

TEST(CudaErrors, KernelsThatTheDriverRefuses) {
  Toy toy;
  std::string ptx = toy.artifact + "/kernels.ptx: ";
  toy.expectError(toy.run("FAKE_CUDA_FAIL=cuModuleLoadDataEx=222"),
                  toy.artifact + "/kernels.ptx is of a newer CUDA than this driver");
  toy.expectError(toy.run("FAKE_CUDA_FAIL=cuModuleLoadDataEx=209"),
                  toy.artifact + "/kernels.ptx does not run on Fake GPU (sm_90)");
  toy.expectError(toy.run("FAKE_CUDA_FAIL=cuModuleLoadDataEx=221"),
                  toy.artifact + "/kernels.ptx needs the driver's compiler of PTX");
  std::ofstream(toy.artifact + "/kernels.ptx") << "nothing\n";
  editManifest(toy.artifact, [](accum::runtime::Manifest &) {});
  toy.expectError(toy.run(""), "the driver cannot compile " + toy.artifact +
                                   "/kernels.ptx: ptxas: line 1: no entry [ptx]");
}

/// As a driver of CUDA 12 does with one that CUDA 13 made.
TEST(CudaErrors, ACubinThatIsNotTakenGivesWayToPtx) {
  Toy toy;
  std::ofstream(toy.artifact + "/kernels.sm_90.cubin") << "\x7f"
                                                          "ELF";
  editManifest(toy.artifact, [](accum::runtime::Manifest &) {});
  Outcome outcome = toy.run("");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err,
              HasSubstr("kernels from kernels.ptx, since the driver does not take kernels.sm_90.cubin"));
  EXPECT_THAT(toy.run("FAKE_CUDA=minor=2").err, HasSubstr("kernels from kernels.ptx\n"));
}

/// Of the algorithms that the library names the first that runs is taken.
TEST(CudaErrors, AnAlgorithmThatDoesNotRunGivesWay) {
  Toy toy;
  EXPECT_EQ(toy.run("FAKE_CUDA=refused=1").code, 0);
  std::filesystem::remove(toy.folder + "/out.safetensors");
  toy.expectError(toy.run("FAKE_CUDA=refused=2"), "command 1 @gemm: cublasLtMatmul failed: ");
}

TEST(CudaErrors, AFaultNamesItsCommandAndNode) {
  Toy toy;
  Outcome outcome = toy.run("FAKE_CUDA_FAIL=run:residual_f64=700");
  toy.expectError(outcome, "command 2 @residual: Fake GPU stopped working: ");
  EXPECT_THAT(outcome.err, HasSubstr("note: it computes `/loss/Sub`"));
  EXPECT_THAT(outcome.err, HasSubstr("[gpu-lost]"));
  outcome = toy.run("FAKE_CUDA_FAIL=cublasLtMatmul=13");
  toy.expectError(outcome, "command 1 @gemm: cublasLtMatmul failed: ");
  EXPECT_THAT(outcome.err, HasSubstr("note: it computes `/predict/MatMul`"));
}

TEST(CudaErrors, ALostCardInTheMiddleOfARun) {
  Toy toy;
  toy.expectError(toy.run("FAKE_CUDA_FAIL=run:residual_f64@5=719"), "Fake GPU stopped working: ");
  toy.expectError(toy.run("FAKE_CUDA_FAIL=run:residual_f64@5=719 ACCUM_CUDA_STEPWISE=1"),
                  "command 2 @residual: Fake GPU stopped working: ");
}

TEST(CudaErrors, EveryCallThatFailsIsReported) {
  Toy toy;
  for (const char *call : {"cuInit",
                           "cuDriverGetVersion",
                           "cuDeviceGetCount",
                           "cuDeviceGet",
                           "cuDeviceGetName",
                           "cuDeviceGetAttribute",
                           "cuDevicePrimaryCtxRetain",
                           "cuCtxSetCurrent",
                           "cuModuleLoadDataEx",
                           "cuModuleLoadDataEx@2",
                           "cuModuleGetFunction",
                           "cuLaunchKernel",
                           "cuLaunchKernel@9",
                           "cuMemGetInfo_v2",
                           "cuMemAlloc_v2",
                           "cuMemAllocHost_v2",
                           "cuMemcpyHtoDAsync_v2",
                           "cuMemcpyHtoDAsync_v2@12",
                           "cuMemcpyDtoHAsync_v2",
                           "cuMemcpyDtoDAsync_v2",
                           "cuMemsetD8Async",
                           "cuStreamCreate",
                           "cuStreamCreate@2",
                           "cuStreamWaitEvent",
                           "cuEventCreate",
                           "cuEventRecord",
                           "cuEventRecord@20",
                           "cuEventSynchronize",
                           "cuEventSynchronize@20",
                           "cuStreamBeginCapture_v2",
                           "cuGraphLaunch",
                           "cublasLtCreate",
                           "cublasLtMatmulDescCreate",
                           "cublasLtMatmulDescSetAttribute",
                           "cublasLtMatrixLayoutCreate",
                           "cublasLtMatmulPreferenceCreate",
                           "cublasLtMatmulPreferenceSetAttribute",
                           "cublasLtMatmulAlgoGetHeuristic",
                           "cublasLtMatmul"}) {
    SCOPED_TRACE(call);
    Outcome outcome = toy.run("FAKE_CUDA_FAIL=" + std::string(call) + "=999");
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error: "));
    EXPECT_FALSE(std::filesystem::exists(toy.folder + "/out.safetensors"));
  }
}

/// Two ranks of which rank 1 fails in its own way; rank 0's outcome, with what both said.
struct Pair {
  std::string folder = freshFolder("cuda-errors-peer");
  std::string artifact = writeToyArtifact(folder, {.batch = 16, .devices = 2, .m = 2, .target = "cuda"});

  Outcome run(const std::string &failing, const std::string &watchdog) const {
    SCOPED_TRACE(failing);
    std::string words = ACCUM_RUN " " + artifact + " --synthetic --steps 3 --launcher env --save " + folder +
                        "/out.safetensors";
    std::string place = "WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29615 ";
    Outcome outcome =
        runCommand("export ACCUM_WATCHDOG_SECONDS=" + watchdog + "; " + place + "RANK=1 LOCAL_RANK=1 " +
                   fakeGpu(artifact, "FAKE_CUDA=count=2 FAKE_CUDA_FAIL=" + failing) + words + " & " + place +
                   "RANK=0 LOCAL_RANK=0 " + fakeGpu(artifact, "FAKE_CUDA=count=2") + words +
                   "; code=$?; sleep 0.2; kill -9 $! 2>/dev/null; wait; exit $code");
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder + "/out.safetensors"));
    return outcome;
  }
};

TEST(CudaErrors, ADeadPeerEndsTheJob) {
  Pair pair;
  // By an error it says that it leaves.
  EXPECT_THAT(pair.run("run:residual_f64@3=700", "20").err,
              HasSubstr("rank 1 has left after 0 steps, rank 0 is in step 1 [other-call]"));
  // By a signal; in the middle of a step, at its sums, while the ranks meet.
  for (const char *failing : {"run:residual_f64@3=-9", "run:residual_f64@9=-9", "ncclAllReduce=-9",
                              "ncclAllReduce@3=-9", "ncclCommInitRank=-9"})
    EXPECT_THAT(pair.run(failing, "20").err,
                HasSubstr("rank 1 has died: its connection is closed [rank-stalled]"))
        << failing;
}

TEST(CudaErrors, APeerThatStallsEndsTheJob) {
  Pair pair;
  EXPECT_THAT(
      pair.run("run:residual_f64@9=-19", "1").err,
      HasSubstr("rank 1 has stalled or cannot be reached: nothing was heard of it for 1 s [rank-stalled]"));
  EXPECT_THAT(
      pair.run("ncclCommInitRank=-19", "2").err,
      HasSubstr("rank 1 has stalled or cannot be reached: nothing was heard of it for 2 s [rank-stalled]"));
}

/// The one that knows why speaks, not the one that has waited for it.
TEST(CudaErrors, APeerThatCannotJoinSaysWhy) {
  Outcome outcome = Pair().run("ncclCommInitRank=5", "2");
  EXPECT_THAT(outcome.err, HasSubstr("ncclCommInitRank failed: unhandled error (fake) [collective]"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("stalled")));
}

/// Several ranks of which one, or all, cannot: the reason is said, not that somebody waited.
struct Ranks {
  std::string folder = freshFolder("cuda-errors-ranks");
  std::string artifact = writeToyArtifact(folder, {.batch = 6, .devices = 3, .m = 2, .target = "cuda"});
  std::string words =
      ACCUM_RUN " " + artifact + " --synthetic --steps 3 --save " + folder + "/out.safetensors ";

  void expectError(const std::string &command, const std::string &sentence) const {
    SCOPED_TRACE(command);
    Outcome outcome = runCommand("export ACCUM_WATCHDOG_SECONDS=5; " + command);
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(sentence));
    EXPECT_THAT(outcome.err, Not(HasSubstr("stalled")));
    EXPECT_FALSE(std::filesystem::exists(folder + "/out.safetensors"));
  }
};

TEST(CudaErrors, ARankWithoutAGpuSaysSo) {
  Ranks ranks;
  ranks.expectError(fakeGpu(ranks.artifact, "FAKE_CUDA=count=2") + ranks.words,
                    "local rank 2 has no GPU: this machine shows 2 [no-gpu]");
  std::string place = " WORLD_SIZE=3 MASTER_ADDR=127.0.0.1 MASTER_PORT=29616 ";
  std::string with = fakeGpu(ranks.artifact, "FAKE_CUDA=count=3") + ranks.words + "--launcher env & ";
  ranks.expectError("RANK=0 LOCAL_RANK=0" + place + with + "RANK=2 LOCAL_RANK=2" + place + with +
                        "RANK=1 LOCAL_RANK=1" + place + fakeGpu(ranks.artifact, "", "/nonexistent") +
                        ranks.words + "--launcher env",
                    "the CUDA driver cannot be loaded: ");
}

TEST(CudaErrors, NcclThatFailsIsReported) {
  Ranks ranks;
  auto failing = [&](const std::string &call) {
    return fakeGpu(ranks.artifact, "FAKE_CUDA=count=3 FAKE_CUDA_FAIL=" + call) + ranks.words;
  };
  ranks.expectError(failing("ncclGetUniqueId=2"),
                    "ncclGetUniqueId failed: unhandled error (fake) [collective]");
  ranks.expectError(failing("ncclCommInitRank=5"), "ncclCommInitRank failed: ");
  ranks.expectError(failing("cuCtxGetStreamPriorityRange=999"), "cuCtxGetStreamPriorityRange failed: ");
  ranks.expectError(failing("cuStreamCreateWithPriority=2"), "cuStreamCreateWithPriority failed: ");
  ranks.expectError(failing("ncclAllReduce@4=3"), "ncclAllReduce failed: ");
  ranks.expectError(failing("asynchronous=6"),
                    "a sum over the ranks failed: remote error (fake) [collective]");
}

TEST(CudaErrors, AnEnvironmentThatSaysTooLittle) {
  Toy toy;
  std::string artifact = writeToyArtifact(toy.folder, {.batch = 4, .devices = 2, .m = 2, .target = "cuda"});
  std::string rank = " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29617 " +
                     fakeGpu(artifact, "FAKE_CUDA=count=2") + ACCUM_RUN " " + artifact +
                     " --synthetic --steps 1 --launcher env";
  Outcome unplaced = runCommand("RANK=1" + rank + " & RANK=0" + rank);
  EXPECT_EQ(unplaced.code, 2);
  EXPECT_THAT(unplaced.err,
              HasSubstr("which of the 2 GPUs is this rank's? The environment has no LOCAL_RANK [usage]"));
  Outcome outcome =
      runCommand("RANK=0 " ACCUM_RUN " " + toy.artifact + " --synthetic --steps 1 --launcher env");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("error: --launcher env: the environment has no WORLD_SIZE [usage]"));
}
