// SPDX-License-Identifier: Apache-2.0
// `--dim NAME=16,32,...`: one program of several sizes.
#include "compiler/Driver/CompiledLengths.h"
#include "compiler/Driver/Compilation.h"
#include "compiler/Driver/LengthData.h"
#include "compiler/Driver/LengthOptions.h"
#include "compiler/Driver/LengthPlanner.h"
#include "compiler/Driver/LengthPlans.h"
#include "compiler/Driver/Lengths.h"
#include "compiler/Driver/SplitBatch.h"
#include "compiler/Driver/Summary.h"
#include "compiler/Report/Explain.h"
#include "passes/Schedule/Lengths.h"
#include "passes/Schedule/Passes.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::driver {
namespace {

/// The model at each size, in one workspace.
class CompiledLengths {
public:
  explicit CompiledLengths(const Options &given) : options(given), workspace(options) {}

  int run();
  /// Up to the plans, without a word. Otherwise says what is wrong; then `exitCode` is not 0.
  bool plan();
  int exitCode = 0;
  /// What the plans tell of the cost of a size.
  LengthCost cost() const;
  const std::vector<LengthInput> &inputs() const { return padded; }

private:
  Options optionsAt(size_t length) const;
  LogicalResult load();
  LogicalResult checkPaddings();
  LogicalResult readShares();
  LogicalResult buildSteps();
  LogicalResult checkPaddingOf(size_t dim);
  planner::Search searchOfAll();
  void printPlans();
  LogicalResult writeReport(bool isPlanned);
  LogicalResult join();
  LogicalResult write();
  LogicalResult runAll();
  Compilation &largest() { return *sizes.back(); }
  SmallVector<ModuleOp> modules();

  Options options;
  Workspace workspace;
  Timing timing; ///< of all sizes
  Sizes sizes;
  std::vector<LengthInput> padded; ///< of the first dimension
};

} // namespace

static int fail(const Options &options, int code, const std::string &text,
                const std::vector<std::string> &notes = {}) {
  options.sink->message({Severity::Error, "", text, notes});
  return code;
}

/// Only the largest size speaks.
Options CompiledLengths::optionsAt(size_t length) const {
  Options one = options;
  const std::vector<int64_t> &at = options.lengths.sizes[length];
  for (size_t dim = 0; dim < at.size(); ++dim)
    one.dims.emplace_back(options.lengths.dims[dim], at[dim]);
  one.lengths = {};
  one.isOneOfSizes = true;
  one.toPhase.clear();
  if (!one.dumpPhases.empty())
    one.dumpPhases += "/" + textOf(at);
  if (length + 1 < options.lengths.sizes.size()) {
    one.quiet = true;
    one.report.clear();
  }
  return one;
}

SmallVector<ModuleOp> CompiledLengths::modules() {
  return llvm::map_to_vector(sizes, [](const auto &size) { return size->moduleOp(); });
}

/// The largest first: what is wrong with the model is said once.
LogicalResult CompiledLengths::load() {
  for (size_t length = options.lengths.sizes.size(); length-- > 0;) {
    sizes.insert(sizes.begin(), std::make_unique<Compilation>(optionsAt(length), workspace));
    workspace.diagnostics.quietNotices(sizes.size() > 1);
    if (failed(sizes.front()->load()) || failed(sizes.front()->checkBatch()))
      return failure();
  }
  workspace.diagnostics.quietNotices(false);
  return success();
}

/// One dimension at a time, the others at their largest size.
LogicalResult CompiledLengths::checkPaddingOf(size_t dim) {
  const LengthOptions &lengths = options.lengths;
  std::vector<std::unique_ptr<Compilation>> others;
  SmallVector<ModuleOp> of = modules();
  if (lengths.dims.size() > 1) {
    of = {largest().moduleOp()};
    workspace.diagnostics.quietNotices(true);
    for (size_t length = 0; length + 1 < lengths.sizes.size(); ++length) {
      Options one = optionsAt(length);
      for (size_t other = 0; other < lengths.dims.size(); ++other)
        if (other != dim)
          (one.dims.end() - ptrdiff_t(lengths.dims.size() - other))->second = lengths.sizes.back()[other];
      others.push_back(std::make_unique<Compilation>(one, workspace));
      if (failed(others.back()->load()) || failed(others.back()->checkBatch()))
        return failure();
      of.insert(of.end() - 1, others.back()->moduleOp());
    }
    workspace.diagnostics.quietNotices(false);
  }
  if (of.size() < 2)
    return success();
  auto found = checkPadding(of, lengths.dims[dim]);
  if (failed(found))
    return failure();
  if (dim == 0)
    padded = lengthInputs(largest().moduleOp(), *found);
  for (ModuleOp module : modules())
    if (failed(notePadding(module, *found, static_cast<int64_t>(dim))))
      return failure();
  return success();
}

