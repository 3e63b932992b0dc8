// SPDX-License-Identifier: Apache-2.0
// From rejections to messages.
#pragma once

#include "passes/Check/PlaceValues.h"
#include "passes/Check/Verdict.h"

namespace accum {

/// Sets node and opType from the location of an op: NameLoc("<node>", NameLoc("<op type>")).
void nameNode(mlir::Location location, mlir::Operation *op, std::string &node, std::string &opType);

/// In words, with the way out.
Cause describe(const Rejection &rejection);

/// An error at `location`, with notes. The driver prints the node's name in front of it.
void emit(mlir::Location location, const Cause &cause);

} // namespace accum
