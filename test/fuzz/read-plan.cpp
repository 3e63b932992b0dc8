// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as plan.json for a given problem, as a device profile, or as a table of
// rectangles.
#include "test/compiler/Planner/RandomProblem.h"
#include "test/fuzz/PlannerInputs.h"
#include <filesystem>
#include <fstream>

using namespace accum::planner;

static const Problem &givenProblem() {
  static const Problem problem = [] {
    Random random(1);
    return randomProblem(random, 20);
  }();
  return problem;
}

/// Adds a plan of the given problem to the corpus, the last argument: a stored one would be of some older
/// format.
extern "C" int LLVMFuzzerInitialize(int *argc, char ***argv) {
  const char *corpus = (*argv)[*argc - 1];
  Options options{.batch = 6, .devices = 2, .budget = int64_t{1} << 30};
  Result<Search> search = solve(givenProblem(), *loadProfile("h100"), options);
  if (!search || !search->plan || !test::reusePlanBytes(toJson(*search->plan), givenProblem()))
    std::abort();
  if (std::filesystem::is_directory(corpus))
    std::ofstream(std::string(corpus) + "/plan.json") << toJson(*search->plan);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  test::reusePlanBytes(text, givenProblem());
  test::readProfileBytes(text);
  test::packTableBytes(text);
  return 0;
}
