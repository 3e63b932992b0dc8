// SPDX-License-Identifier: Apache-2.0
// Every size by itself, then those again whose micro-batch suits the others better.
#include "compiler/Driver/LengthPlanner.h"
#include "compiler/Driver/LengthPlans.h"
#include "mlir/IR/Threading.h"
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace accum::driver {
namespace {

class LengthPlanner {
public:
  LengthPlanner(const Options &options, Workspace &workspace, Sizes &sizes)
      : options(options), workspace(workspace), sizes(sizes) {}

  LogicalResult planAll();

private:
  LogicalResult planEach(int64_t budget);
  LogicalResult planAlongside(ArrayRef<Compilation *> some);
  LogicalResult planTogether();
  Compilation &largest() { return *sizes.back(); }

  const Options &options;
  Workspace &workspace;
  Sizes &sizes;
};

} // namespace

/// Each size is planned for its share of the batch, under the whole budget, since one of them computes at a
/// time. State is spread alike: where that is open the largest size, which is planned first, decides.
LogicalResult LengthPlanner::planEach(int64_t budget) {
  for (size_t length = 0; length < sizes.size(); ++length) {
    Options &given = sizes[length]->given();
    given.batch = batchOf(options, length);
    given.microBatchText = options.microBatchText;
    if (budget > 0)
      given.memory = budget;
  }
  std::vector<Compilation *> open;
  for (const auto &size : sizes)
    open.push_back(size.get());
  if (options.shard == "auto" || options.offload == "auto") {
    open.pop_back();
    if (failed(planAlongside({&largest()})))
      return failure();
    const planner::Plan &plan = *largest().search().plan;
    for (const auto &size : sizes) {
      size->given().shard = plan.shard;
      size->given().offload = plan.offload;
    }
  }
  return planAlongside(open);
}

/// On several threads. The largest size speaks, once; the first error is that of the largest size that has
/// one.
LogicalResult LengthPlanner::planAlongside(ArrayRef<Compilation *> some) {
  struct Work {
    Compilation *size;
    Messages messages;
    bool good = false;
  };
  std::vector<Work> all;
  for (Compilation *size : llvm::reverse(some))
    all.push_back({size, Messages(std::filesystem::path(options.model).filename().string())});
  for (Work &work : all)
    work.messages.quietNotices(work.size != &largest() || !work.size->search().candidates.empty());
  parallelForEach(&workspace.context, all,
                  [](Work &work) { work.good = succeeded(work.size->plan(work.messages)); });
  for (const Work &work : all) {
    workspace.diagnostics.append(work.messages);
    if (!work.good)
      return failure();
  }
  workspace.diagnostics.dropNotices("micro-batch "); // how the share of a size is cut
  return success();
}

/// Plans that fit one by one may take more together, since one has the largest scratch and another the most
/// inputs: then all have that much less. What they take together is more than the largest of them by what
/// all have, so that a plan that fits is not passed by.
LogicalResult LengthPlanner::planAll() {
  constexpr int kTries = 16;
  int64_t allowed = 0, budget = 0;
  for (int tries = 0; tries < kTries; ++tries) {
    if (failed(planEach(allowed)))
      return failure();
    budget = tries == 0 ? largest().search().budget : budget;
    if (failed(planTogether()))
      return failure();
    int64_t over = planOfAll(options, plansOf(sizes)).counted() - budget;
    if (budget <= 0 || over <= 0)
      return success();
    allowed = (allowed > 0 ? allowed : budget) - over;
  }
  workspace.diagnostics.add(fmt::format("the sizes of {} fit one by one, but not together [does-not-fit]",
                                        fmt::join(options.lengths.dims, ", ")),
                            {"fewer sizes, or a smaller --micro-batch, take less"});
  return failure();
}

/// With the micro-batches that suit each other, where the options leave them open.
LogicalResult LengthPlanner::planTogether() {
  if (options.microBatchText != "auto")
    return success();
  std::vector<const planner::Search *> searches;
  for (const auto &size : sizes)
    searches.push_back(&size->search());
  std::vector<int64_t> together = chooseMicroBatches(options, searches);
  std::vector<Compilation *> others;
  for (size_t length = 0; length < sizes.size(); ++length) {
    if (sizes[length]->search().plan->cut.m == together[length])
      continue;
    sizes[length]->given().microBatchText = std::to_string(together[length]);
    others.push_back(sizes[length].get());
  }
  return planAlongside(others);
}

LogicalResult planLengths(const Options &options, Workspace &workspace, Sizes &sizes) {
  return LengthPlanner(options, workspace, sizes).planAll();
}

} // namespace accum::driver
