// SPDX-License-Identifier: Apache-2.0
// What an exporter dropped without a word, where the metadata that it leaves behind betrays it.
#pragma once
#include "compiler/Import/Failure.h"
#include "compiler/Import/Model.h"
#include <optional>
#include <string>

namespace accum::import {

/// The dynamo exporter writes training-mode batch normalisation in its evaluation form: the graph computes
/// another loss than the model did, and only the signature tells that running statistics were updated.
std::optional<Failure> lostBatchNorm(const Graph &graph);

/// A notice where `scaled_dot_product_attention` dropped probabilities when it was traced, and no node of the
/// graph does: the dynamo exporter leaves that out. The loss is the model's, without that noise.
std::optional<std::string> lostDropout(const Graph &graph);

} // namespace accum::import
