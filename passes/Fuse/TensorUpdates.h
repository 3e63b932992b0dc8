// SPDX-License-Identifier: Apache-2.0
// Optimizers whose formula has sums over a tensor: a parameter after the other.
#pragma once

#include "dialects/Train/TrainDialect.h"

namespace accum {

/// Replaces every `train.update` of such an optimizer by loads, ops of nn and stores of that parameter. Its
/// name; empty where the optimizer is another one, whose updates stay.
std::string expandTensorUpdates(train::PhaseOp phase);

} // namespace accum
