// SPDX-License-Identifier: Apache-2.0
// Transposes, casts and repeats of one initializer that serve several readers.
#pragma once
#include "compiler/Import/model/Model.h"
#include <set>

namespace accum::import {

/// Gives every reader of these initializers views of its own, so that each can get another initializer. The
/// results have new names: no node of the file gives them.
void splitViews(Graph &graph, const std::set<std::string> &initializers);

} // namespace accum::import
