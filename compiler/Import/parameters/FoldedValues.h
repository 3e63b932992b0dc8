// SPDX-License-Identifier: Apache-2.0
// What the dynamo exporter folded, by the names that it gives.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// What one operation made of a parameter. The exporter calls a value after its operation, and `val_9` within
/// a call, where weights are only transposed; `exp` or `squeeze_1` are no names of copies. Moved: each
/// element once, in an order that is not told.
enum class Made { Copy, Transpose, Moved, Other };
Made howMade(std::string_view name);

/// `w[indices]` of the framework: the exporter moves the indexed axes to the front, where the first one is
/// already.
bool isIndexedInFront(const Node &node);

} // namespace accum::import
