// SPDX-License-Identifier: Apache-2.0
// The refusal of a graph that holds the batch size of the example it was traced with.
#pragma once
#include <string>

namespace accum::import {

/// `message` says what meets what: "expands [3] to [N]".
[[noreturn]] void refuseBakedIn(const std::string &message);

} // namespace accum::import
