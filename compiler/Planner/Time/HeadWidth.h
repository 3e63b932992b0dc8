// SPDX-License-Identifier: Apache-2.0
// How fast attention of wide heads is on a card, beside that of heads of 64 features, whose rate profiles
// give.
#pragma once
#include "compiler/Planner/Problem/CallShape.h"
#include "compiler/Planner/Time/DeviceProfile.h"

namespace accum::planner {

/// The rate of an attention call over the profile's rate for that arithmetic, positive, usually below 1:
/// wider heads have smaller tiles, and fewer blocks find room on a multiprocessor. `dtype`: what is
/// multiplied, `bf16`, `tf32` or `f32`. 1 to 64 features, on hosts and for calls that are no attention.
double headShare(const DeviceProfile &card, const CallShape &call, std::string_view dtype);

} // namespace accum::planner
