// SPDX-License-Identifier: Apache-2.0
// One model with one size of each dimension, from its file to an artifact.
#include "compiler/Driver/Compilation.h"
#include "base/Printable.h"
#include "compiler/Driver/ExploreRounds.h"
#include "compiler/Driver/Summary.h"
#include "compiler/Driver/WholeBatch.h"
#include "compiler/Report/Explain.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Registration.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/SplitBatch.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Parser/Parser.h"
#include "passes/Check/CheckPlacement.h"
#include "runtime/artifact/Optimizers.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace mlir;

namespace accum::driver {

bool isDump(const std::string &path) { return std::filesystem::path(path).extension() == ".mlir"; }

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
  if (options.wholeBatch || options.splitBatch || options.isOneOfSizes || options.batch == 0 ||
      !diagnostics.onlyCrossBatch())
    return;
  const Options asked = wholeBatchTrial(options);
  Workspace apart(asked);
  Compilation trial(asked, apart);
  trial.planOnly();
  if (!trial.search().candidates.empty())
    diagnostics.addNote(wholeBatchNote(options, trial.search()));
  std::string split = splitNote(options, checkOnce, planOnce);
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

static DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

Workspace::Workspace(const Options &options)
    : context(makeRegistry()),
      diagnostics(context, std::filesystem::path(options.model).filename().string()) {
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false); // messages are for people; a bug leaves the whole module
}

LogicalResult Compilation::load() {
  if (failed(isDump(options.model) ? resume() : import()))
    return failure();
  runner.emplace(*module, options);
  return success();
}

