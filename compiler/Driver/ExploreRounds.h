// SPDX-License-Identifier: Apache-2.0
// How often which size is timed, and what its time is: nothing here compiles or runs anything.
#pragma once

#include "compiler/Driver/Options.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace accum::driver {

/// Rounds that every size has its turn in, and rounds behind them for those that were disturbed.
constexpr int kExploreRounds = 3, kMoreRounds = 3;

/// Steps of the next turn of a size, the one to warm up among them: some twentieth of a second of short ones,
/// one of long ones, by what was measured, in its first turn by its prediction.
int64_t turnSteps(const ExploredSize &size);

/// The lower quartile: what takes time from a program comes on top of what it takes. `seconds` is not empty.
double undisturbed(std::vector<double> seconds);

/// How far steps of one size lie apart: the upper quartile over the lower one, less 1.
double scatter(std::vector<double> seconds);

/// One turn of a size: seconds of its steps behind one to warm up. Empty where its program does not run.
using TimeSteps = llvm::function_ref<std::vector<double>(const ExploredSize &)>;

/// Times all sizes in turns, there and back, so that a machine that is slower for a while is so for all of
/// them; then those again that were disturbed, beside the fastest: steps that scatter by more than a tenth,
/// or that stand further above their prediction than those of another size, by more than 15 %. Fills in what
/// was measured and marks the fastest. The size whose program does not run, or null.
const ExploredSize *timeInTurns(std::vector<ExploredSize> &sizes, TimeSteps time);

/// The sizes that were timed, a line each, and how far they can be told apart.
std::string describeExplored(const std::vector<ExploredSize> &sizes, int64_t compared);

/// `the fastest of 4 sizes timed here, of 12`, for the line that says why the size was chosen; empty where
/// nothing was timed or there was nothing to compare.
std::string whyExplored(const std::vector<ExploredSize> &sizes, int64_t compared);

} // namespace accum::driver
