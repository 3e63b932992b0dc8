// SPDX-License-Identifier: Apache-2.0
// Weights that a file holds as Constant nodes, as Paddle's exporter writes all of them.
#pragma once
#include "compiler/Import/parameters/Signature.h"

namespace accum::import {

/// Makes initializers of Constant nodes: of those that are `asked` for by their whole names, and of weights
/// with a parameter's name; with `all`, of every one that may be a weight. Gives the names of the latter.
std::vector<std::string> liftConstants(Graph &graph, const Signature &signature,
                                       const std::vector<std::string> &asked, bool all);

} // namespace accum::import
