// SPDX-License-Identifier: Apache-2.0
// Rectangles in, rectangles with offsets out.
#include "compiler/Planner/Problem/Quantity.h"
#include "tools/accum-plan/RectangleTable.h"
#include "tools/accum-plan/Surface.h"
#include <fmt/format.h>
#include <iostream>

namespace accum::planner {

/// The budget is a capacity in bytes.
static Result<int64_t> capacityOf(const Flags &flags) {
  if (flags.memory.empty())
    return flags.capacity;
  if (flags.capacity > 0)
    return Error{"--memory and --capacity are both given; for rectangles they say the same", "usage"};
  return parseBytes(flags.memory);
}

int packTable(const Flags &flags, const std::string &text) {
  Result<int64_t> wanted = capacityOf(flags);
  if (!wanted)
    return fail(wanted.error());
  PackingEffort effort{
      .enough = *wanted, .visits = flags.effort * 1'000'000, .seed = flags.seed, .deadline = flags.deadline};
  Result<RectangleTable> table = parseRectangles(text, flags.input);
  if (!table)
    return fail(table.error());
  Packing packing = pack(*table, effort);
  int64_t capacity = *wanted > 0 ? *wanted : packing.height;
  std::cerr << fmt::format("{} rectangle{}: height {}, lower bound {}\n", table->rows.size(),
                           table->rows.size() == 1 ? "" : "s", packing.height, packing.lowerBound);
  if (flags.explain)
    (flags.output.empty() ? std::cerr : std::cout) << explain(*table, packing);
  if (packing.height > capacity)
    return fail({fmt::format("{}: does not fit into {}: {}", flags.input, capacity,
                             packing.lowerBound > capacity ? "proved" : "gave up"),
                 "does-not-fit"});
  if (Status status = verify(*table, packing.offsets, capacity); !status)
    return fail(status.error());
  Status status = writeOutput(flags.output, toCsv(*table, packing.offsets));
  return status ? 0 : fail(status.error());
}

} // namespace accum::planner
