// SPDX-License-Identifier: Apache-2.0
// The blocks of an attention kernel in bf16, on tensor cores.
#pragma once

#include "passes/Codegen/Cuda/AttentionPlaces.h"
#include "passes/Codegen/Cuda/RunningSoftmax.h"
#include "passes/Codegen/Cuda/TileStream.h"
#include "passes/Codegen/Cuda/WarpTiles.h"

namespace accum::codegen {

/// Scores and weights are f32 in registers; the weights of 16 columns are, rounded, a left operand as they
/// lie. Powers are of two, by the instruction.
class TensorAttention : public WarpCode {
public:
  TensorAttention(mlir::Location loc, mlir::Operation *end, const WarpShape &shape,
                  const AttentionOperands &operands, const ScoreRules &rules, SharedArea &shared)
      : WarpCode(loc, end, shape), o(operands), rules(inUnits(rules)), unit(unitOf(rules)), shared(shared),
        places(*this, operands, this->rules, shape.rows(), shape.columns) {}

  int64_t queryBlocks() const { return places.queryBlocks(); }
  int64_t keyBlocks() const { return places.keyBlocks(); }

  /// y and lse of a tile of queries; keys stream by.
  void forward(Value block);
  /// dq of a tile of queries; keys stream by.
  void backwardQueries(Value block);
  /// dk and dv of a tile of keys; the queries of all heads that read them stream by, in order.
  void backwardKeys(Value block);

private:
  using Place = AttentionPlaces::Place;
  using Running = RunningSoftmax;
  /// What a row's weights and their cotangents are made of.
  struct Statistics {
    Value top, inverse, delta; ///< inverse: null where it is 1
  };
  using StatisticsOf = llvm::function_ref<Statistics(const Spot &)>;
  /// Sixteen columns of a tile: where its rows and columns begin.
  struct Window {
    Value rows, columns;
    bool keysAreRows;
  };

  /// Scores are in units of log2(e) where no mask says otherwise: one may say the lowest number.
  static double unitOf(const ScoreRules &rules);
  static ScoreRules inUnits(ScoreRules rules);
  Value power(Value x); ///< e^x of a difference of scores

  /// Of products; `seen` becomes null where all keys are. Only with a mask.
  Value maskedScore(Scores &scoring, Value product, const Window &window, const Spot &spot, Value &seen);
  /// Without a mask: what causal and the ends hide becomes -inf.
  void hide(const Scores &scoring, llvm::MutableArrayRef<Value> scores, const Window &window);
  Values keyScores(Scores &scoring, const Values &queries, const Tile &keys, const Place &place, Value first);
  void absorb(Running &state, Values &weights);
  void finish(const Place &place, Running &state);

  Statistics statisticsOf(Scores &scoring, Value lse, Value query);
  /// Products become weights, and the weights' cotangents in `dweights` those of scores, less the scale.
  void differentiate(Scores &scoring, llvm::MutableArrayRef<Value> products,
                     llvm::MutableArrayRef<Value> dweights, const Window &window, StatisticsOf rows);
  /// Room for a tile of what streams by, twice, and one of the two.
  Tile takeStages(int64_t columns) { return shared.takeBrain(*this, 2 * shape.columns, columns); }
  Tile stageOf(const Tile &stages, Value stage) {
    return rowsOf(*this, stages, mul(stage, stages.rows / 2), stages.rows / 2);
  }
  /// The rows of a block in registers, as left operands: queries and cotangents, or keys and values (none
  /// where these stay in shared memory).
  struct Owned {
    Values first, second;
  };
  /// What streams by a block that owns keys, in two stages, and what follows from the one at hand.
  struct QueryTiles {
    Tile q, dy, y, lses;
    Tile deltas, tops, inverses; ///< a number for each query
  };
  void loadQueries(const QueryTiles &tiles, const Place &place, Value head, Value stage, Value first);
  void readStatistics(const QueryTiles &tiles, Scores &scoring, Value stage, Value first);
  Values queryCotangents(Scores &scoring, const Owned &own, llvm::ArrayRef<Statistics> statistics,
                         const Tile &keys, const Tile &values, const Window &tile, mlir::ValueRange before);
  Values keyCotangents(Scores &scoring, const Owned &own, const Tile &v, const QueryTiles &tiles, Value stage,
                       const Window &tile, mlir::ValueRange before, size_t split);
  void writeScaled(const Matrix &matrix, Value first, llvm::ArrayRef<Value> sums);

  const AttentionOperands o;
  const ScoreRules rules;
  const double unit;
  SharedArea &shared;
  AttentionPlaces places;
};

} // namespace accum::codegen
