// SPDX-License-Identifier: Apache-2.0
// All dialects that a module of ours may hold.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace accum {

/// Adds our dialects and the upstream ones that they are mixed with (func, arith).
void registerDialects(mlir::DialectRegistry &registry);

} // namespace accum
