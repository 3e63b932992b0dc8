// SPDX-License-Identifier: Apache-2.0
// Why an op has no placement rule for its operands.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include <string>

namespace accum::nn {

struct Refusal {
  enum class Kind {
    /// The op works along the batch axis itself: softmax, cumsum, norm over it, or a reshape across samples.
    MixesSamples,
    /// Entries of the result belong to two samples at once: x @ y^T.
    PairsSamples,
    /// Some samples are picked out of the batch: h[:3], h[0].
    TakesPart,
    /// An operand has the batch size of the export as a constant extent.
    BatchBakedIn,
    /// The value differs with the place of a sample in the batch: an iota over it.
    DependsOnPlace,
    /// A sum over the samples meets single samples: h - sum(h). `operands` are the sums; their totals would
    /// do.
    SumMeetsSamples,
    /// A sum over the samples is used in a way that is not linear. `operands` are the sums; the total of one,
    /// or of
    /// all, would do.
    NonLinearInSum,
    /// A value that is the same for all samples is added to a sum over them. `operands` are those values; as
    /// shares
    /// they would do.
    ReplicatedTerm,
    // What only the whole graph shows:
    /// Divides by a sum over the samples that depends on parameters.
    MeanOfParameters,
    /// An input without a batch axis.
    NoBatchAxis,
    /// The loss is the same for every batch.
    LossIsConstant,
    /// The loss is one value per sample, or not a scalar.
    LossPerSample,
    /// An op that only the compiler makes does not stand where it may: our own bug.
    Misplaced,
  };

  Kind kind = Kind::Misplaced;
  /// What the op does, without its name: "takes the softmax over the batch axis 0 of [N, 8]".
  std::string sentence;
  /// Numbers of the operands to blame, ascending; empty where it is all of them.
  llvm::SmallVector<unsigned, 2> operands;
};

} // namespace accum::nn
