// SPDX-License-Identifier: Apache-2.0
// Splits a placed forward graph into the phases of a step: loops of totals, what is computed once,
// micro-steps, update.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Differentiate/TileMeeting.h"
#include "llvm/ADT/SetVector.h"
#include <string>

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
  /// Ops that run once, before the main loop: replicated, reached by no trained parameter, worth keeping.
  mlir::DenseSet<mlir::Operation *> prologue;
  /// Where samples meet: the totals that enter there, and the ops from there to the loss, which run once on
  /// the whole batch. Empty where they do not meet.
  mlir::SmallVector<nn::TotalOp> cut;
  mlir::SetVector<mlir::Operation *> meeting;

private:
  void findMeeting();
  bool isOfPairs(mlir::Operation &op) const;
  bool runsEarly(mlir::Operation &op, const mlir::DenseSet<mlir::Value> &constant) const;
};

/// A step whose phases are filled up to the forward part of its main loop, which has no terminator yet. Here
/// alone is written which phases a step has.
struct StepBuilder {
  enum Purpose { Trains, Evaluates, Predicts };
  /// Creates `train.step @step` before `before`, or `@eval` or `@predict`, where dropout leaves its input as
  /// it is and masks keep everything. `tileRows`: of pairs of samples. `keepForward`: where samples meet, the
  /// loop goes on from the forward part of its first micro-step.
  StepBuilder(const ForwardGraph &graph, Purpose purpose, mlir::Operation *before, int64_t tileRows,
              bool keepForward = false);

  /// Goes on after the phases that come before, where samples meet with `meet` open and filled up to the
  /// loss: ends that with the loss and `left`, values of its own, and opens the loop that adds up gradients.
  /// Returns what the loop sees of `left`.
  mlir::SmallVector<mlir::Value> closeMeeting(mlir::ArrayRef<mlir::Value> left);

  /// Ends the loop with the loss (as f64) and one gradient contribution per entry of `gradients`, and writes
  /// the update.
  void finish(mlir::ArrayRef<std::pair<mlir::StringAttr, mlir::Value>> gradients, mlir::StringRef optimizer);

  /// The loop also adds up the scalars that the forward graph returns alongside the loss.
  void addScalars();
  /// Of a prediction: ends the loop with what the forward graph returns, under its names.
  void finishOutputs();

  train::StepOp step;
  mlir::OpBuilder builder;
  /// The loop that adds up loss and gradients.
  train::PhaseOp loop;
  /// From the forward graph to the loop.
  mlir::IRMapping micro;
  /// What runs once on the whole batch; null where samples do not meet. From the forward graph to it.
  train::PhaseOp meet;
  mlir::IRMapping whole;
  MeetingTiles tiles;
  /// A value that the loop sees everywhere, as a term that counts once.
  mlir::Value share(mlir::Value value);
  /// What the loop yields beside the loss: partials, by the names of their scalars in the state.
  mlir::SmallVector<std::pair<std::string, mlir::Value>> sums;

private:
  void addInputs();
  train::PhaseOp addPhase(mlir::StringRef name, bool isLoop, mlir::StringRef title);
  void bringKnown(train::PhaseOp phase, mlir::IRMapping &mapping);
  train::PhaseOp leave(train::PhaseOp phase, mlir::ValueRange values, mlir::ArrayRef<mlir::Attribute> targets,
                       mlir::ValueRange left);
  void buildPrepass(size_t number);
  void buildPrologue();
  void buildEncode();
  void addKeptTerms();
  void buildMeeting(int64_t tileRows);
  void buildMicro();
  static std::string totalName(size_t number) { return "total" + std::to_string(number); }
  void addTotals(train::PhaseOp phase, mlir::ArrayRef<mlir::Operation *> totals,
                 const mlir::IRMapping &mapping);
  void cloneMicro(mlir::IRMapping &mapping, train::PhaseOp phase);
  bool isAfterMeeting(mlir::Operation *op);
  mlir::Value firstRowIn(const mlir::IRMapping &mapping, mlir::Operation *before);
  void endMicro(mlir::ArrayRef<mlir::Value> values, mlir::ArrayRef<mlir::Attribute> targets);
  void buildUpdate(mlir::StringRef optimizer);
  void cloneInto(mlir::Operation *op, mlir::IRMapping &mapping, train::PhaseOp phase);
  mlir::Value firstRow();
  mlir::Value input(llvm::StringRef synthesize);

  const ForwardGraph &graph;
  Purpose purpose;
  bool keepForward;
  mlir::SmallVector<std::string> cutNames; // of the sums that enter where samples meet
  mlir::func::FuncOp forward;
  mlir::Value rng, hyper;                 // of the step
  mlir::IRMapping known;                  // from the forward graph to the step's block
  mlir::SmallVector<mlir::Value> results; // of phases, in the forward graph
  mlir::Value loss;                       // of the loop
};

} // namespace accum
