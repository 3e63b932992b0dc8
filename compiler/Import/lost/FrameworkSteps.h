// SPDX-License-Identifier: Apache-2.0
// Steps that change no value and no gradient: a loss times its delta of 1, the first turn of a running sum.
#pragma once
#include "compiler/Import/lost/TracedCall.h"

namespace accum::import {

/// `reader` reads what `source` computes, both in one line of the model, and a step `operation` (`mul`) lay
/// between them that an optimiser drops for its number, as a product with 1 or the copy that
/// `cosine_similarity` makes of a norm: what framework functions do with a margin of 0 or a delta of 1.
bool isStepOfOneLine(const Node &source, const Node &reader, std::string_view operation);

/// The line that both come from writes the call `operation` twice with the same operands, as
/// `t * x.sigmoid().log() + (1 - t) * (1 - x.sigmoid()).log()` does: nothing was detached between the two.
bool isWrittenTwice(const Node &source, const Node &reader, std::string_view operation);

/// The call adds to a running sum, and `operand` is what its first turn gave: `0 + x`, as `sum(losses)` and
/// loops of `total += loss` compute it. A sum with a parameter that is zero has the same name.
bool isFirstTurn(const TracedCall &call, std::string_view operand);

} // namespace accum::import
