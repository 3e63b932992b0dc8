// SPDX-License-Identifier: Apache-2.0
// Whether a gradient goes through a value.
#pragma once
#include "mlir/IR/Value.h"

namespace accum::import {

/// A trained parameter is among what the value is computed from.
bool dependsOnTraining(mlir::Value value);

} // namespace accum::import
