// SPDX-License-Identifier: Apache-2.0
// The phase `import`: read, decide, walk, clean.
#include "compiler/Import/Import.h"
#include "compiler/Import/lost/AttentionDropout.h"
#include "compiler/Import/lost/LostInExport.h"
#include "compiler/Import/lost/StateUpdates.h"
#include "compiler/Import/parameters/SeparateMerged.h"
#include "compiler/Import/parameters/SharedNames.h"
#include "compiler/Import/rules/OperatorSchema.h"
#include "compiler/Import/walk/ArgumentFacts.h"
#include "compiler/Import/walk/Draws.h"
#include "compiler/Import/walk/GraphWalk.h"
#include "compiler/Import/walk/LossSelection.h"
#include "compiler/Import/walk/ModelInputs.h"
#include "compiler/Import/walk/ModuleCounts.h"
#include "compiler/Import/walk/ParameterOps.h"
#include "compiler/Import/walk/UnreadInputs.h"
#include "dialects/Train/ParameterName.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace mlir;

namespace accum::import {

namespace {
/// The function under construction.
class Forward {
public:
  Forward(const Model &model, const ModelInputs &inputs, const ImportOptions &options, func::FuncOp function,
          ModuleOp module, const ParameterTable &table)
      : model(model), batchAxes(inputs.batchAxes), wholeBatch(options.wholeBatch), function(function),
        emit(OpBuilder::atBlockEnd(&function.getBody().front())), parameters(model, table, module, emit),
        walk(emit, [this](const Tensor &tensor) { return parameters.valueOf(tensor); },
             options.trustedBackward) {
    emit.isOneOfSizes = options.isOneOfSizes;
    emit.isFromPyTorch = model.producer.starts_with("pytorch");
    for (const ValueInfo &input : model.graph.inputs)
      if (auto it = inputs.shapes.find(input.name); it != inputs.shapes.end())
        shapes[input.name] = it->second;
  }

  /// The loss as a scalar; null after a failure.
  Value build(const LossChoice &choice, ImportReport &report, Failures &failures);
  void finish(Value loss);

private:
  void addInputs(const std::set<std::string> &needed);
  Value addInput(const std::string &name, ArrayRef<Extent> shape, DType dtype);
  Value addLabels(const std::string &name, ArrayRef<Extent> shape, DType dtype);
  Value lossOf(const LossChoice &choice, ImportReport &report);

