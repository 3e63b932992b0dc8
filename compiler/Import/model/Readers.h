// SPDX-License-Identifier: Apache-2.0
// Who reads an initializer, and as what.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// What an operand is for the node that reads it.
enum class Role {
  Matrix,    ///< of MatMul, Gemm, Conv
  Table,     ///< looked up by Gather
  Scale,     ///< of a normalisation
  Bias,      ///< of a normalisation, Gemm or Conv
  Operand,   ///< of anything else that passes a gradient: Mul, Add, Concat, Exp
  Limit,     ///< what passes a gradient and mostly is a number: bounds, exponents, what is scattered
  Statistic, ///< running mean or variance
  Control,   ///< what no gradient reaches: shapes, indices, conditions
};

struct Reader {
  size_t node = 0;    ///< in Graph::nodes; the one that uses the value, behind casts and transposes
  size_t operand = 0; ///< of that node
  Role role = Role::Control;
  /// The node that reads the initializer itself: `node`, or the first of the casts and transposes.
  size_t first = 0;
  size_t firstOperand = 0;
};

/// Passes its first operand on, at most in another shape or type, or repeated.
bool isViewOfFirst(const Node &node);

/// The readers of each value of one graph. A subgraph's reads count as Control reads of its node.
class Readers {
public:
  explicit Readers(const Graph &graph);

  /// In node order, each use once; looks through Identity, Cast, Transpose, Reshape, Tile and the like.
  std::vector<Reader> of(const std::string &value) const;

private:
  struct Use {
    size_t node, operand;
  };
  const Graph &graph;
  std::unordered_map<std::string, std::vector<Use>> uses;
};

/// The framework's name of what that operand holds, `transformer.h.0.ln_1.weight`: the module of the reading
/// node and the role; "" when the module is not known.
std::string moduleNameOf(const Graph &graph, const Reader &reader);

} // namespace accum::import
