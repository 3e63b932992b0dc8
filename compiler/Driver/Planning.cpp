// SPDX-License-Identifier: Apache-2.0
// From a fused module to a plan.
#include "compiler/Driver/Planning.h"
#include "base/FormatBytes.h"
#include "compiler/Driver/ExploreRounds.h"
#include "compiler/Driver/Form.h"
#include "compiler/Driver/SplitBatch.h"
#include "compiler/Driver/TextFile.h"
#include "compiler/Planner/Problem/ProblemText.h"
#include "compiler/Planner/Problem/Quantity.h"
#include "compiler/Planner/Search/MemoryLines.h"
#include "compiler/Planner/Sharing/Sharing.h"
#include "compiler/Planner/Verify/Verify.h"
#include "compiler/Report/Explain.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/SplitBatch.h"
#include "mlir/IR/Threading.h"
#include "passes/Pipelines.h"
#include "passes/Plan/Plan.h"
#include "runtime/artifact/Optimizers.h"
#include "runtime/system/Memory.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::driver {
namespace {

LogicalResult report(const planner::Error &error, Messages &messages) {
  messages.add(fmt::format("{} [{}]", error.message, error.slug), error.notes);
  return failure();
}

planner::Options optionsOf(const Options &options, Messages &messages, bool &good) {
  planner::Options result = options;
  auto size = planner::parseMicroBatch(options.microBatchText);
  if (!size)
    good = succeeded(report(size.error(), messages));
  else
    result.microBatch = *size;
  return result;
}

/// A graph whose batch is in its shapes has one size.
LogicalResult holdWhole(ModuleOp module, planner::Options &asked, Messages &messages) {
  auto whole = train::wholeBatchOf(module), split = train::splitBatchOf(module);
  if (split && asked.batch != *split && !train::isOneOfSplitSizes(module)) // which has its share of it
    return report(
        {fmt::format("the dump is of a batch of {}, which is split where its samples meet: --batch {}",
                     *split, *split),
         "usage"},
        messages);
  if (!whole)
    return success();
  if (asked.batch != *whole || asked.devices != 1)
    return report({fmt::format("the dump computes a whole batch of {} on one device: --batch {} --devices 1",
                               *whole, *whole),
                   "usage"},
                  messages);
  asked.microBatch = {planner::MicroBatch::Forced, *whole, *whole};
  return success();
}

/// Why the optimizer's state cannot wait elsewhere, where that was asked for.
std::optional<planner::Error> checkOffload(const Options &options) {
  const runtime::OptimizerSpec *optimizer = runtime::findOptimizer(options.updateName());
  if (options.offload != "optimizer" || !optimizer)
    return std::nullopt;
  const char *why = optimizer->slots.empty()  ? "keeps no state"
                    : optimizer->isByTensor() ? "keeps rows and columns only, which stay on the device"
                                              : nullptr;
  if (!why)
    return std::nullopt;
  return planner::Error{fmt::format("--offload optimizer: {} {}", options.optimizer, why),
                        "usage",
                        {"--offload none or parameters, or another --optimizer"}};
}

/// Which plan would fit that spreads the state or moves it to memory of the host, with more of it than was
/// asked for. Empty: none.
std::string fitsOtherwise(const planner::Problem &problem, const planner::DeviceProfile &profile,
                          const planner::Options &asked) {
  for (auto [shard, offload] : {std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
    if ((shard && asked.shard != "none") || (offload && asked.offload != "none"))
      continue;
    planner::Options more = asked;
    std::string flags;
    if (shard) {
      more.shard = "auto";
      flags += "--shard auto ";
    }
    if (offload) {
      more.offload = "auto";
      flags += "--offload auto ";
    }
    auto other = planner::solve(problem, profile, more);
    if (other && other->plan)
      return fmt::format("{}fits: micro-batch {}, {}", flags, other->plan->cut.m, other->sharing);
  }
  return {};
}

/// What the planner says where nothing fits; a smaller size is no way out of a whole batch.
planner::Error explainNoFit(const planner::Search &search, ModuleOp module, const std::string &otherwise) {
  planner::Error error = planner::explainNoFit(search);
  if (train::wholeBatchOf(module))
    std::erase_if(error.notes, [](const std::string &note) { return note.starts_with("--micro-batch"); });
  if (!otherwise.empty())
    error.notes.push_back(otherwise);
  return error;
}

/// The same micro-batch for another step, in the scratch that the step has anyway; where it needs more, as
/// little as can be.
FailureOr<planner::Plan> planBeside(train::StepOp other, const planner::Plan &step,
                                    const planner::DeviceProfile &profile, Messages &messages) {
  planner::Problem problem = buildProblem(other);
  if (auto sharing = planner::sharingOf(step))
    problem = planner::sharedProblem(problem, *sharing, step.devices);
  planner::Options options;
  options.batch = step.batch;
  options.devices = step.devices;
  options.microBatch = {planner::MicroBatch::Forced, step.cut.m, step.cut.m};
  options.budget = int64_t{1} << 59;
  options.recompute = "none";
  auto search = planner::solve(problem, profile, options);
  if (search && search->plan && search->plan->scratch > step.scratch) {
    options.recompute = "all";
    search = planner::solve(problem, profile, options);
  }
  if (!search)
    return report(search.error(), messages);
  if (!search->plan) {
    messages.add(fmt::format("internal: @{} could not be planned", other.getSymName().str()));
    return failure();
  }
  if (planner::Status status = planner::verify(problem, *search->plan); !status)
    return report(status.error(), messages);
  return *search->plan;
}

/// Outputs that nobody asked for by name cost no memory: where they need more than the step, they are left
/// out.
FailureOr<std::optional<planner::Plan>> planOutputs(ModuleOp module, const Options &options,
                                                    const planner::Plan &step,
                                                    const planner::DeviceProfile &profile,
                                                    Messages &messages) {
  auto predict = module.lookupSymbol<train::StepOp>(train::kPredictFunction);
  if (!predict)
    return std::optional<planner::Plan>();
  auto plan = planBeside(predict, step, profile, messages);
  if (failed(plan))
    return failure();
  const planner::Plan &found = *plan;
  if (options.outputsAsked() != "auto" || found.scratch <= step.scratch)
    return std::optional(found);
  for (train::OutputOp output : train::outputsOf(predict))
    train::leaveOutput(module, output.getName(),
                       fmt::format("needs {} more memory than a step of training",
                                   formatBytes(plan->scratch - step.scratch)));
  predict.erase();
  return std::optional<planner::Plan>();
}

/// `--dump-phases FOLDER`: what the planner was asked, for accum-plan.
LogicalResult dumpProblem(planner::Problem problem, const planner::Options &asked, const std::string &folder,
                          Messages &messages) {
  problem.batch = asked.batch;
  problem.devices = asked.devices;
  std::string path = folder + "/problem.txt";
  std::string why = writeTextFile(path, planner::toText(problem));
  if (why.empty())
    return success();
  messages.add(fmt::format("--dump-phases: `{}` cannot be written: {} [output-failed]", path, why));
  return failure();
}

/// `micro-batch 64, 212 ms per step`.
std::string inShort(const planner::Result<planner::Search> &search) {
  if (!search || !search->plan)
    return "does not fit";
  return fmt::format("micro-batch {}, {} per step", search->plan->cut.m,
                     planner::formatSeconds(search->plan->seconds()));
}

/// Attention in tiles needs less memory; taken apart, its products run on faster units where precision
/// allows. Which one is faster, and whether that fits, only the plans tell. Both are searched, side by side
/// where there are threads; `module` and `form` become those of the faster one.
void searchBoth(ModuleOp module, ModuleOp apart, const planner::DeviceProfile &profile,
                const planner::Options &asked, const Options &options, Form &form, Planning &planning) {
  auto other = problemOf(apart, options);
  if (failed(other) || !planner::check(other->problem))
    return search(form, profile, asked, options);
  std::array<Form *, 2> forms = {&form, &*other};
  parallelForEach(module.getContext(), forms, [&](Form *each) { search(*each, profile, asked, options); });
  if (other->seconds() >= form.seconds()) {
    planning.attention = fmt::format("in tiles; as products and row kernels: {}", inShort(other->search));
    return;
  }
  planning.attention = fmt::format("as products and row kernels; in tiles: {}", inShort(form.search));
  module.getBodyRegion().takeBody(apart.getBodyRegion());
  form = std::move(*other);
}

OwningOpRef<ModuleOp> takeOtherForm(ModuleOp module) {
  auto apart = module.lookupSymbol<ModuleOp>(kOtherForm);
  if (apart)
    apart->remove();
  return apart;
}

/// Processes on one machine share what it has. Nothing where the system does not say.
std::optional<int64_t> hostBudget(int64_t devices) {
  uint64_t available = runtime::availableMemory();
  return available > INT64_MAX ? std::nullopt : std::optional(static_cast<int64_t>(available) / devices);
}

/// What --explain, --json and --report show beside the search itself.
LogicalResult explain(const planner::Problem &problem, const planner::DeviceProfile &profile,
                      const planner::Options &asked, const Options &options,
                      const planner::report::PageFacts &facts, Messages &messages, Planning &planning) {
  if (options.explain || options.json) {
    auto budgets = planner::askBudgets(problem, profile, asked, planning.search);
    if (!budgets)
      return report(budgets.error(), messages);
    planning.budgets = *budgets;
  }
  if (options.report.empty())
    return success();
  auto page = planner::report::writePage(problem, profile, asked, planning.search, facts);
  if (!page)
    return report(page.error(), messages);
  planning.page = std::move(*page);
  return options.isOneOfSizes ? success() : writePage(options, planning.page, messages);
}

} // namespace

LogicalResult writePage(const Options &options, const std::string &page, Messages &messages) {
  std::string why = writeTextFile(options.report, page);
  if (why.empty())
    return success();
  messages.add(fmt::format("--report {}: cannot be written: {} [output-failed]", options.report, why));
  return failure();
}

LogicalResult planModule(ModuleOp module, const Options &options, const planner::report::PageFacts &facts,
                         Messages &messages, Planning &planning) {
  auto profile = planner::loadProfile(options.target);
  if (!profile)
    return report(profile.error(), messages);
  StringRef precision = train::precisionOf(module);
  if (precision == "tf32" && profile->architecture.empty())
    return report({fmt::format("--precision tf32: target {} has no TF32", profile->name),
                   "usage",
                   {"f32 and bf16 run on every target"}},
                  messages);
  for (const std::string &notice : profile->notices)
    messages.addNotice(notice);
  if (auto notice = planner::bf16Notice(*profile); notice && precision == "bf16")
    messages.addNotice(*notice);
  bool good = true;
  planner::Options asked = optionsOf(options, messages, good);
  if (options.memory)
    planner::limitMemory(*options.memory, *profile, asked);
  else if (profile->memoryUsable == 0)
    asked.budget = hostBudget(options.devices);
  if (auto misfit = checkOffload(options))
    return report(*misfit, messages);
  if (!good || failed(holdWhole(module, asked, messages)))
    return failure();
  OwningOpRef<ModuleOp> apart = takeOtherForm(module);
  auto form = problemOf(module, options);
  if (failed(form))
    return failure();
  if (planner::Status status = planner::check(form->problem); !status)
    return report(status.error(), messages);
  if (auto batch = train::splitBatchOf(module))
    if (auto misfit = misfitOfSplit(form->problem, *batch))
      return report(*misfit, messages);
  if (apart)
    searchBoth(module, *apart, *profile, asked, options, *form, planning);
  else
    search(*form, *profile, asked, options);
  asked.known = &form->known;
  if (form->search && form->search->plan && !form->search->modes.empty()) {
    asked.shard = form->search->plan->shard;
    asked.offload = form->search->plan->offload;
  }
  const planner::Problem &problem = form->problem;
  if (!options.dumpPhases.empty() && failed(dumpProblem(problem, asked, options.dumpPhases, messages)))
    return failure();
  if (!form->search)
    return report(form->search.error(), messages);
  planning.search = *form->search;
  planning.search.settled = whyExplored(options.explored, options.exploredOf);
  const planner::Search &result = planning.search;
  for (const std::string &notice : result.notices)
    messages.addNotice(notice);
  if (failed(explain(problem, *profile, asked, options, facts, messages, planning)))
    return failure();
  if (!result.plan)
    return report(explainNoFit(result, module, fitsOtherwise(problem, *profile, asked)), messages);
  if (planner::Status status = planner::verify(problem, *result.plan); !status)
    return report(status.error(), messages);
  auto evalPlan = planBeside(module.lookupSymbol<train::StepOp>("eval"), *result.plan, *profile, messages);
  if (failed(evalPlan))
    return failure();
  auto outputs = planOutputs(module, options, *result.plan, *profile, messages);
  if (failed(outputs))
    return failure();
  std::vector<planner::Plan> others = {*evalPlan};
  if (*outputs)
    others.push_back(**outputs);
  applyPlan(module, problem, *result.plan, others);
  return success();
}

} // namespace accum::driver
