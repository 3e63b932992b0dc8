// SPDX-License-Identifier: Apache-2.0
// What ONNX says of an operator in each of its versions, and what a node may therefore carry.
#pragma once
#include "compiler/Import/model/Model.h"
#include <string_view>
#include <vector>

namespace accum::import {

/// The newest opset whose operators are known. Of a newer one nothing is: a version may mean something else.
extern const int64_t kNewestOpset;

/// One version of an operator, or several that take the same.
struct OperatorSchema {
  std::vector<int64_t> versions;
  int64_t leastInputs = 0, mostInputs = 0, leastOutputs = 0, mostOutputs = 0; ///< -1: any number
  std::string_view attributes; ///< words: `axis=-1` has a default, `to!` is required
};

/// All versions of `op`, oldest first; none of an operator without a rule.
const std::vector<OperatorSchema> &schemasOf(std::string_view op);
/// The version in force in `opset`; null before the first.
const OperatorSchema *schemaOf(std::string_view op, int64_t opset);

/// Refuses (throws) a node with attributes, inputs or outputs that its version lacks, and attributes that are
/// not among `built` unless they say what an absent one says. `built` are words: `axis` is read, `~seed`
/// makes no difference to a step.
void requireKnown(const Node &node, std::string_view built);

} // namespace accum::import