  const Model &model;
  std::map<std::string, int64_t> batchAxes;
  std::optional<int64_t> wholeBatch;
  func::FuncOp function;
  Emitter emit;
  ParameterOps parameters;
  GraphWalk walk;
  std::map<std::string, Shape> shapes;
};
} // namespace

Value Forward::addInput(const std::string &name, ArrayRef<Extent> shape, DType dtype) {
  MLIRContext *context = function.getContext();
  Location location = NameLoc::get(StringAttr::get(context, name));
  NamedAttrList attributes;
  attributes.set("train.name", StringAttr::get(context, name));
  if (auto axis = batchAxes.find(name); wholeBatch && axis != batchAxes.end())
    attributes.set(train::kBatchAxis, emit.builder.getI64IntegerAttr(axis->second));
  unsigned position = function.getNumArguments();
  (void)function.insertArgument(position, emit.type(shape, emit.elementType(dtype)),
                                attributes.getDictionary(context), location);
  return function.getArgument(position);
}

/// What the loss reads beside the graph's inputs has as many rows as its scores, the batch leading.
Value Forward::addLabels(const std::string &name, ArrayRef<Extent> shape, DType dtype) {
  if (wholeBatch && (shape.empty() || shape[0].count % *wholeBatch != 0))
    refuseUnsupported("is no loss over the batch: its shape " + toString(shape) + " is not led by " +
                      std::to_string(*wholeBatch) + " samples");
  if (walk.values.count(name) != 0)
    throw Refusal{"unsupported",
                  "gets a loss that reads `" + name + "`, and so do nodes of the graph, for something else",
                  {"where the export's example passed one tensor for two inputs, clone() of one of them "
                   "keeps them apart",
                   "or give that input of the model another name"}};
  batchAxes[name] = 0;
  return addInput(name, shape, dtype);
}

void Forward::addInputs(const std::set<std::string> &needed) {
  for (const ValueInfo &input : model.graph.inputs)
    if (needed.count(input.name) != 0) {
      DType dtype = computedIn(input.type.dtype);
      walk.values[input.name] = GraphValue(dtype, addInput(input.name, shapes[input.name], dtype));
    }
}

Value Forward::lossOf(const LossChoice &choice, ImportReport &report) {
  const GraphValue &output = walk.values.find(choice.output)->second;
  emit.location = NameLoc::get(emit.builder.getStringAttr(choice.output));
  if (output.selection)
    throw Refusal{"data-dependent-shape",
                  "has as many rows as a mask selects",
                  {"compute the loss in the model: sums and means over selected rows compile"}};
  reportLoss(choice, emit.sawCausalMask, output.shape, report);
  if (choice.kind == LossChoice::Kind::Output) {
    if (!(volumeOf(output.shape) == Volume{}) || !isFloat(output.dtype))
      refuseUnsupported("is the loss, but has the shape " + toString(output.shape) + ", not a float scalar");
    return emit.reshape(output.whole(emit), {});
  }
  LossChoice::Kind kind = choice.kind;
  if (kind == LossChoice::Kind::Undecided)
    kind = emit.sawCausalMask ? LossChoice::Kind::NextToken : LossChoice::Kind::CrossEntropy;
  auto tokens = walk.values.find("input_ids");
  return emitLoss(emit, kind, output.whole(emit),
                  tokens == walk.values.end() ? Value() : tokens->second.value,
                  [&](const std::string &name, ArrayRef<Extent> shape, DType dtype) {
                    return addLabels(name, shape, dtype);
                  });
}

Value Forward::build(const LossChoice &choice, ImportReport &report, Failures &failures) {
  try {
    addInputs(neededValues(model.graph, {choice.output, "input_ids"}));
    walk.run(model.graph, {choice.output});
  } catch (Refusal &refusal) {
    failures.push_back({refusal.slug, "the model", refusal.message, refusal.notes});
    return {};
  }
  failures = walk.takeFailures();
  report.notices.insert(report.notices.end(), emit.notices.begin(), emit.notices.end());
  bool isReached = walk.values.find(choice.output) != walk.values.end();
  if (!isReached && failures.empty())
    failures.push_back(
        {"malformed-model", "`" + choice.output + "`", "is an output that no node computes", {}});
  // With stand-ins behind them the check looks for more of the kind.
  if (isReached && llvm::all_of(failures, [](const Failure &f) { return f.slug == "cross-batch"; }))
    report.crossBatch = std::exchange(failures, {});
  if (!failures.empty())
    return {};
  try {
    return lossOf(choice, report);
  } catch (Refusal &refusal) {
    failures = std::exchange(report.crossBatch, {});
    failures.push_back({refusal.slug, "`" + choice.output + "`", refusal.message, refusal.notes});
    return {};
  }
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void Forward::finish(Value loss) {
  func::ReturnOp::create(emit.builder, function.getLoc(), loss);
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(), loss.getType()));
  eraseDead(function.getBody().front());
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  recogniseMasks(function);
  eraseDead(function.getBody().front());
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  (void)function.eraseArguments(unused);
  annotateArguments(function);
}

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
static void dropUnread(ModuleOp module, func::FuncOp function, const ParameterTable &table,
                       ImportReport &report) {
  std::set<std::string> loaded, read;
  function.walk([&](train::LoadParamOp load) { loaded.insert(load.getParam().str()); });
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
  function.walk([&](Operation *op) { report.hasDropout |= isa<nn::DropoutOp, nn::RandomOp>(op); });
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
  Forward forward(*model, *inputs, options, function, *module, *table);
  Value loss = forward.build(*choice, report, failures);
  if (!loss)
    return {};
  forward.finish(loss);
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
  dropUnread(*module, function, *table, report);
  recordSeparated(*module, model->graph);
  return module;
}

} // namespace accum::import
