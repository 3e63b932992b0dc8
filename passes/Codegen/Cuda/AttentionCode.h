// SPDX-License-Identifier: Apache-2.0
// The blocks of an attention kernel.
#pragma once

#include "passes/Codegen/Cuda/AttentionScores.h"
#include "passes/Codegen/Cuda/AttentionTiles.h"

namespace accum::codegen {

/// A tensor of heads from `data` on: strides from one sample, head, row and column to the next.
struct Heads {
  mlir::Value data;
  int64_t rows = 0, columns = 0;
  int64_t batch = 0, head = 0, row = 0, column = 0;
  bool vectors = false; ///< four neighbours lie on 16 bytes throughout
};

struct AttentionOperands {
  Heads q, k, v, mask, y, lse, dy, dq, dk, dv;
  int64_t batch = 0, heads = 0, groups = 0;
};

class AttentionCode : public TileCode {
public:
  AttentionCode(mlir::Location loc, mlir::Operation *end, const TileShape &shape,
                const AttentionOperands &operands, const ScoreRules &rules, SharedArea &shared)
      : TileCode(loc, end, shape), o(operands), rules(rules), shared(shared) {}

  /// Blocks of the three parts below. Forward and backward in queries have as many.
  int64_t queryBlocks() const { return o.batch * o.heads * tilesOf(o.q.rows); }
  int64_t keyBlocks() const { return o.batch * o.groups * tilesOf(o.k.rows); }

  /// y and lse of a tile of queries: keys stream by, softmax with a running maximum (Milakov and Gimelshein
  /// 2018, as in FlashAttention).
  void forward(Value block);
  /// dq of a tile of queries; keys stream by.
  void backwardQueries(Value block);
  /// dk and dv of a tile of keys; the queries of all heads that read them stream by, in order.
  void backwardKeys(Value block);

private:
  /// Where a block works: a tile from row `first` on.
  struct Place {
    Value sample, head, group, first;
  };
  /// A row of the running softmax; y is still to be divided by the sum, which each lane has its part of.
  struct Running {
    Values top, sum, y;
    Values packed() const;
    static Running unpack(mlir::ValueRange values, int64_t rows);
  };

  int64_t tilesOf(int64_t extent) const { return (extent + shape.rows - 1) / shape.rows; }
  /// Blocks count tiles, then heads, then samples. Under `causal` the last queries have most to do, and
  /// begin.
  Place queryPlace(Value block);
  Place keyPlace(Value block);
  Value headOf(const Heads &heads, mlir::Type element, const Place &place, Value head);
  Matrix matrix(const Heads &heads, const Place &place, Value head) {
    return {headOf(heads, b.getF32Type(), place, head), heads.rows, heads.columns, heads.row, heads.vectors};
  }
  Scores scores(const Place &place, Value head, bool keysAreRows);
  /// Behind the last key that the tile's queries see by `causal`, in a row that sees any.
  Value keysSeen(Value firstQuery);
  Value lseOf(const Place &place, Value head, Value query);

  using LeastOf = llvm::function_ref<Value(mlir::ValueRange)>;
  Values keyRounds(Value firstQuery, const Values &state, LeastOf least, Round round);
  /// Gets the tile's first query, what is carried, and lse of the own columns.
  using QueryRound = llvm::function_ref<Values(Value, mlir::ValueRange, const Values &)>;
  Values queryRounds(const Place &place, Value head, const Values &state, QueryRound round);
  void absorb(Running &state, Values &weights);
  void finish(const Place &place, Running &state);
  Value cotangent(Value weight, Value dweight, Value delta, Value seen);

  const AttentionOperands o;
  const ScoreRules rules;
  SharedArea &shared;
};

} // namespace accum::codegen
