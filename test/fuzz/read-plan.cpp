// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as plan.json, as a device profile, or as a table of rectangles.
#include "compiler/Planner/DeviceProfile.h"
#include "compiler/Planner/Plan.h"
#include "compiler/Planner/RectangleTable.h"

using namespace accum::planner;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  (void)parsePlan(text, "input");
  (void)parseProfile(text, "input", HostFacts());
  (void)parseRectangles(text, "input");
  return 0;
}
