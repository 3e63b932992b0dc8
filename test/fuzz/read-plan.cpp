// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as plan.json for a given problem, as a device profile, or as a table of
// rectangles.
#include "test/compiler/Planner/RandomProblem.h"
#include "test/fuzz/PlannerInputs.h"

using namespace accum::planner;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Problem problem = [] {
    Random random(1);
    return randomProblem(random, 20);
  }();
  std::string_view text(reinterpret_cast<const char *>(data), size);
  test::reusePlanBytes(text, problem);
  test::readProfileBytes(text);
  test::packTableBytes(text);
  return 0;
}
