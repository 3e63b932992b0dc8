// SPDX-License-Identifier: Apache-2.0
// The kernels of an attention problem as text, and how one is run in the simulator.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/runtime/AttentionProblem.h"
#include <string>
#include <vector>

namespace accum::test {

/// A module of one kernel, views of its buffers included: q, k, v, y and their cotangents are of `element`
/// (tf32: f32 in a module of that precision), a float mask f32.
std::string attentionKernel(const AttentionProblem<float> &problem, bool backward, const char *element);

mlir::OwningOpRef<mlir::ModuleOp> parseKernel(const std::string &text);

/// Compiles a kernel and runs it with all of the simulator's checks; what went wrong, or nothing.
std::string simulate(const std::string &text, std::vector<void *> args);

/// What ptxas says of a kernel for every generation of cards, spills being failures; prints registers and
/// shared memory behind `title`.
void expectNoSpills(const std::string &text, const std::string &title);

} // namespace accum::test
