// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: bytes seed a random problem, or are a problem's text; what is planned must verify.
#include "test/compiler/Planner/RandomProblem.h"
#include "test/fuzz/PlannerInputs.h"
#include <cstring>

using namespace accum::planner;

static void planRandom(const uint8_t *data, size_t size) {
  static const DeviceProfile profile = *loadProfile("h100");
  uint64_t seed = 0;
  std::memcpy(&seed, data, std::min(size, sizeof seed));
  Random random(seed);
  Problem problem = randomProblem(random, int(1 + seed % 40));
  Options options{.batch = int64_t(1 + (seed >> 8) % 64), .budget = int64_t{1} << 30};
  Result<Search> search = solve(problem, profile, options);
  if (search && search->plan && !verify(problem, *search->plan))
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 0 && size <= 9)
    planRandom(data, size);
  else
    test::planProblemBytes({reinterpret_cast<const char *>(data), size});
  return 0;
}
