// SPDX-License-Identifier: Apache-2.0
// Scores that count positions from the right: one number more than from the left, which a softmax does not
// see.
#pragma once

#include "passes/Lengths/Site.h"

namespace accum::lengths {

/// The axis along which one number, another at each size, is added to what the smaller constant holds;
/// kAnyAxis of a single number. Nothing where more differs.
std::optional<int64_t> findDrift(Site &site, nn::ConstantOp small, nn::ConstantOp large);

/// What an op, whose rule gave `result`, makes of the drift of an operand; the cause where it would see it.
std::shared_ptr<const Cause> followDrift(Site &site, Facts &result);

} // namespace accum::lengths
