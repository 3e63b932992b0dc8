// SPDX-License-Identifier: Apache-2.0
// The forward walk: from what inputs hold after the end to what the loss depends on.
#pragma once

#include "passes/Lengths/Facts.h"
#include "passes/Lengths/Lockstep.h"
#include "passes/Lengths/Tables.h"

namespace accum::lengths {

/// What one input is taken to hold after the end of a sample, along one axis.
struct Presumed {
  unsigned argument;
  int64_t axis;
  std::optional<double> fill;
  /// The number at all positions of the sample.
  std::optional<double> before;
  /// The number at position 0, where a sample has several rows of which some end earlier.
  std::optional<double> first = std::nullopt;
};

/// What is known of every value of the smallest size, given these inputs.
llvm::DenseMap<mlir::Value, Facts> inferFacts(const Lockstep &sizes, Tables &tables,
                                              llvm::ArrayRef<Presumed> inputs);

/// Null where the loss depends on neither the size nor what is after the end, given these inputs.
std::shared_ptr<const Cause> findCause(const Lockstep &sizes, Tables &tables,
                                       llvm::ArrayRef<Presumed> inputs);

} // namespace accum::lengths
