// SPDX-License-Identifier: Apache-2.0
// Rows of padding: `padding_idx` of an embedding keeps the gradient from one of its rows. A traced call says
// so; files without calls cannot, and betray at most where such a row would matter.
#pragma once
#include "compiler/Import/parameters/Parameters.h"

namespace accum::import {

/// Adds a notice for each trained table with a row of padding: where the file marks it, so is it done here;
/// ONNX alone cannot say it, and one row of zeros hints.
void notePadding(const std::vector<const Tensor *> &tables, const Graph &graph, ParameterTable &table);
/// For a file without a signature: trained tables of which padding's row would reach the loss, since a
/// decoder looks it up in place of labels that are ignored, or since something mixes the positions of a
/// sample. None that match a pattern of `trusted`.
Failures refuseLostPadding(const std::vector<const Tensor *> &tables, const Graph &graph,
                           const std::vector<std::string> &trusted, const ParameterTable &table);

} // namespace accum::import