LogicalResult CompiledLengths::checkPaddings() {
  for (size_t dim = 0; dim < options.lengths.dims.size(); ++dim)
    if (failed(checkPaddingOf(dim)))
      return failure();
  return keyDraws(modules());
}

LogicalResult CompiledLengths::buildSteps() {
  for (const auto &size : llvm::reverse(sizes)) {
    workspace.diagnostics.quietNotices(size.get() != &largest());
    if (failed(size->buildStep()))
      return failure();
  }
  workspace.diagnostics.quietNotices(false);
  return success();
}

LogicalResult CompiledLengths::join() {
  for (auto &size : sizes)
    if (failed(size->bind()))
      return failure();
  SmallVector<ModuleOp> all = modules();
  Builder builder(&workspace.context);
  all.back()->setAttr(kLengths, lengthsAttr(builder, options, plansOf(sizes)));
  all.back()->setAttr(train::kLengthDims,
                      builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(options.lengths.dims)));
  return largest().phases().run(Phase::Schedule, [&] {
    if (failed(joinLengths(all)))
      return failure();
    PassManager manager(&workspace.context);
    manager.enableVerifier(false);
    manager.addPass(createBuildProgram());
    return manager.run(all.back());
  });
}

LogicalResult CompiledLengths::write() {
  emit::ArtifactOptions artifact = largest().artifactOptions();
  artifact.batch = options.batch;
  artifact.plan = planner::toJson(planOfAll(options, plansOf(sizes)));
  for (auto [at, plan] : llvm::zip(options.lengths.sizes, plansOf(sizes)))
    artifact.morePlans.emplace_back("plan-" + textOf(at) + ".json", planner::toJson(*plan));
  return largest().write(artifact);
}

/// One step has samples of all sizes: figures of a single size's step say nothing.
planner::Search CompiledLengths::searchOfAll() {
  planner::Search all = largest().search();
  all.batch = options.batch;
  all.deviceBatch = (options.batch + options.devices - 1) / options.devices;
  all.plan = planOfAll(options, plansOf(sizes));
  all.memory = all.plan->memory;
  return all;
}

void CompiledLengths::printPlans() {
  planner::Search all = searchOfAll();
  largest().print(describeTarget(options, all) + describeLengths(options, plansOf(sizes), all.budget));
  if (!options.explain)
    return;
  largest().print(options.lengths.comparison);
  for (const auto &size : sizes)
    largest().print("\n" + planner::explainSearch(size->search(), size->planned().budgets));
}

/// Also where nothing fits, as far as it came: without the rows.
LogicalResult CompiledLengths::writeReport(bool isPlanned) {
  std::string page = largest().planned().page;
  if (page.empty())
    return success();
  if (isPlanned)
    page = planner::report::withLengths(page, fmt::format("{}", fmt::join(options.lengths.dims, " x ")),
                                        lengthRows(options, plansOf(sizes)));
  return writePage(options, page, workspace.diagnostics);
}

/// How long samples are, where sizes were named and --lengths says it.
LogicalResult CompiledLengths::readShares() {
  LengthOptions &lengths = options.lengths;
  if (lengths.file.empty() || !lengths.shares.empty())
    return success();
  std::vector<int64_t> named;
  for (const std::vector<int64_t> &size : lengths.sizes)
    named.push_back(size.front());
  auto counts = readLengths(lengths.file, padded, named.back());
  if (!counts) {
    exitCode =
        fail(options, counts.error().exitCode,
             fmt::format("{} [{}]", counts.error().message, counts.error().slug), counts.error().notes);
    return failure();
  }
  lengths.shares = sharesOf(*counts, named);
  return success();
}

LogicalResult CompiledLengths::runAll() {
  if (failed(timing.timed("import, check", [&] { return load(); })) ||
      failed(timing.timed("padding", [&] { return checkPaddings(); })) || failed(readShares()))
    return failure();
  if (options.checkOnly)
    return success();
  if (failed(timing.timed("diff., fuse", [&] { return buildSteps(); })))
    return failure();
  bool isPlanned = succeeded(timing.timed("plan", [&] { return planLengths(options, workspace, sizes); }));
  if (failed(writeReport(isPlanned)) || !isPlanned)
    return failure();
  printPlans();
  if (options.planOnly)
    return success();
  return success(succeeded(timing.timed("schedule", [&] { return join(); })) &&
                 succeeded(timing.timed("codegen, emit", [&] { return write(); })));
}

