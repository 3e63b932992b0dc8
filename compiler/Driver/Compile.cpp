// SPDX-License-Identifier: Apache-2.0
// The compiler as a whole: from options to an exit code.
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/Diagnostics.h"
#include "compiler/Driver/Explore.h"
#include "compiler/Driver/ExploreRounds.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/Planning.h"
#include "compiler/Driver/SplitBatch.h"
#include "compiler/Driver/Summary.h"
#include "compiler/Driver/WholeBatch.h"
#include "compiler/Emit/Artifact.h"
#include "compiler/Emit/Kernels.h"
#include "compiler/Report/Explain.h"
#include "dialects/Registration.h"
#include "dialects/Train/SplitBatch.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Parser/Parser.h"
#include "passes/Check/CheckPlacement.h"
#include "passes/Pipelines.h"
#include "runtime/artifact/Optimizers.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace mlir;

namespace accum::driver {

namespace {

bool isDump(const std::string &path) { return std::filesystem::path(path).extension() == ".mlir"; }

/// What a check alone comes to.
Checked checkOnce(const Options &options);

class Compilation {
public:
  explicit Compilation(const Options &options)
      : options(options), registry(makeRegistry()), context(registry),
        diagnostics(context, std::filesystem::path(options.model).filename().string()) {
    context.loadAllAvailableDialects();
    context.printOpOnDiagnostic(false); // messages are for people; a bug leaves the whole module
  }

  int run();
  /// Import, phases, plan, without a word and without an artifact.
  bool plan();
  const planner::Search &search() const { return planning.search; }
  const Diagnostics &messages() const { return diagnostics; }
  const Verdict &checked() const { return verdict; }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  LogicalResult load();
  LogicalResult import();
  PhaseOptions phaseOptions(bool isCuda);
  LogicalResult check();
  LogicalResult runPhases(PhaseRunner &runner);
  LogicalResult write(PhaseRunner &runner);
  int fail();
  void offerWholeBatch();
  void add(const import::Failure &failure);
  void writeReproducer();
  void print(const std::string &text) const;
  void printPlan() const;

