// SPDX-License-Identifier: Apache-2.0
// Proves that what is after the end of a sample, where it is shorter than its size, does not reach the loss.
#include "passes/Lengths/CheckPadding.h"
#include "dialects/NN/NNDialect.h"
#include "passes/Lengths/Inputs.h"
#include "passes/Lengths/NormalForm.h"
#include "passes/Lengths/PaddingWalk.h"
#include "passes/Lengths/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_CHECKPADDING
#include "passes/Lengths/Passes.h.inc"

using namespace lengths;

namespace {
/// Which inputs a proof may take to hold their fill after the end, and 1 before it: of several rows, each
/// before its own end, which is not in front of all.
class Proof {
public:
  Proof(const Lockstep &sizes, Tables &tables)
      : sizes(sizes), tables(tables), candidates(findCandidates(sizes)), filled(candidates.size()),
        ones(candidates.size()) {
    for (auto [i, each] : llvm::enumerate(candidates)) {
      filled[i] = each.use != Use::Nothing;
      ones[i] = each.use == Use::Mask || each.use == Use::Weights;
    }
  }

  std::shared_ptr<const Cause> cause() const {
    SmallVector<Presumed> inputs;
    for (auto [i, each] : llvm::enumerate(candidates)) {
      std::optional<double> one = filled[i] && ones[i] ? std::optional(1.0) : std::nullopt;
      inputs.push_back({each.argument, each.axis, filled[i] ? std::optional(each.fill) : std::nullopt,
                        each.hasRows ? std::nullopt : one, each.hasRows ? one : std::nullopt});
    }
    return findCause(sizes, tables, inputs);
  }

  /// Does without what the proof does not need: the less it needs, the more data has an end.
  void relax() {
    for (auto i : llvm::seq(candidates.size()))
      relax(ones, i);
    for (Use use : {Use::PadIds, Use::Weights, Use::Mask, Use::Labels})
      for (auto [i, each] : llvm::enumerate(candidates))
        if (each.use == use)
          relax(filled, i);
  }

  SmallVector<PaddedInput> inputs() const {
    SmallVector<PaddedInput> inputs;
    for (auto [i, each] : llvm::enumerate(candidates))
      inputs.push_back({each.argument, each.axis, each.fill, filled[i], filled[i] && ones[i]});
    return inputs;
  }

private:
  void relax(SmallVector<bool> &facts, size_t i) {
    if (!facts[i])
      return;
    facts[i] = false;
    if (cause())
      facts[i] = true;
  }

  const Lockstep &sizes;
  Tables &tables;
  SmallVector<Candidate> candidates;
  SmallVector<bool> filled, ones;
};
} // namespace

namespace {
/// What came of one try: inputs, or why not.
struct Outcome {
  SmallVector<PaddedInput> inputs;
  std::shared_ptr<const Cause> cause;
  Operation *different = nullptr; ///< the graphs cannot be compared

  bool isProved() const { return !cause && !different; }
};
} // namespace

static Outcome prove(ArrayRef<func::FuncOp> sizes) {
  Outcome outcome;
  std::optional<Lockstep> lockstep = Lockstep::of(sizes, outcome.different);
  if (!lockstep)
    return outcome;
  Tables tables(*lockstep);
  Proof proof(*lockstep, tables);
  outcome.cause = proof.cause();
  if (outcome.cause)
    return outcome;
  proof.relax();
  outcome.inputs = proof.inputs();
  return outcome;
}

static LogicalResult report(const Outcome &outcome, StringRef dimension) {
  if (outcome.different) {
    InFlightDiagnostic error = emitError(outcome.different->getLoc())
                               << "is computed in another form at another size of `" << dimension
                               << "`, so that the sizes cannot be compared [padding-reaches-loss]";
    error.attachNote() << "leave out sizes at which the graph folds, such as 1, or give one size";
    return failure();
  }
  InFlightDiagnostic error = emitError(outcome.cause->op->getLoc())
                             << outcome.cause->sentence << ", so that padding along `" << dimension
                             << "` would change the loss [padding-reaches-loss]";
  if (!outcome.cause->wayOut.empty())
    error.attachNote() << outcome.cause->wayOut;
  error.attachNote() << "or give `" << dimension << "` one size: every sample is then padded to that";
  return failure();
}

/// As the graphs are; where that fails in the one form, in which more can be seen.
FailureOr<SmallVector<PaddedInput>> checkPadding(ArrayRef<ModuleOp> sizes, StringRef dimension) {
  SmallVector<func::FuncOp> forwards;
  for (ModuleOp size : sizes)
    forwards.push_back(size.lookupSymbol<func::FuncOp>("forward"));
  Outcome written = prove(forwards);
  if (written.isProved())
    return written.inputs;
  SmallVector<OwningOpRef<func::FuncOp>> copies;
  for (func::FuncOp &forward : forwards) {
    copies.push_back(inNormalForm(forward));
    forward = *copies.back();
  }
  Outcome normal = prove(forwards);
  if (normal.isProved())
    return normal.inputs;
  // What is put together and then read at a constant index is slices there: another node is the reason.
  bool isApart = normal.cause && written.cause && isa<nn::ConcatOp>(written.cause->op);
  return report(written.different || isApart ? normal : written, dimension);
}

namespace {
struct CheckPadding : impl::CheckPaddingBase<CheckPadding> {
  using CheckPaddingBase::CheckPaddingBase;

  void runOnOperation() override {
    auto sizes = llvm::to_vector(getOperation().getOps<ModuleOp>());
    FailureOr<SmallVector<PaddedInput>> inputs = checkPadding(sizes, dimension);
    if (failed(inputs))
      return signalPassFailure();
    auto forward = sizes.front().lookupSymbol<func::FuncOp>("forward");
    for (const PaddedInput &input : *inputs) {
      auto name = forward.getArgAttrOfType<StringAttr>(input.argument, "train.name");
      emitRemark(forward.getLoc()) << (name ? name.str() : "input " + std::to_string(input.argument))
                                   << " axis " << input.axis << ": "
                                   << std::to_string(static_cast<int64_t>(input.fill)) << " after the end"
                                   << (input.isOnes   ? ", 1 before it"
                                       : input.isMask ? ", which tells it"
                                                      : "");
    }
  }
};
} // namespace

} // namespace accum
