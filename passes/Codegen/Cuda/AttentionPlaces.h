// SPDX-License-Identifier: Apache-2.0
// What a block of an attention kernel owns, and the tiles that it loops over.
#pragma once

#include "passes/Codegen/Cuda/AttentionScores.h"
#include "passes/Codegen/Cuda/SharedTiles.h"

namespace accum::codegen {

/// A tensor of heads from `data` on: strides from one sample, head, row and column to the next.
struct Heads {
  mlir::Value data;
  mlir::Type element;
  int64_t rows = 0, columns = 0;
  int64_t batch = 0, head = 0, row = 0, column = 0;
  bool vectors = false; ///< 16 bytes of neighbours lie on 16 bytes throughout
};

struct AttentionOperands {
  Heads q, k, v, mask, y, lse, dy, dq, dk, dv;
  int64_t batch = 0, heads = 0, groups = 0;
};

/// A block owns a tile of `rows` queries or keys; tiles of `columns` of the other ones stream by.
class AttentionPlaces {
public:
  using Value = mlir::Value;

  AttentionPlaces(ThreadCode &code, const AttentionOperands &operands, const ScoreRules &rules, int64_t rows,
                  int64_t columns)
      : c(code), o(operands), rules(rules), rows(rows), columns(columns) {}

  struct Place {
    Value sample, head, group, first; ///< `first` of the tile's rows
  };

  int64_t queryBlocks() const { return o.batch * o.heads * tilesOf(o.q.rows); }
  int64_t keyBlocks() const { return o.batch * o.groups * tilesOf(o.k.rows); }
  /// Blocks count tiles, then heads, then samples. Under `causal` the last queries have most to do, and
  /// begin.
  Place queryPlace(Value block);
  Place keyPlace(Value block); ///< without a head

  Matrix matrix(const Heads &heads, const Place &place, Value head) {
    return {headOf(heads, heads.element, place, head),
            heads.element,
            heads.rows,
            heads.columns,
            heads.row,
            heads.vectors};
  }
  Scores scores(const Place &place, Value head, bool keysAreRows);
  Value lseOf(const Place &place, Value head, Value query);
  /// Where it is; behind the last query that one's.
  Value lseAddress(const Place &place, Value head, Value query);
  void storeLse(const Place &place, Value query, Value lse);

  using LeastOf = llvm::function_ref<Value(mlir::ValueRange)>;
  using Round = ThreadCode::Round;
  /// What runs for each tile of keys that has weights. Where hidden keys may have them, keys that `causal`
  /// hides come second, if there is a row that saw nothing: `least` of what is carried tells.
  Values keyRounds(Value firstQuery, const Values &state, LeastOf least, Round round);
  /// What runs for each tile of queries that has weights for the tile's keys: those that see one by `causal`,
  /// and those with a row that sees nothing. `lane`: of eight beside each other, which take the same way.
  Values queryRounds(const Place &place, Value head, Value lane, const Values &state, Round round);

private:
  int64_t tilesOf(int64_t extent) const { return (extent + rows - 1) / rows; }
  Value headOf(const Heads &heads, mlir::Type element, const Place &place, Value head);
  /// Behind the last key that the tile's queries see by `causal`, in a row that sees any.
  Value keysSeen(Value firstQuery);

  ThreadCode &c;
  const AttentionOperands o;
  const ScoreRules rules;
  const int64_t rows, columns;
};

} // namespace accum::codegen