int CompiledLengths::run() {
  if (failed(runAll()))
    return exitCode ? exitCode : largest().fail();
  if (options.checkOnly)
    largest().print(fmt::format("verdict  this model can be trained in micro-batches, at each size of {}\n",
                                fmt::join(options.lengths.dims, ", ")));
  if (options.quiet)
    return 0;
  workspace.diagnostics.say(*options.sink);
  if (options.timing)
    largest().print(timing.timingTable());
  if (options.json) {
    nlohmann::ordered_json json = largest().toJson();
    if (!options.checkOnly) {
      json["search"] = planner::toJson(searchOfAll(), largest().planned().budgets);
      json["lengths"] = lengthsJson(options, plansOf(sizes));
    }
    options.sink->json(jsonText(json));
  }
  return 0;
}

bool CompiledLengths::plan() {
  if (succeeded(load()) && succeeded(checkPaddings()) && succeeded(buildSteps()) &&
      succeeded(planLengths(options, workspace, sizes)))
    return true;
  exitCode = largest().fail();
  return false;
}

/// By the polynomial through the seconds per sample of the sizes that were planned: products grow with the
/// size, attention with its square.
LengthCost CompiledLengths::cost() const {
  std::vector<std::pair<double, double>> points;
  double perMicroStep = 0;
  for (size_t length = 0; length < sizes.size(); ++length) {
    MicroStepLine line = microStepLine(sizes[length]->search());
    points.emplace_back(double(options.lengths.sizes[length].front()), line.perSample);
    perMicroStep += line.fixed / double(sizes.size());
  }
  auto perSample = [points](int64_t size) { return std::max(interpolate(points, double(size)), 0.0); };
  return {perSample, perMicroStep, (options.batch + options.devices - 1) / options.devices};
}

/// `auto:LONGEST`: sizes that suit the data, or halves where nothing is known of it. Returns an exit code.
static int chooseLengths(Options &options) {
  LengthOptions &lengths = options.lengths;
  int64_t longest = lengths.longest.front();
  auto each = [](const std::vector<int64_t> &sizes) {
    std::vector<std::vector<int64_t>> all;
    for (int64_t size : sizes)
      all.push_back({size});
    return all;
  };
  constexpr int64_t kPlanned = 3; ///< sizes from which the cost of others is known
  lengths.sizes =
      each(ladder(longest, lengths.file.empty() ? std::max<int64_t>(lengths.count, 2) : kPlanned));
  if (lengths.file.empty()) {
    options.sink->message(
        {Severity::Notice,
         "",
         fmt::format("--dim {}=auto: nothing says how long samples are (--lengths FILE): sizes "
                     "are halves of {}",
                     lengths.dims.front(), longest),
         {}});
    return 0;
  }
  Options planned = options;
  planned.quiet = planned.planOnly = true;
  planned.checkOnly = false;
  planned.json = planned.explain = false;
  planned.report.clear();
  planned.dumpPhases.clear();
  CompiledLengths some(planned);
  if (!some.plan())
    return some.exitCode;
  auto counts = readLengths(lengths.file, some.inputs(), longest);
  if (!counts)
    return fail(options, counts.error().exitCode,
                fmt::format("{} [{}]", counts.error().message, counts.error().slug), counts.error().notes);
  LengthCost cost = some.cost();
  std::vector<int64_t> chosen = chooseSizes(*counts, longest, lengths.count, cost);
  if (chosen.size() == 1) // a second one lets data be narrower
    chosen = ladder(longest, 2);
  lengths.sizes = each(chosen);
  lengths.shares = sharesOf(*counts, chosen);
  lengths.comparison = compareCounts(*counts, longest, lengths.count, cost);
  return 0;
}

/// Where samples are related: the nodes that do it are those of every size. Nothing, and an error was said,
/// where the options leave no such compilation.
static bool settleSplitOfSizes(Options &options) {
  const LengthOptions &lengths = options.lengths;
  Options one = options;
  for (size_t dim = 0; dim < lengths.dims.size(); ++dim)
    one.dims.emplace_back(lengths.dims[dim],
                          lengths.longest.empty() ? lengths.sizes.back()[dim] : lengths.longest[dim]);
  one.lengths = {};
  one.isOneOfSizes = true;
  auto settled = settleSplit(one, checkOnce);
  if (!settled)
    return false;
  options.splitBatch = settled->splitBatch;
  options.meeting = settled->meeting;
  return true;
}

int compileLengths(const Options &given) {
  Options options = given;
  if (std::string why = misfitOfLengths(options); !why.empty())
    return fail(options, 2, why);
  if (options.onCrossBatch == "split" && !settleSplitOfSizes(options))
    return 2;
  if (!options.lengths.longest.empty())
    if (int code = chooseLengths(options))
      return code;
  return CompiledLengths(options).run();
}

} // namespace accum::driver
