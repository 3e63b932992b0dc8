// SPDX-License-Identifier: Apache-2.0
// From rejections to messages.
#include "passes/Check/Report.h"

using namespace mlir;
using Kind = accum::nn::Refusal::Kind;

namespace accum {

void nameNode(Location location, Operation *op, std::string &node, std::string &opType) {
  if (auto fused = dyn_cast<FusedLoc>(location); fused && !fused.getLocations().empty())
    return nameNode(fused.getLocations().front(), op, node, opType);
  opType = op ? op->getName().getStringRef().str() : "";
  auto name = dyn_cast<NameLoc>(location);
  if (!name)
    return;
  node = name.getName().str();
  if (auto type = dyn_cast<NameLoc>(name.getChildLoc()))
    opType = type.getName().str();
}

static std::string spell(Operation *op) {
  std::string node, opType;
  nameNode(op->getLoc(), op, node, opType);
  return node.empty() ? opType : "`" + node + "` (" + opType + ")";
}

static StringRef slugOf(Kind kind) {
  switch (kind) {
  case Kind::NoBatchAxis:
    return "unsupported";
  case Kind::LossIsConstant:
  case Kind::LossPerSample:
    return "no-loss";
  case Kind::Misplaced:
    return "";
  default:
    return "cross-batch";
  }
}

/// How to change the model so that it compiles.
static StringRef wayOutOf(Kind kind) {
  switch (kind) {
  case Kind::MixesSamples:
    return "work within a sample: keep the batch an axis of its own and normalise, scan or sort along others";
  case Kind::PairsSamples:
    return "in a micro-batch a sample meets fewer others, which dividing by the number of steps does not "
           "repair; "
           "a loss per sample compiles";
  case Kind::TakesPart:
    return "select within samples, or choose the samples in the data";
  case Kind::BatchBakedIn:
    return "export with a dynamic batch axis; a constant that all samples share has extent 1 there";
  case Kind::DependsOnPlace:
    return "the place of a sample in the batch changes from step to step: pass such a value as an input";
  case Kind::SumMeetsSamples:
    return "take the statistics within a sample (LayerNorm, GroupNorm), or freeze them";
  case Kind::NonLinearInSum:
    return "the sum is complete only after the last micro-step: apply the function to each sample, or to the "
           "reported loss";
  case Kind::MeanOfParameters:
    return "divide by what depends on the inputs only, such as the number of targets: that is computed first";
  case Kind::NoBatchAxis:
    return "every input holds one entry per sample; make a constant table an initializer";
  case Kind::LossIsConstant:
    return "name another output: --loss OUTPUT";
  case Kind::LossPerSample:
    return "reduce it in the model: loss.mean(), or loss.sum()";
  case Kind::ReplicatedTerm:
  case Kind::Misplaced:
    return "";
  }
  llvm_unreachable("all kinds handled");
}

Cause describe(const Rejection &rejection) {
  Cause cause;
  cause.kind = rejection.why.kind;
  nameNode(rejection.location, rejection.op, cause.node, cause.opType);
  cause.sentence = rejection.why.sentence;
  cause.slug = slugOf(cause.kind);
  for (Operation *origin : rejection.origins)
    cause.notes.push_back("the sum over the batch is taken by " + spell(origin));
  if (cause.opType == "BatchNormalization")
    cause.notes.push_back("to accumulate: export after model.eval() (statistics frozen, scale and bias still "
                          "train), or use GroupNorm");
  else if (StringRef wayOut = wayOutOf(cause.kind); !wayOut.empty())
    cause.notes.push_back(wayOut.str());
  return cause;
}

void emit(Location location, const Cause &cause) {
  InFlightDiagnostic diagnostic = emitError(location) << cause.sentence;
  if (!cause.slug.empty())
    diagnostic << " [" << cause.slug << "]";
  for (const std::string &note : cause.notes)
    diagnostic.attachNote() << note;
}

} // namespace accum