LogicalResult Compilation::resume() {
  module = parseSourceFile<ModuleOp>(options.model, &context);
  if (auto recorded = module ? module.get()->getAttrOfType<StringAttr>("accum.phase") : StringAttr()) {
    auto last = phaseFrom(recorded.getValue());
    if (options.metric.empty() || !last || *last < Phase::Differentiate)
      return success();
    diagnostics.add("--metric is decided in the phase differentiate, which comes before this dump's [usage]");
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
  request.isOneOfSizes = options.isOneOfSizes;
  request.outputs = options.checkOnly || options.isOneOfSizes ? "none" : options.outputsAsked();
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
  if (options.splitBatch && options.isOneOfSizes)
    train::recordOneOfSplitSizes(*module);
  return success();
}

PhaseOptions Compilation::phaseOptions() {
  auto profile = planner::loadProfile(options.target);
  bool isCuda = profile && profile->isCuda();
  PhaseOptions phases;
  phases.widen = options.precision == "f64";
  phases.optimizer = options.updateName();
  phases.accuracy = options.metric == "accuracy";
  phases.cuda = isCuda;
  phases.reference = options.reference;
  phases.keepForward = options.keepForward;
  phases.narrow = train::precisionOf(*module) == "bf16";
  // Where weights are sent or fetched, copies of half the size are.
  phases.wideWeights = !isCuda && !options.reference && options.devices == 1 &&
                       (options.offload == "none" || options.offload == "optimizer");
  return phases;
}

/// Outputs that were asked for by name are there; of others the module keeps why they are not.
LogicalResult Compilation::settleOutputs() {
  auto left = report.outputsLeftOut;
  left.insert(left.end(), verdict.outputsLeftOut.begin(), verdict.outputsLeftOut.end());
  for (const auto &[name, why] : left) {
    train::leaveOutput(*module, name, why);
    if (options.outputsAsked() != "auto")
      diagnostics.add(fmt::format("--outputs: `{}` {} [no-such-output]", name, why));
  }
  return success(left.empty() || options.outputsAsked() == "auto");
}

/// Stand-ins of what import refused must not get further than here.
LogicalResult Compilation::check() {
  LogicalResult placed = checkPlacement(*module, verdict);
  return success(succeeded(placed) && report.crossBatch.empty() && succeeded(settleOutputs()));
}

/// Unless an option has ended it before.
LogicalResult Compilation::run(Phase phase, void (*build)(OpPassManager &, const PhaseOptions &)) {
  if (stopped)
    return success();
  LogicalResult result = runner->run(phase, [&](OpPassManager &manager) { build(manager, phaseOptions()); });
  stopped = succeeded(result) && runner->stopsAfter(phase);
  return result;
}

LogicalResult Compilation::checkBatch() {
  LogicalResult good = run(Phase::Import, buildImportPipeline);
  for (const import::Failure &failure : report.crossBatch)
    add(failure);
  if (stopped && !report.crossBatch.empty())
    return failure();
  if (failed(good) || (!stopped && failed(runner->run(Phase::Check, [&] { return check(); }))))
    return failure();
  stopped = stopped || runner->stopsAfter(Phase::Check);
  for (const import::Failure &failure : report.deferred)
    add(failure);
  if (!report.deferred.empty())
    return failure();
  if (!stopped && !isDump(options.model))
    print(describeModel(options, report, verdict));
  return success();
}

LogicalResult Compilation::buildStep() {
  LogicalResult good = run(Phase::Differentiate, buildDifferentiatePipeline);
  stopped = stopped || options.checkOnly;
  return success(succeeded(good) && succeeded(run(Phase::Fuse, buildFusePipeline)));
}

LogicalResult Compilation::plan(Messages &messages) {
  planning = {};
  auto make = [&] { return planModule(*module, options, pageFacts(options, report), messages, planning); };
  return runner->done(Phase::Plan) ? runner->timed("plan", make) : runner->run(Phase::Plan, make);
}

LogicalResult Compilation::makePlan() {
  if (failed(buildStep()))
    return failure();
  if (stopped || runner->done(Phase::Plan))
    return success();
  if (failed(plan(diagnostics)))
    return failure();
  stopped = options.planOnly || runner->stopsAfter(Phase::Plan);
  return success();
}

LogicalResult Compilation::schedule() { return run(Phase::Schedule, buildSchedulePipeline); }

LogicalResult Compilation::bind() {
  return runner->timed("bind", [&] {
    PassManager manager(&context);
    manager.enableVerifier(false);
    buildBindPipeline(manager, phaseOptions());
    return manager.run(*module);
  });
}

LogicalResult Compilation::runPhases() {
  return success(succeeded(checkBatch()) && succeeded(makePlan()) && succeeded(schedule()));
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

emit::ArtifactOptions Compilation::artifactOptions() const {
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
  return artifact;
}

LogicalResult Compilation::write(const emit::ArtifactOptions &artifact) {
  if (options.withSim && artifact.architecture.empty()) {
    diagnostics.add(fmt::format("--with-sim: target {} is no GPU [usage]", options.target));
    return failure();
  }
  if (failed(runner->timed("codegen, emit", [&] { return emit::writeArtifact(*module, artifact); })))
    return failure();
  print(options.isOneOfSizes ? fmt::format("wrote    {}\n", artifact.folder)
                             : fmt::format("wrote    {}     pin this choice: {}\n", artifact.folder,
                                           pinnedChoice(options, planning.search)));
  print(fmt::format("next     accum-run {} --data FILE --steps 1000 --lr {}\n", artifact.folder,
                    runtime::findOptimizer(options.optimizer)->lr));
  return success();
}

LogicalResult Compilation::write() { return write(artifactOptions()); }

bool Compilation::planOnly() { return succeeded(load()) && succeeded(runPhases()); }

/// What a run can predict, before the program is made or after.
static std::vector<std::string> outputNames(ModuleOp module) {
  std::vector<std::string> names;
  if (auto predict = module.lookupSymbol<train::StepOp>(train::kPredictFunction))
    for (train::OutputOp output : train::outputsOf(predict))
      names.push_back(output.getName().str());
  for (auto program : module.getOps<device::ProgramOp>())
    if (auto outputs = program.getOutputs())
      for (auto output : outputs->getAsRange<DictionaryAttr>())
        names.push_back(output.getAs<StringAttr>("name").str());
  return names;
}

nlohmann::ordered_json Compilation::toJson() const {
  nlohmann::ordered_json json = driver::toJson(options, report);
  json["reason"] = "ok";
  json["outputs"] = outputNames(*module);
  if (!planning.search.candidates.empty())
    json["search"] = planner::toJson(planning.search, planning.budgets);
  for (const planner::TriedMode &each : planning.search.modes)
    json["ways"].push_back({{"shard", toText(each.sharing.shard)},
                            {"offload", toText(each.sharing.offload)},
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
  return json;
}

Checked checkOnce(const Options &options) {
  Workspace workspace(options);
  Compilation check(options, workspace);
  const Diagnostics &said = workspace.diagnostics;
  bool good = check.planOnly();
  Checked checked{!good && said.onlyCrossBatch(), said.errors(), {}};
  for (const Cause &cause : check.checked().causes)
    checked.nodes.push_back(cause.node);
  return checked;
}

planner::Search planOnce(const Options &options) {
  Workspace workspace(options);
  Compilation compilation(options, workspace);
  compilation.planOnly();
  return compilation.search();
}

int Compilation::run() { return reachesPlan() ? finish() : fail(); }

int Compilation::finish() {
  if (failed(schedule()))
    return fail();
  if (options.checkOnly)
    print(options.wholeBatch ? "verdict  this model can be trained on whole batches only\n"
                             : "verdict  this model can be trained in micro-batches\n");
  printPlan();
  if (!stopped && failed(write()))
    return fail();
  if (options.quiet)
    return 0;
  diagnostics.say(*options.sink);
  if (options.timing)
    print(runner->timingTable());
  if (options.json)
    options.sink->json(jsonText(toJson()));
  return 0;
}

} // namespace accum::driver
