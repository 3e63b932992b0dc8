// SPDX-License-Identifier: Apache-2.0
// The blocks of an attention kernel in f32 arithmetic.
#pragma once

#include "passes/Codegen/Cuda/AttentionPlaces.h"
#include "passes/Codegen/Cuda/AttentionTiles.h"
#include "passes/Codegen/Cuda/RunningSoftmax.h"

namespace accum::codegen {

class AttentionCode : public TileCode {
public:
  AttentionCode(mlir::Location loc, mlir::Operation *end, const TileShape &shape,
                const AttentionOperands &operands, const ScoreRules &rules, SharedArea &shared)
      : TileCode(loc, end, shape), o(operands), rules(rules), shared(shared),
        places(*this, operands, rules, shape.rows, shape.columns) {}

  /// Blocks of the three parts below. Forward and backward in queries have as many.
  int64_t queryBlocks() const { return places.queryBlocks(); }
  int64_t keyBlocks() const { return places.keyBlocks(); }

  /// y and lse of a tile of queries: keys stream by, softmax with a running maximum (Milakov and Gimelshein
  /// 2018, as in FlashAttention).
  void forward(Value block);
  /// dq of a tile of queries; keys stream by.
  void backwardQueries(Value block);
  enum class Part { Both, Keys, Values };
  /// dk and dv of a tile of keys; the queries of all heads that read them stream by, in order.
  void backwardKeys(Value block, Part part);
  /// Sums of both fit beside each other.
  static constexpr bool splitsKeys() { return false; }

private:
  using Place = AttentionPlaces::Place;
  using Running = RunningSoftmax;

  void absorb(Running &state, Values &weights);
  void finish(const Place &place, Running &state);
  Value cotangent(Value weight, Value dweight, Value delta, Value seen);

  const AttentionOperands o;
  const ScoreRules rules;
  SharedArea &shared;
  AttentionPlaces places;
};

} // namespace accum::codegen
