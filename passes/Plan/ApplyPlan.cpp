// SPDX-License-Identifier: Apache-2.0
// A plan as the module's attribute.
#include "compiler/Planner/Problem/Plan.h"
#include "compiler/Planner/Problem/Recompute.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Sharing/Units.h"
#include "dialects/Train/OneParameter.h"
#include "passes/Plan/Plan.h"

using namespace mlir;

namespace accum {

DictionaryAttr shardAttr(MLIRContext *context, const planner::Problem &problem, const planner::Plan &plan) {
  planner::Result<Sharing> sharing = planner::sharingOf(plan);
  if (!sharing)
    return {};
  bool isSharded = sharing->isSharded() && plan.devices > 1;
  bool cutsParameters = sharing->cutsParameters(plan.devices);
  if (!isSharded && !sharing->isOffloaded())
    return {};
  Builder builder(context);
  planner::UnitLayout layout = planner::unitsOf(problem.parameters, cutsParameters, plan.devices);
  std::vector<int64_t> counts = layout.counts, pieces = layout.pieces;
  if (sharing->gathersParameters(plan.devices)) { // after the trained ones
    planner::UnitLayout frozen = planner::unitsOf(problem.frozen, /*cutParameters=*/true, plan.devices);
    llvm::append_range(counts, frozen.counts);
    llvm::append_range(pieces, frozen.pieces);
  }
  NamedAttrList entries;
  entries.set("mode", builder.getStringAttr(toText(isSharded ? sharing->shard : Shard::None)));
  if (sharing->isOffloaded())
    entries.set("offload", builder.getStringAttr(plan.offload));
  if (sharing->reduceEach)
    entries.set("each", builder.getUnitAttr());
  planner::UnitMemory memory = planner::unitMemory(problem, *sharing, plan.devices, plan.room);
  for (auto [name, bytes] : {std::pair("copies", memory.copies),
                             {"gathered", memory.room.gathered},
                             {"scattered", memory.room.scattered},
                             {"staged", memory.staged}})
    if (bytes > 0)
      entries.set(name, builder.getI64IntegerAttr(bytes));
  entries.set("units", builder.getDenseI64ArrayAttr(counts));
  entries.set("pieces", builder.getDenseI64ArrayAttr(pieces));
  if (layout.copied > 0 && entries.get("copies"))
    entries.set("copied", builder.getI64IntegerAttr(static_cast<int64_t>(layout.copied)));
  return entries.getDictionary(context);
}

/// Parameters stand in the order of the state: trained ones, where a device has its part of them those with
/// copies first; then frozen ones that are in units, too.
static void orderParameters(ModuleOp module, const planner::Problem &problem, const planner::Plan &plan) {
  planner::Result<Sharing> sharing = planner::sharingOf(plan);
  bool cutsParameters = sharing && sharing->cutsParameters(plan.devices);
  if (!cutsParameters && !(sharing && sharing->gathersParameters(plan.devices) && !problem.frozen.empty()))
    return; // the module's order is the model file's
  SymbolTable symbols(module);
  Builder builder(module.getContext());
  for (auto [number, param] : llvm::enumerate(module.getOps<train::ParamOp>()))
    if (!param->hasAttr(train::kModelNumber)) // ordered by an earlier plan
      param->setAttr(train::kModelNumber, builder.getI64IntegerAttr(static_cast<int64_t>(number)));
  auto moveToFront = [&](StringRef name) {
    if (auto param = symbols.lookup<train::ParamOp>(name))
      param->moveBefore(&module.getBody()->front());
  };
  for (const planner::Parameter &frozen : llvm::reverse(problem.frozen))
    moveToFront(frozen.label);
  auto order = planner::unitsOf(problem.parameters, cutsParameters, plan.devices).order;
  for (size_t number : llvm::reverse(order))
    moveToFront(problem.parameters[number].label);
}

/// The commands that run again, and those that they stand before; null where none does.
static std::pair<DenseI64ArrayAttr, DenseI64ArrayAttr>
repetitionsOf(Builder &builder, const planner::Problem &problem, const planner::Plan &plan) {
  SmallVector<int64_t> ids, before;
  std::vector<int> positions;
  if (auto choice = planner::choiceOf(problem, plan); choice && !plan.recompute.empty())
    positions = planner::Recomputation(problem).positions(choice->recomputed);
  for (auto [index, at] : llvm::enumerate(positions))
    if (at != planner::kNoIndex) {
      ids.push_back(problem.commands[index].id);
      before.push_back(problem.commands[at].id);
    }
  if (ids.empty())
    return {};
  return {builder.getDenseI64ArrayAttr(ids), builder.getDenseI64ArrayAttr(before)};
}

void applyPlan(ModuleOp module, const planner::Problem &problem, const planner::Plan &step,
               ArrayRef<planner::Plan> others) {
  Builder builder(module.getContext());
  orderParameters(module, problem, step);
  DictionaryAttr shard = shardAttr(module.getContext(), problem, step);
  SmallVector<NamedAttribute> slots;
  SmallVector<const planner::Plan *> plans = {&step};
  for (const planner::Plan &other : others)
    plans.push_back(&other);
  int64_t scratch = 0;
  for (const planner::Plan *plan : plans)
    scratch = std::max(scratch, plan->scratch);
  for (const planner::Plan *plan : plans)
    for (const auto &[id, offset] : plan->slots)
      slots.push_back(builder.getNamedAttr(id, builder.getI64IntegerAttr(offset)));
  SmallVector<NamedAttribute> variants;
  for (const planner::Plan *plan : plans)
    for (const auto &[id, variant] : plan->variants)
      variants.push_back(builder.getNamedAttr(std::to_string(id), builder.getStringAttr(variant)));
  DictionaryAttr variant = variants.empty() ? DictionaryAttr() : builder.getDictionaryAttr(variants);
  auto [recompute, before] = repetitionsOf(builder, problem, step);
  module->setAttr("train.plan", train::PlanAttr::get(module.getContext(), step.cut.m, step.devices,
                                                     step.state, scratch, step.alignment, variant, recompute,
                                                     before, shard, builder.getDictionaryAttr(slots)));
}

} // namespace accum
