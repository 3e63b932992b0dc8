// SPDX-License-Identifier: Apache-2.0
// Splits a placed forward graph into the regions of a step: pre-pass, prologue, micro-step.
#pragma once

#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace accum {

/// Replaces every nn.top_k of a placed forward graph by primitives; check still speaks of it by name.
void decomposeTopK(mlir::func::FuncOp forward);

/// What depends on what in a forward graph (one block, straight-line).
struct ForwardGraph {
  explicit ForwardGraph(mlir::func::FuncOp forward);

  mlir::func::FuncOp function;
  mlir::Value loss;
  /// Totals by the pre-pass that adds them up: what it sums may need those of the pre-passes before.
  mlir::SmallVector<mlir::SmallVector<mlir::Operation *>> prepasses;
  /// Values that a trained parameter reaches through differentiable ops.
  mlir::DenseSet<mlir::Value> active;
  /// Ops of the prologue: replicated, reached by no trained parameter, worth keeping.
  mlir::DenseSet<mlir::Operation *> prologue;
};

/// A step whose pre-pass, prologue and the forward part of whose micro region are filled; micro has no
/// terminator yet.
struct StepBuilder {
  enum Purpose { Trains, Evaluates };
  /// Creates `train.step @step` before `before`, or `@eval`, where dropout leaves its input as it is and
  /// masks keep everything.
  StepBuilder(const ForwardGraph &graph, Purpose purpose, mlir::Operation *before);

  /// Ends micro with the loss (as f64) and one gradient contribution per entry of `gradients`, and writes the
  /// update.
  void finish(mlir::ArrayRef<std::pair<mlir::StringAttr, mlir::Value>> gradients, mlir::StringRef optimizer);

  train::StepOp step;
  mlir::OpBuilder builder;
  /// From the forward graph to the micro region.
  mlir::IRMapping micro;
  /// What micro yields beside the loss: partials, by the names of their scalars in the state.
  mlir::SmallVector<std::pair<mlir::StringRef, mlir::Value>> sums;

private:
  void buildPrepasses();
  void buildPrepass(mlir::Region &region, size_t number);
  void buildPrologue();
  void buildMicro();
  void buildUpdate(mlir::ArrayRef<mlir::Attribute> parameters, mlir::StringRef optimizer);
  mlir::Block *addBlock(mlir::Region &region);
  void addInputs(mlir::Block *block, mlir::IRMapping &mapping);
  void addTotals(mlir::Block *block, mlir::IRMapping &mapping);
  void addTotals(mlir::Block *block, mlir::IRMapping &mapping, size_t prepasses);
  void cloneInto(mlir::Operation *op, mlir::IRMapping &mapping, mlir::Block *block);

  const ForwardGraph &graph;
  Purpose purpose;
  mlir::func::FuncOp forward;
  mlir::Value firstRow, rng;
  mlir::SmallVector<mlir::Value> kept; // prologue values, in the forward graph
};

} // namespace accum
