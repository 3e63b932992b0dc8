// SPDX-License-Identifier: Apache-2.0
// A plan as the module's attribute.
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Sharing/Units.h"
#include "passes/Plan/Plan.h"

using namespace mlir;

namespace accum {

DictionaryAttr shardAttr(MLIRContext *context, const planner::Problem &problem, const planner::Plan &plan) {
  bool isSharded = plan.shard != "none" && plan.devices > 1, isOffloaded = plan.offload != "none";
  if (!isSharded && !isOffloaded)
    return {};
  Builder builder(context);
  std::vector<int64_t> bytes;
  for (const planner::Gradient &gradient : problem.gradients)
    bytes.push_back(gradient.bytes);
  NamedAttrList entries;
  entries.set("mode", builder.getStringAttr(isSharded ? plan.shard : "none"));
  if (isOffloaded)
    entries.set("offload", builder.getStringAttr(plan.offload));
  if (plan.reduce == "each")
    entries.set("each", builder.getUnitAttr());
  for (auto [name, line] : {std::pair("gathered", planner::kGatheredLine),
                            {"scattered", planner::kScatteredLine},
                            {"staged", planner::kStagedLine}})
    for (const planner::MemoryLine &each : plan.memory)
      if (each.name == line)
        entries.set(name, builder.getI64IntegerAttr(each.bytes));
  std::vector<int64_t> units = planner::shardUnits(bytes), pieces;
  for (const planner::UnitSize &unit : planner::unitSizes(bytes, units, plan.devices))
    pieces.push_back(unit.pieces);
  entries.set("units", builder.getDenseI64ArrayAttr(units));
  entries.set("pieces", builder.getDenseI64ArrayAttr(pieces));
  return entries.getDictionary(context);
}

void applyPlan(ModuleOp module, const planner::Problem &problem, const planner::Plan &step,
               const planner::Plan &eval) {
  Builder builder(module.getContext());
  DictionaryAttr shard = shardAttr(module.getContext(), problem, step);
  SmallVector<NamedAttribute> slots;
  for (const planner::Plan *plan : {&step, &eval})
    for (const auto &[id, offset] : plan->slots)
      slots.push_back(builder.getNamedAttr(id, builder.getI64IntegerAttr(offset)));
  int64_t scratch = std::max(step.scratch, eval.scratch);
  SmallVector<NamedAttribute> variants;
  for (const planner::Plan *plan : {&step, &eval})
    for (const auto &[id, variant] : plan->variants)
      variants.push_back(builder.getNamedAttr(std::to_string(id), builder.getStringAttr(variant)));
  DictionaryAttr variant = variants.empty() ? DictionaryAttr() : builder.getDictionaryAttr(variants);
  DenseI64ArrayAttr recompute =
      step.recompute.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(step.recompute);
  module->setAttr("train.plan", train::PlanAttr::get(module.getContext(), step.cut.m, step.devices,
                                                     step.state, scratch, step.alignment, variant, recompute,
                                                     shard, builder.getDictionaryAttr(slots)));
}

} // namespace accum
