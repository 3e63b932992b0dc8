// SPDX-License-Identifier: Apache-2.0
// The plans of several sizes, which share one arena and one step.
#pragma once

#include "compiler/Driver/Options.h"
#include "compiler/Planner/Search/Solve.h"
#include "compiler/Report/Page.h"
#include "mlir/IR/Builders.h"
#include <nlohmann/json.hpp>

namespace accum::driver {

/// Ascending, as the options' sizes.
using LengthPlans = std::vector<const planner::Plan *>;

template <typename Sizes> LengthPlans plansOf(const Sizes &sizes) {
  LengthPlans plans;
  for (const auto &size : sizes)
    plans.push_back(&*size->search().plan);
  return plans;
}

/// `16`, or `16x8` of two dimensions.
std::string textOf(const std::vector<int64_t> &sizes);

/// Samples of a step that have this length: where nothing is known, lengths are taken to be spread evenly.
int64_t batchOf(const Options &options, size_t length);

/// Of each length a micro-batch that fits: together they take the least time for batches of such lengths,
/// whose samples move up where their own micro-steps would not be full.
std::vector<int64_t> chooseMicroBatches(const Options &options,
                                        const std::vector<const planner::Search *> &searches);

/// Predicted seconds of one micro-step.
double microStepSeconds(const planner::Plan &plan);

/// Seconds of a micro-step of m samples: perSample * m + fixed, through the micro-batches that fit.
struct MicroStepLine {
  double perSample = 0, fixed = 0;
};
MicroStepLine microStepLine(const planner::Search &search);

/// What a device holds where each size takes the arena in turn: of each part of memory the most.
std::vector<planner::MemoryLine> memoryOfAll(const LengthPlans &plans);

/// The largest size's plan with the memory of all, and with their time in the mean of drawn batches:
/// plan.json.
planner::Plan planOfAll(const Options &options, const LengthPlans &plans);

/// What the program says of its lengths.
mlir::ArrayAttr lengthsAttr(mlir::Builder &builder, const Options &options, const LengthPlans &plans);

/// A row for each size: micro-batch, bytes, time; and what they take together of a budget.
std::string describeLengths(const Options &options, const LengthPlans &plans, int64_t budget);
std::vector<planner::report::LengthRow> lengthRows(const Options &options, const LengthPlans &plans);
nlohmann::ordered_json lengthsJson(const Options &options, const LengthPlans &plans);

} // namespace accum::driver
