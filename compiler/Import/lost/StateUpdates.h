// SPDX-License-Identifier: Apache-2.0
// State that forward writes: buffers, parameters and inputs that the traced model changed. A file of ONNX
// holds no such update.
#pragma once
#include "compiler/Import/model/Failure.h"
#include "compiler/Import/model/Model.h"
#include <optional>
#include <set>

namespace accum::import {

/// An update that the loss depends on, where `needed` are the names of all values that it is computed from:
/// from the second step on it would be computed from other values than the model's.
std::optional<Failure> lostUpdate(const Graph &graph, const std::set<std::string> &needed);
/// The buffers that forward updates and no value of `needed` reads: a notice, or nothing. Counters of batches
/// are not worth one.
std::optional<std::string> unreadUpdates(const Graph &graph, const std::set<std::string> &needed);

} // namespace accum::import
