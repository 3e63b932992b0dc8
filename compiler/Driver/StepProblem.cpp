// SPDX-License-Identifier: Apache-2.0
// Lines of the state, gradients, and tokens.
#include "compiler/Driver/StepProblem.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "dialects/Device/DeviceDialect.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace accum::driver {

void addStateLines(const runtime::Manifest &manifest, planner::Problem &problem) {
  int64_t trained = 0, frozen = 0, slots = 0;
  for (const runtime::ParameterSpec &param : manifest.params) {
    auto bytes = static_cast<int64_t>(param.bytes());
    (param.trained ? trained : frozen) += bytes;
    slots += static_cast<int64_t>(param.slotBytes());
    problem.largestParameter = std::max(problem.largestParameter, param.trained ? bytes : 0);
  }
  auto gradients = static_cast<int64_t>(manifest.gradients.bytes);
  auto rest = static_cast<int64_t>(manifest.stateBytes) - trained - frozen - slots - gradients;
  using planner::StateRole;
  auto add = [&](const std::string &name, int64_t bytes, StateRole role = StateRole::Other) {
    if (bytes != 0)
      problem.fixed.push_back({planner::FixedKind::State, name, {.fixed = bytes}, role});
  };
  std::string type = manifest.gradients.dtype == ACCUM_F64 ? "f64" : "f32";
  add("weights " + type, trained, StateRole::Parameters);
  add("frozen tensors", frozen);
  add("gradients " + type, gradients, StateRole::Gradients);
  add(manifest.optimizer + " state", slots, StateRole::Optimizer);
  add(planner::kAlignmentLine, rest);
}

void orderGradients(const runtime::Manifest &manifest, planner::Problem &problem) {
  llvm::StringMap<planner::Gradient> known;
  for (planner::Gradient &gradient : problem.gradients)
    known[gradient.label] = gradient;
  problem.gradients.clear();
  for (const runtime::ParameterSpec &spec : manifest.params)
    if (spec.trained) {
      auto found = known.find(spec.onnxName);
      planner::Gradient gradient = found == known.end() ? planner::Gradient{} : found->second;
      gradient.bytes =
          static_cast<int64_t>(llvm::alignTo(spec.bytes(), static_cast<uint64_t>(device::kStateAlignment)));
      gradient.label = spec.onnxName;
      problem.gradients.push_back(std::move(gradient));
    }
}

void noteReadAs(planner::Problem &step, planner::Problem &eval) {
  for (auto [one, other] : llvm::zip_equal(step.gradients, eval.gradients)) {
    bool isCopied = !one.copyReaders.empty() || !other.copyReaders.empty();
    bool isRead = !one.readers.empty() || !other.readers.empty();
    one.readAs = !isCopied ? planner::ReadAs::Itself : isRead ? planner::ReadAs::Both : planner::ReadAs::Copy;
    other.readAs = one.readAs;
  }
}

int64_t tokensPerSample(train::StepOp step) {
  auto type = dyn_cast<RankedTensorType>(step.getMicro().getArgument(0).getType());
  bool isTokens = type && type.getRank() == 2 && type.getElementType().isInteger(64);
  return isTokens ? type.getNumElements() / train::wholeBatchOf(step->getParentOp()).value_or(1) : 0;
}

} // namespace accum::driver
