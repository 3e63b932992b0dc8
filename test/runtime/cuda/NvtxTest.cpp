// SPDX-License-Identifier: Apache-2.0
// Ranges of time for a profiler: those of a step, closed in order, and nothing without one.
#include "runtime/files/File.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyTraining.h"
#include <filesystem>
#include <gtest/gtest.h>

using namespace accum::test;

namespace {

struct Toy {
  ToyData data = makeToyData(3);
  ToyFiles files = prepareToy("nvtx", {.batch = 3, .m = 2}, data, {.steps = 1});
  std::string log = files.artifact + "/ranges";

  Outcome run(const std::string &library) const {
    return runCommand("FAKE_PROFILER_LOG=" + log + " NVTX_INJECTION64_PATH=" + library + " " ACCUM_RUN " " +
                      files.words);
  }
};

} // namespace

TEST(Nvtx, AStepsPartsAreRanges) {
  Toy toy;
  Outcome outcome = toy.run(FAKE_PROFILER);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(*accum::runtime::readText(toy.log, 1 << 20), "step 1\n"
                                                         "  pre-pass 1 of 2\n"
                                                         "  pre-pass 2 of 2\n"
                                                         "  sums over devices\n"
                                                         "  micro-step 1 of 2\n"
                                                         "  micro-step 2 of 2\n"
                                                         "  sums over devices\n"
                                                         "  sums over devices\n"
                                                         "  norm of the gradients\n"
                                                         "  update\n");
}

TEST(Nvtx, AToolThatIsNotThereChangesNothing) {
  Toy toy;
  for (const char *library : {"", "/nonexistent.so", "libm.so.6"})
    EXPECT_EQ(toy.run(library).code, 0) << library;
  EXPECT_FALSE(std::filesystem::exists(toy.log));
}
