// SPDX-License-Identifier: Apache-2.0
// The score of a query and a key under masks, and fully masked rows (runtime/accum_program.h:
// accum_hidden).
#pragma once

#include "dialects/NN/NNDialect.h"
#include "passes/Codegen/Cuda/ThreadCode.h"

namespace accum::codegen {

struct ScoreRules {
  double scale = 1;
  bool causal = false;
  nn::HiddenScore hidden = nn::HiddenScore::excluded;
  int64_t queries = 0, keys = 0;
  bool shown = false, added = false; ///< by an i1 mask; by a float mask
  int64_t maskRow = 0, maskColumn = 0;
  bool queriesEnd = false, keysEnd = false; ///< within a tile: what is behind them has no weight

  bool hasMask() const { return shown || added; }
  /// Whether hidden keys have weights in rows that see nothing.
  bool countsHidden() const {
    return hasMask() && (hidden == nn::HiddenScore::lowered || hidden == nn::HiddenScore::replaced);
  }
  /// Whether there may be rows whose log-sum-exp does not tell their weights: the lowest number swallows the
  /// logarithm of how many there are.
  bool mayLoseSum() const { return added || countsHidden(); }
  bool mayBeEmpty() const { return hasMask() && hidden == nn::HiddenScore::excluded; }
};

class Scores {
public:
  using Value = mlir::Value;

  /// `mask`: of one head.
  Scores(ThreadCode &code, const ScoreRules &rules, Value mask) : c(code), rules(rules), mask(mask) {}

  /// Of a product of a query and a key. `seen` becomes null where all keys are.
  Value of(Value product, Value query, Value key, Value *seen = nullptr);

  /// exp(score - top) * inverse is a weight: `top` is a row's log-sum-exp to begin with.
  struct Row {
    Value top, inverse; ///< inverse: null where it is 1
  };
  Row rowOf(Value lse, Value query);
  Value weight(Value score, const Row &row);

  /// Half of the lowest number: rows that are not above it see nothing.
  static double lowHalf();

  const ScoreRules &how() const { return rules; }

private:
  Value maskAt(mlir::Type type, Value query, Value key);
  Value addedAt(Value query, Value key) { return maskAt(c.b.getF32Type(), query, key); }
  Value seen(Value query, Value key);
  Value hiddenScore(Value score, Value query, Value key);
  Row sweptRow(Value query);

  ThreadCode &c;
  const ScoreRules rules;
  Value mask;
};

} // namespace accum::codegen
