// SPDX-License-Identifier: Apache-2.0
// What an exporter dropped without a word, where the metadata that it leaves behind betrays it.
#pragma once
#include "compiler/Import/Failure.h"
#include "compiler/Import/Model.h"
#include <optional>

namespace accum::import {

/// The graph computes another loss than the model: batch normalisation in training mode that became its
/// evaluation form, label smoothing that is gone.
std::optional<Failure> lostInExport(const Graph &graph);

} // namespace accum::import
