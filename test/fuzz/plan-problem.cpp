// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: bytes seed a random problem, or are a problem's text; what is planned must verify.
#include "compiler/Planner/ProblemText.h"
#include "compiler/Planner/Solve.h"
#include "compiler/Planner/Verify.h"
#include "test/compiler/Planner/RandomProblem.h"
#include <cstdlib>
#include <cstring>

using namespace accum::planner;

/// Any plan is one that the independent checker accepts.
static void plan(const Problem &problem, int64_t batch) {
  static const DeviceProfile profile = *loadProfile("h100");
  Options options{.batch = batch, .budget = int64_t{1} << 30};
  Result<Search> search = solve(problem, profile, options);
  if (search && search->plan && !verify(problem, *search->plan))
    std::abort();
}

static void planRandom(const uint8_t *data, size_t size) {
  uint64_t seed = 0;
  std::memcpy(&seed, data, std::min(size, sizeof seed));
  Random random(seed);
  plan(randomProblem(random, int(1 + seed % 40)), int64_t(1 + (seed >> 8) % 64));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  if (size <= 9)
    planRandom(data, size);
  else if (auto problem = parseProblem({reinterpret_cast<const char *>(data), size}, "input"))
    if (check(*problem))
      plan(*problem, 1 + data[0] % 16);
  return 0;
}
