// SPDX-License-Identifier: Apache-2.0
// The order of copies, waits and barriers.
#include "passes/Codegen/Cuda/TileStream.h"
#include "passes/Codegen/Cuda/Teams.h"

using namespace mlir;

namespace accum::codegen {

constexpr int64_t kNothing = -1; ///< where no row begins

Values TileStream::start(ValueRange state) {
  Values carried = {c.integer(0), c.integer(kNothing)};
  llvm::append_range(carried, state);
  return carried;
}

Values TileStream::restart(ValueRange carried) {
  Values after(carried);
  after[1] = c.integer(kNothing);
  return after;
}

Values TileStream::round(Value first, ValueRange carried, Load load, Arrived arrived, Work work) {
  if (stages == 1)
    return roundOfOne(first, carried, load, arrived, work);
  Value stage = carried[0], loaded = carried[1], other = c.sub(c.integer(1), stage),
        next = c.add(first, step);
  // Nobody reads this stage any more: its round was the one before the last, and threads have met since.
  c.when(c.differs(loaded, first), [&] {
    c.finishCopies(); // of other rows to the same place
    load(stage, first);
  });
  c.finishCopies();
  arrived(stage);
  barrier(c.b);
  c.when(c.below(next, end), [&] { load(other, next); });
  Values after = {other, next};
  llvm::append_range(after, work(stage, rest(carried)));
  return after;
}

Values TileStream::roundOfOne(Value first, ValueRange carried, Load load, Arrived arrived, Work work) {
  Value stage = carried[0];
  barrier(c.b); // what was there has been read
  load(stage, first);
  c.finishCopies();
  arrived(stage);
  barrier(c.b);
  Values after = {stage, carried[1]};
  llvm::append_range(after, work(stage, rest(carried)));
  return after;
}

} // namespace accum::codegen