  Options options;
  DialectRegistry registry;
  MLIRContext context;
  Diagnostics diagnostics;
  OwningOpRef<ModuleOp> module;
  import::ImportReport report;
  Verdict verdict;
  Planning planning;
  bool stopped = false;
};

void Compilation::print(const std::string &text) const {
  if (!options.quiet && options.toPhase.empty())
    options.sink->text(printableLines(text));
}

/// An internal error leaves what is needed to look into it.
void Compilation::writeReproducer() {
  int file = -1;
  llvm::SmallString<128> path;
  if (!module || llvm::sys::fs::createTemporaryFile("accumc-reproducer", "mlir", file, path))
    return;
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  module.get()->print(stream, OpPrintingFlags().enableDebugInfo());
  diagnostics.addNote(fmt::format("this is a bug of accumc; please report it with `{}` and the command line",
                                  path.str().str()));
}

/// Where the batch cannot be cut: whether it can be computed whole, and whether that fits.
void Compilation::offerWholeBatch() {
  if (options.wholeBatch || options.splitBatch || options.batch == 0 || !diagnostics.onlyCrossBatch())
    return;
  const Options asked = wholeBatchTrial(options);
  Compilation trial(asked);
  trial.plan();
  if (!trial.search().candidates.empty())
    diagnostics.addNote(wholeBatchNote(options, trial.search()));
  std::string split = splitNote(options, checkOnce, [](const Options &one) {
    Compilation other(one);
    other.plan();
    return other.search();
  });
  if (!split.empty())
    diagnostics.addNote(split);
}

/// Messages; with --json also one object with a reason.
int Compilation::fail() {
  if (report.batchPresumed && diagnostics.onlyCrossBatch())
    diagnostics.addNote(presumedBatchNote(report));
  offerWholeBatch();
  if (diagnostics.exitCode() == 70)
    writeReproducer();
  diagnostics.say(*options.sink);
  if (options.json) {
    nlohmann::ordered_json json;
    json["reason"] = diagnostics.reason();
    json["errors"] = diagnostics.errors();
    if (!verdict.causes.empty())
      json["causes"] = causesJson(verdict);
    if (!planning.search.candidates.empty())
      json["search"] = planner::toJson(planning.search, planning.budgets);
    options.sink->json(jsonText(json));
  }
  return diagnostics.exitCode();
}

LogicalResult Compilation::load() {
  if (!isDump(options.model))
    return import();
  module = parseSourceFile<ModuleOp>(options.model, &context);
  if (auto recorded = module ? module.get()->getAttrOfType<StringAttr>("accum.phase") : StringAttr()) {
    auto last = phaseFrom(recorded.getValue());
    if (options.metric.empty() || !last || *last < Phase::Differentiate)
      return success();
    diagnostics.add("--metric is decided in the phase differentiate, which this dump has behind it [usage]");
    return failure();
  }
  diagnostics.add("is no dump of accumc: it cannot be read, or does not record its phase [malformed-dump]");
  return failure();
}

/// What is wrong with the model itself needs no subject of its own: every message names the model.
void Compilation::add(const import::Failure &failure) {
  std::string subject = failure.subject == options.model ? "" : failure.subject + ": ";
  diagnostics.add(fmt::format("{}{} [{}]", subject, failure.message, failure.slug), failure.notes);
}

LogicalResult Compilation::import() {
  import::ImportOptions request;
  request.path = options.model;
  request.dims.insert(options.dims.begin(), options.dims.end());
  request.batchDim = options.batchDim;
  request.loss = options.loss;
  request.parameters = {options.trainable, options.freeze, options.untie, options.ties};
  request.trustedBackward = options.trustBackward;
  if (options.wholeBatch)
    request.wholeBatch = options.batch;
  if (options.splitBatch) {
    request.splitBatch = options.batch;
    request.meeting = options.meeting;
  }
  request.planOnly = options.planOnly || options.checkOnly || !options.toPhase.empty();
  import::Failures failures;
  module = import::importModel(context, request, report, failures);
  for (const import::Failure &failure : failures)
    add(failure);
  for (const std::string &notice : report.notices)
    diagnostics.addNotice(notice);
  if (std::string wrong = settlePrecision(options, report.trainsDoubles); !wrong.empty())
    diagnostics.add(wrong, {"export the model in float32: model.float()"});
  if (!module || !failures.empty() || !diagnostics.errors().empty())
    return failure();
  // A dump is resumed in another folder: it must know where the weights are.
  auto path = std::filesystem::absolute(options.model).lexically_normal().string();
  module.get()->setAttr("accum.model", StringAttr::get(&context, path));
  train::recordPrecision(*module, options.precision);
  if (options.wholeBatch)
    train::recordWholeBatch(*module, options.batch);
  if (options.splitBatch)
    train::recordSplitBatch(*module, options.batch);
  return success();
}

PhaseOptions Compilation::phaseOptions(bool isCuda) {
  PhaseOptions phases;
  phases.widen = options.precision == "f64";
  phases.optimizer = options.optimizer;
  phases.accuracy = options.metric == "accuracy";
  phases.cuda = isCuda;
  phases.reference = options.reference;
  phases.narrow = train::precisionOf(*module) == "bf16";
  // Where weights are sent or fetched, copies of half the size are.
  phases.wideWeights = !isCuda && !options.reference && options.devices == 1 &&
                       (options.offload == "none" || options.offload == "optimizer");
  return phases;
}

/// Stand-ins of what import refused must not get further than here.
LogicalResult Compilation::check() {
  LogicalResult placed = checkPlacement(*module, verdict);
  return success(succeeded(placed) && report.crossBatch.empty());
}

LogicalResult Compilation::runPhases(PhaseRunner &runner) {
  auto reached = [&](Phase phase) { return stopped = stopped || runner.stopsAfter(phase); };
  auto phase = [&](Phase which, llvm::function_ref<void(OpPassManager &)> build) {
    return stopped ? success()
                   : LogicalResult(success(succeeded(runner.run(which, build)) && (reached(which), true)));
  };
  auto profile = planner::loadProfile(options.target);
  bool isCuda = profile && profile->isCuda();
  auto pipeline = [&](void (*build)(OpPassManager &, const PhaseOptions &)) {
    return [this, isCuda, build](OpPassManager &manager) { build(manager, phaseOptions(isCuda)); };
  };
  LogicalResult good = phase(Phase::Import, pipeline(buildImportPipeline));
  for (const import::Failure &failure : report.crossBatch)
    add(failure);
  if (stopped && !report.crossBatch.empty())
    return failure();
  if (failed(good) || (!stopped && failed(runner.run(Phase::Check, [&] { return check(); }))))
    return failure();
  reached(Phase::Check);
  for (const import::Failure &failure : report.deferred)
    add(failure);
  if (!report.deferred.empty())
    return failure();
  if (!stopped && !isDump(options.model))
    print(describeModel(options, report, verdict));
  good = phase(Phase::Differentiate, pipeline(buildDifferentiatePipeline));
  stopped = stopped || options.checkOnly;
  if (failed(good) || failed(phase(Phase::Fuse, pipeline(buildFusePipeline))))
    return failure();
  if (stopped)
    return success();
  if (failed(runner.run(Phase::Plan, [&] {
        return planModule(*module, options, pageFacts(options, report), diagnostics, planning);
      })))
    return failure();
  reached(Phase::Plan);
  if (stopped || options.planOnly)
    return success();
  return phase(Phase::Schedule, pipeline(buildSchedulePipeline));
}

void Compilation::printPlan() const {
  const planner::Search &search = planning.search;
  if (search.candidates.empty())
    return;
  print(describeTarget(options, search) + planner::explainPlan(search));
  if (!planning.attention.empty())
    print(fmt::format("kernels  attention {}\n", planning.attention));
  if (!options.explored.empty())
    print(describeExplored(options.explored, options.exploredOf));
  if (options.explain)
    print("\n" + planner::explainSearch(search, planning.budgets));
}

LogicalResult Compilation::write(PhaseRunner &runner) {
  namespace fs = std::filesystem;
  emit::ArtifactOptions artifact;
  artifact.folder =
      options.output.empty() ? fs::path(options.model).replace_extension(".accum").string() : options.output;
  artifact.argv = options.argv;
  auto origin = module.get()->getAttrOfType<StringAttr>("accum.model");
  artifact.model = origin ? origin.str() : options.model;
  artifact.batch = options.batch;
  artifact.labels = report.lossKind;
  const planner::Search &search = planning.search;
  artifact.plan = search.plan ? planner::toJson(*search.plan) : "{}";
  artifact.cpu = options.cpu;
  artifact.reference = options.reference;
  if (auto profile = planner::loadProfile(options.target))
    artifact.architecture = profile->architecture;
  artifact.withSim = options.withSim;
  // Artifacts for GPUs are made to be taken elsewhere.
  if (!artifact.architecture.empty() && options.cpu == "native")
    artifact.cpu = "x86-64-v3";
  if (options.withSim && artifact.architecture.empty()) {
    diagnostics.add(fmt::format("--with-sim: target {} is no GPU [usage]", options.target));
    return failure();
  }
  if (failed(runner.timed("codegen, emit", [&] { return emit::writeArtifact(*module, artifact); })))
    return failure();
  print(fmt::format("wrote    {}     pin this choice: {}\n", artifact.folder,
                    pinnedChoice(options, planning.search)));
  print(fmt::format("next     accum-run {} --data FILE --steps 1000 --lr {}\n", artifact.folder,
                    runtime::findOptimizer(options.optimizer)->lr));
  return success();
}

bool Compilation::plan() {
  if (failed(load()))
    return false;
  PhaseRunner runner(*module, options);
  return succeeded(runPhases(runner));
}

int Compilation::run() {
  if (failed(load()))
    return fail();
  PhaseRunner runner(*module, options);
  if (failed(runPhases(runner)))
    return fail();
  if (options.checkOnly)
    print(options.wholeBatch ? "verdict  this model can be trained on whole batches only\n"
                             : "verdict  this model can be trained in micro-batches\n");
  printPlan();
  if (!stopped && !options.planOnly && failed(write(runner)))
    return fail();
  if (options.quiet)
    return 0;
  diagnostics.say(*options.sink);
  if (options.timing)
    print(runner.timingTable());
  if (options.json) {
    nlohmann::ordered_json json = toJson(options, report);
    json["reason"] = "ok";
    if (!planning.search.candidates.empty())
      json["search"] = planner::toJson(planning.search, planning.budgets);
    for (const planner::TriedMode &each : planning.search.modes)
      json["ways"].push_back({{"shard", planner::toText(each.sharing.shard)},
                              {"offload", planner::toText(each.sharing.offload)},
                              {"fits", each.fits},
                              {"chosen", each.chosen},
                              {"bytes", each.bytes},
                              {"seconds", each.seconds}});
    for (const ExploredSize &size : options.explored)
      json["explored"].push_back({{"micro_batch", size.m},
                                  {"predicted_seconds", size.predicted},
                                  {"measured_seconds", size.measured},
                                  {"scatter", size.scatter},
                                  {"steps", size.steps},
                                  {"chosen", size.chosen}});
    options.sink->json(jsonText(json));
  }
  return 0;
}

Checked checkOnce(const Options &options) {
  Compilation check(options);
  Checked checked{!check.plan() && check.messages().onlyCrossBatch(), check.messages().errors(), {}};
  for (const Cause &cause : check.checked().causes)
    checked.nodes.push_back(cause.node);
  return checked;
}

} // namespace

/// `--on-cross-batch disable`: the causes, where the graph relates samples and nothing else is wrong.
static std::vector<std::string> causesToAllow(const Options &options) {
  if (options.onCrossBatch != "disable" || options.wholeBatch || isDump(options.model))
    return {};
  Checked checked = checkOnce(checkAlone(options));
  return checked.relatesSamples ? checked.errors : std::vector<std::string>();
}

int compile(const Options &given) {
  if (given.listTargets) {
    given.sink->text(planner::describeProfiles());
    return 0;
  }
  auto settled = given.onCrossBatch == "split" && !isDump(given.model) ? settleSplit(given, checkOnce)
                                                                       : std::optional(given);
  if (!settled)
    return 2;
  const Options &options = *settled;
  if (auto causes = causesToAllow(options); !causes.empty())
    return announceWholeBatch(options, causes) ? Compilation(wholeBatch(options)).run() : 2;
  if (!exploredRange(options.microBatch))
    return Compilation(options).run();
  return explore(options, [](const Options &one, planner::Search *search) {
    Compilation compilation(one);
    int code = compilation.run();
    if (search)
      *search = compilation.search();
    return code;
  });
}

} // namespace accum::driver
