// SPDX-License-Identifier: Apache-2.0
// What the sections of the report draw: one plan laid out in time and address.
#pragma once
#include "compiler/Report/BudgetAnswers.h"
#include "compiler/Report/Page.h"
#include <array>

namespace accum::planner::report {

/// A rectangle of the arena: one storage, or a command's workspace.
struct Block {
  int start = 0, end = 0; ///< half-open over the commands
  int64_t offset = 0, size = 0;
  BufferKind kind = BufferKind::Activation;
  std::string label = {};
};

/// One layer of the stacked areas, from the bottom up.
struct Layer {
  std::string name = {};
  std::string style = {};          ///< its pattern
  std::vector<int64_t> bytes = {}; ///< per command
  int64_t atPeak = 0;
};

struct PhaseSpan {
  int phase = 0;
  int begin = 0, end = 0;
};

struct View {
  Problem problem; ///< the one that runs
  const DeviceProfile &profile;
  const Search &search;
  const PageFacts &facts;
  BudgetAnswers budgets = {};
  /// The plan, or where nothing fits the one of the least budget; absent where not even that one exists.
  std::optional<Plan> plan = {};
  PeakMoment peak = {};
  std::vector<MemoryLine> memory = {};
  bool fits() const { return search.plan.has_value(); }

  std::vector<double> seconds = {}; ///< per command, one run
  /// Where each command begins on the time axis, in [0, 1]; one more entry for the end. One iteration of
  /// every phase, in predicted time.
  std::vector<double> starts = {};
  std::vector<PhaseSpan> phases = {};
  std::vector<Block> blocks = {};
  std::vector<Layer> layers = {};
  int lossCommand = kNoIndex; ///< the first of the micro-step: where the forward pass ends
};

/// Asks the search for the other budgets, and for the least plan where nothing fits.
Result<View> makeView(const Problem &problem, const DeviceProfile &profile, const Options &options,
                      const Search &search, const PageFacts &facts);

/// The pattern of a kind of buffer, and the name of its memory line.
const char *styleOf(BufferKind kind);

} // namespace accum::planner::report
