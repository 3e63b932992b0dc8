// SPDX-License-Identifier: Apache-2.0
// The interface by which an op says how placements propagate through it: see Placement.td.
#pragma once

#include "dialects/NN/Placement.h"
#include "dialects/NN/Refusal.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/NN/Placement.h.inc"
