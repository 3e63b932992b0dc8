// SPDX-License-Identifier: Apache-2.0
// A function under construction: the forward graph, or a part of it.
#pragma once
#include "compiler/Import/walk/GraphWalk.h"
#include "compiler/Import/walk/LossSelection.h"
#include "compiler/Import/walk/Meeting.h"
#include "compiler/Import/walk/ModelInputs.h"
#include "compiler/Import/walk/ParameterOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum::import {

/// Walks the graph into a function.
class Forward {
  static constexpr int64_t kManyPairs = 1 << 16; ///< of samples, in a table
public:
  Forward(const Model &model, const ModelInputs &inputs, const ImportOptions &options,
          std::optional<int64_t> wholeBatch, mlir::func::FuncOp function, mlir::ModuleOp module,
          const ParameterTable &table)
      : model(model), batchAxes(inputs.batchAxes), wholeBatch(wholeBatch), function(function),
        emit(mlir::OpBuilder::atBlockEnd(&function.getBody().front())),
        parameters(model, table, module, emit),
        walk(
            emit, [this](const Tensor &tensor) { return parameters.valueOf(tensor); },
            options.trustedBackward) {
    emit.isOneOfSizes = options.isOneOfSizes;
    // Where samples meet, masks of pairs are computed in tiles, as the pairs are.
    if (options.splitBatch && wholeBatch && *wholeBatch * *wholeBatch >= kManyPairs)
      emit.largestTable = *wholeBatch * *wholeBatch - 1;
    emit.isFromPyTorch = model.producer.starts_with("pytorch");
    for (const ValueInfo &input : model.graph.inputs)
      if (auto it = inputs.shapes.find(input.name); it != inputs.shapes.end())
        shapes[input.name] = it->second;
  }

  /// The loss as a scalar; null after a failure.
  mlir::Value build(const LossChoice &choice, ImportReport &report, Failures &failures);
  void finish(llvm::ArrayRef<mlir::Value> results);
  /// After `build`: float scalars among the outputs of the graph that the loss, which is another one, was
  /// computed from, by name.
  std::vector<std::pair<std::string, mlir::Value>> scalarsBeside(const std::string &loss);
  /// Of those of these outputs that the graph computes for each sample, by name. Others are in `failures`.
  std::vector<std::pair<std::string, mlir::Value>> buildOutputs(const std::vector<std::string> &names,
                                                                Failures &failures);

  /// Of a graph that is split: what enters the nodes where samples meet.
  std::vector<Entry> buildPart(const LossChoice &choice, const std::vector<std::string> &meeting,
                               ImportReport &report, Failures &failures);
  /// Arguments of the other part, in place of what the nodes before them compute.
  void give(llvm::ArrayRef<Entry> entries);
  /// Returns what the arguments of `rest`, which is finished, bring.
  void finishFor(mlir::func::FuncOp rest, llvm::ArrayRef<Entry> entries, const Forward &other,
                 Failures &failures);

private:
  /// False after a refusal that ended the walk; other failures may be there after a whole one.
  bool walkTo(const std::vector<std::string> &outputs, Failures &failures);
  bool walkTo(const std::string &output, ImportReport &report, Failures &failures);
  mlir::Value outputOf(const std::string &name);
  void addInputs(const std::set<std::string> &needed);
  mlir::Value addInput(const std::string &name, llvm::ArrayRef<Extent> shape, DType dtype);
  mlir::Value addLabels(const std::string &name, llvm::ArrayRef<Extent> shape, DType dtype);
  mlir::Value lossOf(const LossChoice &choice, ImportReport &report);

  const Model &model;
  std::map<std::string, int64_t> batchAxes;
  std::optional<int64_t> wholeBatch;
  mlir::func::FuncOp function;
  Emitter emit;
  ParameterOps parameters;
  GraphWalk walk;
  std::map<std::string, Shape> shapes;
  std::vector<std::tuple<std::string, Shape, DType>> labels; ///< inputs that only the loss reads
};

} // namespace accum::import
