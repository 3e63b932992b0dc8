// SPDX-License-Identifier: Apache-2.0
// Initializers that stand where a node stood: tools that compute constants save files so.
#pragma once
#include "compiler/Import/model/Readers.h"

namespace accum::import {

/// The dynamo exporter calls nodes `node_linear_3`.
bool hasNodesOfDynamo(const Graph &graph);
/// Written by the dynamo exporter and saved by a tool, such as onnxruntime, that dropped what the exporter
/// says of nodes and parameters.
bool hasLostItsRecord(const Graph &graph);
/// Which file says what this one cannot: the one that `call` writes.
std::string fileThatSays(const Graph &graph, std::string_view call);

/// Of a file that names its parameters: what has the name of a node's result, or none, is no parameter. A
/// weight of a matrix that was only transposed, or cast, is one still, and so is the gain 1 + w of a norm.
bool standsForNode(const Graph &graph, const Tensor &tensor, const std::vector<Reader> &readers);

/// Of a number: what makes one of a parameter, as a temperature is the exponential of one.
bool isMadeNumber(std::string_view name);
/// No module of a framework has such a name: constants of functions that onnxruntime has written out, and
/// those that Paddle's exporter adds.
bool isNameOfTool(std::string_view name);
/// Of a matrix without a name, in a file that has lost its record: the bias that is added to its product. A
/// module that runs twice, as ALBERT's layer, has one; "" for none, and for one of equal values, as others
/// have too.
std::string biasBeside(const Graph &graph, const std::string &initializer);
/// One of them multiplies it as a matrix, looks it up, or normalises with it.
bool isReadAsWeight(const std::vector<Reader> &readers);

} // namespace accum::import
