// SPDX-License-Identifier: Apache-2.0
// Which outputs those are, and what they may read.
#include "compiler/Import/walk/Outputs.h"
#include "dialects/Train/Outputs.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace accum::import {

/// Cached keys and values are inputs of the next call, no outputs that anybody looks at.
static bool isCache(llvm::StringRef name) { return name.starts_with("present"); }

/// In the order of the graph.
static std::vector<std::string> namesOf(const Graph &graph, const std::string &option,
                                        const std::string &lossOutput, ImportReport &report) {
  SmallVector<llvm::StringRef> asked;
  llvm::StringRef(option).split(asked, ',');
  bool isAuto = option == "auto";
  std::vector<std::string> names;
  for (const ValueInfo &output : graph.outputs) {
    bool isScalar = output.type.shape && output.type.shape->empty();
    if (isAuto ? !isCache(output.name) && !isScalar && output.name != lossOutput
               : llvm::is_contained(asked, output.name))
      names.push_back(output.name);
  }
  for (llvm::StringRef name : asked)
    if (!isAuto && !llvm::is_contained(names, name))
      report.outputsLeftOut.emplace_back(name.str(), "is no output of the graph");
  return names;
}

/// What the other functions of the module read: the state and the batches hold that.
static void collectKnown(func::FuncOp function, llvm::StringSet<> &inputs, llvm::StringSet<> &parameters) {
  for (auto other : function->getParentOfType<ModuleOp>().getOps<func::FuncOp>()) {
    if (other == function)
      continue;
    for (unsigned i = 0; i < other.getNumArguments(); ++i)
      if (auto name = other.getArgAttrOfType<StringAttr>(i, "train.name"))
        inputs.insert(name.getValue());
    other.walk([&](train::LoadParamOp load) { parameters.insert(load.getParam()); });
  }
}

/// Why the value cannot be told from that; empty where it can.
static std::string lackOf(Value value, func::FuncOp function, const llvm::StringSet<> &inputs,
                          const llvm::StringSet<> &parameters) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  if (Operation *op = value.getDefiningOp())
    (void)getBackwardSlice(op, &slice, options);
  SmallVector<Value> read = {value};
  for (Operation *op : slice) {
    if (auto load = dyn_cast<train::LoadParamOp>(op); load && !parameters.contains(load.getParam()))
      return "reads `" + load.getParam().str() + "`, which the loss does not depend on: no run holds it";
    llvm::append_range(read, op->getOperands());
  }
  for (Value each : read)
    if (auto argument = dyn_cast<BlockArgument>(each)) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "train.name");
      if (name && !inputs.contains(name.getValue()))
        return "reads the input `" + name.str() + "`, which the loss does not: no run brings it";
    }
  return {};
}

void buildPredict(Forward &forward, func::FuncOp function, const Graph &graph, const std::string &option,
                  const std::string &lossOutput, ImportReport &report) {
  llvm::StringSet<> inputs, parameters;
  collectKnown(function, inputs, parameters);
  std::vector<std::string> names = namesOf(graph, option, lossOutput, report);
  Failures failures;
  SmallVector<Value> values;
  SmallVector<StringRef> kept;
  auto outputs =
      names.empty() ? std::vector<std::pair<std::string, Value>>() : forward.buildOutputs(names, failures);
  for (const Failure &failure : failures)
    report.outputsLeftOut.emplace_back(failure.subject, failure.message);
  for (auto &[name, value] : outputs) {
    std::string lack = lackOf(value, function, inputs, parameters);
    if (!lack.empty()) {
      report.outputsLeftOut.emplace_back(name, lack);
      continue;
    }
    values.push_back(value);
    kept.push_back(name);
  }
  if (values.empty())
    return function.erase();
  forward.finish(values);
  function->setAttr(train::kOutputNames, OpBuilder(function).getStrArrayAttr(kept));
}

} // namespace accum::import
