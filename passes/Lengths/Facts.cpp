// SPDX-License-Identifier: Apache-2.0
// What is known of a value along the axes that depend on the size.
#include "passes/Lengths/Facts.h"
#include "llvm/ADT/STLExtras.h"

namespace accum::lengths {

const RaggedAxis *Facts::along(int64_t axis) const {
  const auto *found = llvm::find_if(axes, [&](const RaggedAxis &each) { return each.axis == axis; });
  return found == axes.end() ? nullptr : found;
}

RaggedAxis *Facts::along(int64_t axis) {
  return const_cast<RaggedAxis *>(static_cast<const Facts *>(this)->along(axis));
}

const RaggedAxis *Facts::other(int64_t axis) const {
  if (axes.size() != 2 || !along(axis))
    return nullptr;
  return axes[0].axis == axis ? &axes[1] : &axes[0];
}

RaggedAxis *Facts::other(int64_t axis) {
  return const_cast<RaggedAxis *>(static_cast<const Facts *>(this)->other(axis));
}

void normalise(Facts &facts) {
  if (facts.axes.size() != 2)
    facts.diagonal = {};
  for (RaggedAxis &each : facts.axes) {
    std::optional<Fill> &fill = each.fill;
    if (fill && !fill->isOfAll() && facts.axes.size() != 2)
      fill.reset();
    if (fill && fill->isOfAll() && fill->kind == Fill::Kind::Number && fill->from <= each.known)
      each.known = kEverywhere;
  }
}

} // namespace accum::lengths
