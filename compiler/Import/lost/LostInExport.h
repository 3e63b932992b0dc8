// SPDX-License-Identifier: Apache-2.0
// What an exporter dropped without a word, where the metadata that it leaves behind betrays it.
#pragma once
#include "compiler/Import/model/Failure.h"
#include "compiler/Import/model/Model.h"
#include <optional>

namespace accum::import {

/// The dynamo exporter writes training-mode batch normalisation in its evaluation form: the graph computes
/// another loss than the model did, and only the signature tells that running statistics were updated.
std::optional<Failure> lostBatchNorm(const Graph &graph);

} // namespace accum::import
