// SPDX-License-Identifier: Apache-2.0
// The phase `import`: read, decide, walk, clean.
#include "compiler/Import/Import.h"
#include "compiler/Import/lost/AttentionDropout.h"
#include "compiler/Import/lost/LostInExport.h"
#include "compiler/Import/lost/StateUpdates.h"
#include "compiler/Import/parameters/SeparateMerged.h"
#include "compiler/Import/parameters/SharedNames.h"
#include "compiler/Import/rules/OperatorSchema.h"
#include "compiler/Import/walk/Draws.h"
#include "compiler/Import/walk/Forward.h"
#include "compiler/Import/walk/ModuleCounts.h"
#include "compiler/Import/walk/Outputs.h"
#include "compiler/Import/walk/UnreadInputs.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/ParameterName.h"
#include "dialects/Train/SplitBatch.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::import {

/// For whoever writes values back into the file.
static void recordSeparated(ModuleOp module, const Graph &graph) {
  OpBuilder builder(module);
  SmallVector<Attribute> all;
  for (const SeparatedTensor &tensor : separatedTensors(graph)) {
    SmallVector<Attribute> readers;
    for (const SeparatedTensor::Reader &reader : tensor.readers)
      readers.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("node", builder.getStringAttr(reader.node)),
           builder.getNamedAttr("operand", builder.getI64IntegerAttr(reader.operand))}));
    all.push_back(
        builder.getDictionaryAttr({builder.getNamedAttr("name", builder.getStringAttr(tensor.name)),
                                   builder.getNamedAttr("from", builder.getStringAttr(tensor.from)),
                                   builder.getNamedAttr("readers", builder.getArrayAttr(readers))}));
  }
  if (!all.empty())
    module->setAttr(kSeparated, builder.getArrayAttr(all));
}

/// Parameters that no load reads any more leave the module; trained ones are told.
static void dropUnread(ModuleOp module, const ParameterTable &table, ImportReport &report) {
  std::set<std::string> loaded, read;
  module.walk([&](train::LoadParamOp load) { loaded.insert(load.getParam().str()); });
  for (auto param : llvm::make_early_inc_range(module.getOps<train::ParamOp>()))
    if (loaded.count(param.getSymName().str()) == 0)
      param.erase();
    else
      read.insert(train::onnxName(param).str());
  if (std::vector<std::string> none = namesOfNone(table, read); !none.empty())
    module->setAttr(kStateLacks,
                    OpBuilder(module).getStrArrayAttr(SmallVector<StringRef>(none.begin(), none.end())));
  ModuleCounts counts(table);
  for (const Parameter &parameter : table.parameters) {
    bool reached = read.count(parameter.name) != 0;
    // Behind what is refused there is a stand-in, and no way to the loss.
    if (parameter.trained && !reached && report.crossBatch.empty())
      report.notices.push_back("`" + parameter.name + "` does not reach the loss and is not trained");
    int64_t elements = 1;
    for (int64_t size : parameter.shape)
      elements *= size;
    bool trained = parameter.trained && reached;
    report.trainsDoubles |= trained && parameter.dtype == DType::Float64;
    (trained ? report.tensorsTrained : report.tensorsFrozen) += 1;
    (trained ? report.elementsTrained : report.elementsFrozen) += elements;
    counts.add(parameter, trained, elements);
    for (const ParameterAlias &alias : parameter.aliases)
      report.ties.push_back(alias.initializer + " = " + parameter.name);
  }
  report.modules = counts.take();
  module.walk([&](Operation *op) { report.hasDropout |= isa<nn::DropoutOp, nn::RandomOp>(op); });
}

/// Frozen statistics are what the file asks for, but not what a network with batch norms is usually trained
/// with.
static void warnOfFrozenStatistics(const Graph &graph, ImportReport &report) {
  auto frozen = llvm::count_if(graph.nodes, [](const Node &node) {
    return node.opType == "BatchNormalization" && node.domain.empty() && !trainsStatistics(node);
  });
  if (frozen > 0)
    report.notices.push_back(
        std::to_string(frozen) +
        " batch normalisations keep the statistics of the file: scale and bias train, mean "
        "and variance do not");
}

static OwningOpRef<ModuleOp> emptyModule(MLIRContext &context, const Model &model) {
  context.loadDialect<nn::NNDialect, train::TrainDialect, func::FuncDialect>();
  Location location = FileLineColLoc::get(&context, model.path.filename().string(), 0, 0);
  OwningOpRef<ModuleOp> module(ModuleOp::create(location));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto function = func::FuncOp::create(builder, location, "forward", builder.getFunctionType({}, {}));
  function.addEntryBlock();
  return module;
}

/// What importModel is given, once it is read and decided.
struct Decided {
  const Model &model;
  const ImportOptions &options;
  const ModelInputs &inputs;
  const LossChoice &choice;
  const ParameterTable &table;
};

/// @forward up to where samples meet, @whole from there on.
static void buildSplit(const Decided &from, ModuleOp module, func::FuncOp function, ImportReport &report,
                       Failures &failures) {
  ImportOptions atOnce = from.options;
  atOnce.wholeBatch = from.options.splitBatch;
  Result<ModelInputs> sizes = resolveInputs(from.model, atOnce);
  if (!sizes) {
    failures = sizes.takeFailures();
    return;
  }
  Forward part(from.model, from.inputs, from.options, std::nullopt, function, module, from.table);
  std::vector<Entry> entries = part.buildPart(from.choice, from.options.meeting, report, failures);
  if (!failures.empty())
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto rest =
      func::FuncOp::create(builder, module.getLoc(), train::kWholeFunction, builder.getFunctionType({}, {}));
  rest.addEntryBlock();
  Forward whole(from.model, *sizes, from.options, from.options.splitBatch, rest, module, from.table);
  whole.give(entries);
  Value loss = whole.build(from.choice, report, failures);
  llvm::append_range(failures, std::exchange(report.crossBatch, {}));
  if (!loss || !failures.empty())
    return;
  whole.finish(loss);
  part.finishFor(rest, entries, whole, failures);
  for (unsigned i = 0; i < rest.getNumArguments(); ++i)
    report.entries.push_back(rest.getArgAttrOfType<StringAttr>(i, "train.name").str());
}

