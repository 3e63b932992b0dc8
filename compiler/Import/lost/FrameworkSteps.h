// SPDX-License-Identifier: Apache-2.0
// Steps that change no value and no gradient: a loss times its delta of 1, the first turn of a running sum.
#pragma once
#include "compiler/Import/lost/TracedCall.h"

namespace accum::import {

/// `reader` reads what `source` computes, both in one line that calls a function of the framework, and that
/// function has a step `operation` (`mul`) between them: what an optimiser drops there is none of the
/// model's.
bool isFrameworkStep(const Node &source, const Node &reader, std::string_view operation);

/// The call adds to a running sum, and `operand` is what its first turn gave: `0 + x`, as `sum(losses)` and
/// loops of `total += loss` compute it. A sum with a parameter that is zero has the same name.
bool isFirstTurn(const TracedCall &call, std::string_view operand);

} // namespace accum::import
