// SPDX-License-Identifier: Apache-2.0
// Names and order of a graph.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// Checks that names are text, that every name is defined once and every name read is defined, and brings
/// nodes into topological order (the file's own where that is one), in subgraphs too. Everything wrong is
/// returned, as `malformed-model`; a cycle is named by its nodes.
Failures validate(Graph &graph);

} // namespace accum::import
