// SPDX-License-Identifier: Apache-2.0
// The call of the framework that a node was translated from. The dynamo exporter leaves it in the metadata of
// each node (`pkg.torch.onnx.fx_node`); several nodes can come from one call.
#pragma once
#include "compiler/Import/model/Model.h"
#include <functional>
#include <optional>

namespace accum::import {

/// `%y : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, 2), kwargs = {alpha:
/// 3})`.
struct TracedCall {
  std::string result;                                       ///< `y`
  std::string target;                                       ///< `aten.add.Tensor`
  std::vector<std::string> arguments;                       ///< as written: `%x`, `2`
  std::map<std::string, std::string, std::less<>> keywords; ///< `alpha` -> `3`

  /// Nothing for nodes without a call.
  static std::optional<TracedCall> of(const Node &node);
  /// The argument at that place or of that name as it is written, or "" where the call leaves it out.
  std::string_view argument(size_t position, std::string_view keyword) const;
  /// Names of the values among the arguments, in order, as often as they stand there. Of an operator that
  /// takes extents behind its operand, such as `view`, the operand alone.
  std::vector<std::string> operands() const;
  /// `add` of `aten.add.Tensor`.
  std::string_view operation() const;
};

/// `linear` of `linear_12`: names of results are the operation's, numbered.
std::string_view withoutNumber(std::string_view result);

} // namespace accum::import