/// @predict, alongside what is trained: an output that cannot be had is no failure of that.
static void buildOutputs(const Decided &from, ModuleOp module, ImportReport &report) {
  if (from.options.outputs == "none")
    return;
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(builder, module.getLoc(), train::kPredictFunction,
                                       builder.getFunctionType({}, {}));
  function.addEntryBlock();
  Forward forward(from.model, from.inputs, from.options, std::nullopt, function, module, from.table);
  bool isOutput = from.choice.kind == LossChoice::Kind::Output;
  buildPredict(forward, function, from.model.graph, from.options.outputs, isOutput ? from.choice.output : "",
               report);
}

static void buildForward(const Decided &from, ModuleOp module, func::FuncOp function, ImportReport &report,
                         Failures &failures) {
  if (from.options.splitBatch)
    return buildSplit(from, module, function, report, failures);
  Forward forward(from.model, from.inputs, from.options, from.options.wholeBatch, function, module,
                  from.table);
  Value loss = forward.build(from.choice, report, failures);
  if (!loss)
    return;
  SmallVector<Value> results = {loss};
  SmallVector<StringRef> names;
  // What is compared with itself at another size has a loss alone.
  auto scalars = from.options.isOneOfSizes ? decltype(forward.scalarsBeside("")){}
                                           : forward.scalarsBeside(from.choice.output);
  for (const auto &[name, value] : scalars) {
    results.push_back(value);
    names.push_back(name);
  }
  forward.finish(results);
  if (!names.empty())
    function->setAttr(train::kScalarNames, OpBuilder(function).getStrArrayAttr(names));
}

OwningOpRef<ModuleOp> importModel(MLIRContext &context, const ImportOptions &options, ImportReport &report,
                                  Failures &failures) {
  auto give = [&](auto &result) {
    failures = result.takeFailures();
    return OwningOpRef<ModuleOp>();
  };
  ReadOptions reading;
  reading.allowMissingWeights = options.planOnly;
  Result<Model> model = readModel(options.path, reading);
  if (!model)
    return give(model);
  if (std::optional<Failure> lost = lostBatchNorm(model->graph)) {
    failures.push_back(*lost);
    return {};
  }
  report.producer = model->producer;
  report.opset = model->opset();
  if (report.opset > kNewestOpset) {
    failures.push_back({"unsupported",
                        "the model",
                        fmt::format("speaks opset {}; the newest whose operators are known is {}",
                                    report.opset, kNewestOpset),
                        {"export with a lower opset_version"}});
    return {};
  }
  Result<LossChoice> choice = chooseLoss(model->graph, options.loss);
  if (!choice)
    return give(choice);
  Result<std::vector<std::string>> dropouts = restoreAttentionDropout(*model);
  if (!dropouts)
    return give(dropouts);
  std::set<std::string> needed = neededValues(model->graph, {choice->output});
  if (std::optional<Failure> lost = lostUpdate(model->graph, needed)) {
    failures.push_back(*lost);
    return {};
  }
  Result<ModelInputs> inputs = resolveInputs(*model, options);
  if (!inputs)
    return give(inputs);
  report.batchDim = inputs->batchDim;
  report.batchDims = inputs->batchDims;
  report.batchPresumed = inputs->batchPresumed;
  report.dimsFromFile = inputs->dimsFromFile;
  ParameterOptions asked = options.parameters;
  asked.trusted = options.trustedBackward;
  Result<ParameterTable> table = decideParameters(*model, asked);
  if (!table)
    return give(table);
  report.notices = table->notices;
  report.isFreezingAsked = !options.parameters.freeze.empty() || !options.parameters.trainable.empty() ||
                           model->metadata.count(kFreezeKey) != 0;
  if (std::optional<std::string> unread = unreadUpdates(model->graph, needed))
    report.notices.push_back(*unread);
  llvm::append_range(report.notices, *dropouts);
  warnOfFrozenStatistics(model->graph, report);
  report.deferred = table->refused;
  OwningOpRef<ModuleOp> module = emptyModule(context, *model);
  auto function = *module->getOps<func::FuncOp>().begin();
  buildForward({*model, options, *inputs, *choice, *table}, *module, function, report, failures);
  if (!failures.empty())
    return {};
  if (report.crossBatch.empty())
    buildOutputs({*model, options, *inputs, *choice, *table}, *module, report);
  if (std::optional<Failure> replaced = readInTheirPlace(model->graph, function)) {
    failures.push_back(*replaced);
    return {};
  }
  llvm::append_range(report.notices, noteUnread(model->graph, function));
  if (std::optional<std::string> probabilities = noteProbabilities(model->graph, report))
    report.notices.push_back(*probabilities);
  if (std::optional<std::string> draws = noteDraws(function))
    report.notices.push_back(*draws);
  if (report.lossKind == name(LossChoice::Kind::NextToken) && readsInput(function, "attention_mask"))
    report.notices.push_back("next-token takes every token but the first for a target, also what "
                             "`attention_mask` hides: where data are padded, --loss causal-lm with labels of "
                             "-100 there leaves it out");
  dropUnread(*module, *table, report);
  recordSeparated(*module, model->graph);
  return module;
}

} // namespace accum::import
