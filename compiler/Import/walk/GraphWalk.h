// SPDX-License-Identifier: Apache-2.0
// Walks the nodes that the loss needs, in order, and applies each one's rule.
#pragma once
#include "compiler/Import/lost/LostGradients.h"
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/walk/Binder.h"
#include "llvm/ADT/MapVector.h"
#include <set>

namespace accum::import {

/// Gives the value of an initializer: known content, or a parameter's load.
using InitializerSource = std::function<GraphValue(const Tensor &)>;

class GraphWalk {
public:
  /// `trustedBackward`: see CustomBackward.
  GraphWalk(Emitter &emit, InitializerSource initializers, std::vector<std::string> trustedBackward)
      : emit(emit), initializers(std::move(initializers)), trustedBackward(std::move(trustedBackward)) {}

  /// Imports what `outputs` need of `graph`; inputs are in `values` already. Refuses (throws) outputs that
  /// are initializers which cannot be read; nodes are refused into the failures.
  void run(const Graph &graph, llvm::ArrayRef<std::string> outputs);
  /// From here on nodes that relate samples, these by name and those that are refused for it, are no
  /// failures: they have no values, nor has what follows from them.
  void leaveOut(std::vector<std::string> meeting) { leftOut = std::move(meeting); }
  /// Takes this value for what a node computes under the name.
  void give(const std::string &name, const GraphValue &value) {
    given.insert_or_assign(name, value);
    values[name] = value;
  }
  bool isGiven(const std::string &name) const { return given.count(name) > 0; }

  /// One failure for each cause: the same sentence about several nodes is told once, with their names.
  Failures takeFailures();

  Values values;

private:
  struct Cause {
    std::string opType;
    Refusal refusal;
    std::vector<const Node *> nodes;
  };

  void visit(const Node &node);
  void apply(const Node &node);
  void requireGradients(const Node &node);
  void branch(const Node &node);
  bool bindInputs(const Node &node);
  void record(const Node &node, Refusal refusal);

  void tracePairs(const Node &node);
  bool blamePairs(const Node &node, const Refusal &refusal);

  /// Values over pairs of samples (two batch axes), and the node that first paired them.
  std::map<std::string, const Node *> pairs;
  bool isNeeded(const Node &node, const std::set<std::string> &needed) const;
  std::set<std::string> neededFor(const Graph &graph, llvm::ArrayRef<std::string> outputs) const;
  bool leavesOut(const Node &node) const;
  void keepPlain(const Node &node);

  std::optional<std::vector<std::string>> leftOut;
  std::map<std::string, GraphValue> given;
  std::set<std::string> refused; ///< outputs of nodes that were refused, or need one

  Emitter &emit;
  InitializerSource initializers;
  std::vector<std::string> trustedBackward;
  std::vector<const Graph *> scopes;
  std::vector<LostGradients> lostGradients; ///< of each scope
  llvm::MapVector<std::string, Cause, std::map<std::string, unsigned>> causes;
};

/// Names that a node reads, those captured by its subgraphs included.
std::set<std::string> readsOf(const Node &node);
/// Names of the nodes' outputs and inputs that `outputs` depend on, subgraphs included.
std::set<std::string> neededValues(const Graph &graph, llvm::ArrayRef<std::string> outputs);

} // namespace accum::import
