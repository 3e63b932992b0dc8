// SPDX-License-Identifier: Apache-2.0
// Walks the graph into a function and returns what was asked for.
#include "compiler/Import/walk/Forward.h"
#include "compiler/Import/walk/ArgumentFacts.h"
#include "compiler/Import/walk/DependsOnTraining.h"
#include "compiler/Import/walk/Draws.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace accum::import {

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

/// What the loss reads in addition to the graph's inputs has as many rows as its scores, the batch leading.
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
  labels.emplace_back(name, shape, dtype);
  return addInput(name, shape, dtype);
}

void Forward::addInputs(const std::set<std::string> &needed) {
  for (const ValueInfo &input : model.graph.inputs)
    if (needed.count(input.name) != 0 && !walk.isGiven(input.name)) {
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

bool Forward::walkTo(const std::vector<std::string> &outputs, Failures &failures) {
  std::vector<std::string> read = outputs;
  read.emplace_back("input_ids");
  try {
    addInputs(neededValues(model.graph, read));
    walk.run(model.graph, outputs);
  } catch (Refusal &refusal) {
    failures.push_back({refusal.slug, "the model", refusal.message, refusal.notes});
    return false;
  }
  failures = walk.takeFailures();
  return true;
}

bool Forward::walkTo(const std::string &output, ImportReport &report, Failures &failures) {
  if (!walkTo(std::vector{output}, failures))
    return false;
  report.notices.insert(report.notices.end(), emit.notices.begin(), emit.notices.end());
  return true;
}

std::vector<std::pair<std::string, Value>> Forward::scalarsBeside(const std::string &loss) {
  std::vector<std::pair<std::string, Value>> scalars;
  for (const ValueInfo &output : model.graph.outputs) {
    auto found = walk.values.find(output.name);
    if (output.name == loss || found == walk.values.end())
      continue;
    const GraphValue &value = found->second;
    if (!value.value || value.selection || value.items || !(volumeOf(value.shape) == Volume{}) ||
        !isFloat(value.dtype))
      continue;
    emit.location = NameLoc::get(emit.builder.getStringAttr(output.name));
    scalars.emplace_back(output.name, emit.reshape(value.whole(emit), {}));
  }
  return scalars;
}

/// Refuses what is not one row for each sample, the samples leading.
Value Forward::outputOf(const std::string &name) {
  auto found = walk.values.find(name);
  if (found == walk.values.end())
    refuseUnsupported("relates samples to each other, or is computed by what cannot be compiled");
  const GraphValue &output = found->second;
  bool isLed = !output.shape.empty() && output.shape.front().batched &&
               llvm::none_of(llvm::drop_begin(output.shape), [](const Extent &e) { return e.batched; });
  if (output.selection || output.items || !isLed)
    refuseUnsupported("is not led by the batch");
  emit.location = NameLoc::get(emit.builder.getStringAttr(name));
  return output.whole(emit);
}

std::vector<std::pair<std::string, Value>> Forward::buildOutputs(const std::vector<std::string> &names,
                                                                 Failures &failures) {
  Failures ofNodes;
  std::vector<std::pair<std::string, Value>> outputs;
  walk.leaveOut({}); // what cannot be computed has no stand-in
  bool isWhole = walkTo(names, ofNodes);
  for (const std::string &name : names)
    try {
      if (!isWhole)
        refuseUnsupported(ofNodes.front().message);
      outputs.emplace_back(name, outputOf(name));
    } catch (Refusal &refusal) {
      failures.push_back({refusal.slug, name, refusal.message, refusal.notes});
    }
  return outputs;
}

Value Forward::build(const LossChoice &choice, ImportReport &report, Failures &failures) {
  if (!walkTo(choice.output, report, failures))
    return {};
  bool isReached = walk.values.find(choice.output) != walk.values.end();
  if (!isReached && failures.empty())
    failures.push_back(
        {"malformed-model", "`" + choice.output + "`", "is an output that no node computes", {}});
  // With stand-ins for their results the check looks for more of the kind.
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

std::vector<Entry> Forward::buildPart(const LossChoice &choice, const std::vector<std::string> &meeting,
                                      ImportReport &report, Failures &failures) {
  walk.leaveOut(meeting);
  if (!walkTo(choice.output, report, failures))
    return {};
  emit.location = function.getLoc();
  return entriesOf(model.graph, {choice.output}, walk, emit);
}

void Forward::give(ArrayRef<Entry> entries) {
  for (const Entry &entry : entries) {
    Value argument = addInput(entry.name, atBatch(entry.shape(), *wholeBatch), entry.dtype);
    if (dependsOnTraining(entry.value))
      function.setArgAttr(function.getNumArguments() - 1, kTrainedEntry, emit.builder.getUnitAttr());
    walk.give(entry.name, {entry.dtype, argument});
  }
}

void Forward::finishFor(func::FuncOp rest, ArrayRef<Entry> entries, const Forward &other,
                        Failures &failures) {
  SmallVector<Value> results;
  for (unsigned i = 0; i < rest.getNumArguments(); ++i) {
    std::string name = rest.getArgAttrOfType<StringAttr>(i, "train.name").str();
    auto entry = llvm::find_if(entries, [&](const Entry &each) { return each.name == name; });
    auto label = llvm::find_if(other.labels, [&](const auto &each) { return std::get<0>(each) == name; });
    if (entry != entries.end())
      results.push_back(entry->value);
    else if (label != other.labels.end())
      results.push_back(
          addInput(name, perBatch(std::get<1>(*label), *other.wholeBatch), std::get<2>(*label)));
    else
      failures.push_back({"unsupported",
                          backquoted(name),
                          "is read where samples meet in a form that cannot be split off",
                          {"--on-cross-batch disable computes the whole batch at once"}});
  }
  finish(results);
  // Labels that only the rest reads are checked when they are read.
  for (unsigned i = 0; i < rest.getNumArguments(); ++i)
    for (unsigned j = 0; j < function.getNumArguments(); ++j)
      if (rest.getArgAttr(i, "train.name") == function.getArgAttr(j, "train.name"))
        for (StringRef fact : {"train.bound", "train.ignore_index"})
          if (Attribute known = rest.getArgAttr(i, fact))
            function.setArgAttr(j, fact, known);
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

void Forward::finish(ArrayRef<Value> results) {
  func::ReturnOp::create(emit.builder, function.getLoc(), results);
  function.setType(
      FunctionType::get(function.getContext(), function.getArgumentTypes(), ValueRange(results).getTypes()));
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

} // namespace accum::import
