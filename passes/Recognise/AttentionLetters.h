// SPDX-License-Identifier: Apache-2.0
// The indices of the two products of an attention, as letters.
#pragma once

#include "dialects/NN/NNDialect.h"
#include <optional>
#include <string>

namespace accum::recognise {

/// The letters of both products. Scores and probabilities are [leading.., query, key].
struct Letters {
  std::string query, key, value; ///< of the operands as they are
  /// In the order that attention has. Keys and values lack the head where all heads read the same ones.
  std::string wantedQuery, wantedKey, wantedValue, result, wantedResult;
  unsigned queryOperand = 0, valueOperand = 0;
};

/// Of the product of queries and keys and the one with the values, whose operand `probabilities` holds the
/// softmax; nothing where these are no attention with two or three axes besides the features.
std::optional<Letters> lettersOf(nn::ContractOp scores, nn::ContractOp output, unsigned probabilities);

} // namespace accum::recognise
