// SPDX-License-Identifier: Apache-2.0
// Inputs of the graph that nothing reads, and whether another one is read in their place.
#pragma once
#include "compiler/Import/model/Failure.h"
#include "compiler/Import/model/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace accum::import {

bool readsInput(mlir::func::FuncOp function, std::string_view name);
/// A sentence for each input whose elements nothing reads. `function` is @forward, its arguments named.
std::vector<std::string> noteUnread(const Graph &graph, mlir::func::FuncOp function);

/// An export whose example passed one tensor for several inputs reads the last of them everywhere. The others
/// are unread, and the last one may be what only several can be, an index into a table and a label: other
/// data than the example's would then be another loss.
std::optional<Failure> readInTheirPlace(const Graph &graph, mlir::func::FuncOp function);

} // namespace accum::import
