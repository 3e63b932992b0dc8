// SPDX-License-Identifier: Apache-2.0
// The blocks of an attention kernel on tensor cores, in bf16 or tf32.
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
  /// Of what a block that owns keys computes.
  enum class Part { Both, Keys, Values };
  /// dk and dv of a tile of keys, or one of them; the queries of all heads that read them stream by, in
  /// order.
  void backwardKeys(Value block, Part part);
  /// Whether dk and dv take blocks of their own: the sums of both are more than there are registers.
  bool splitsKeys() const {
    return leftWords() + sumWords() * 2 > (shape.bytes == 4 ? kMostWordsOfTf32 : kMostWords);
  }

private:
  /// Registers of a thread for what lives as long as its block does, of the own rows and sums; the rest is
  /// for what streams by. With more of both rows, or of one, some spill.
  static constexpr int64_t kMostOfBoth = 128, kMostWords = 160, kMostWordsOfTf32 = 120;
  int64_t width() const { return std::max(o.q.columns, o.v.columns); }
  int64_t leftWords() const { return shape.slabs * width() * shape.bytes / 8; }
  int64_t sumWords() const { return shape.slabs * width() / 2; }
  /// Sums take so many registers that a block's own rows stay in shared memory in the backward pass.
  bool isVeryWide() const { return sumWords() > 64; }
  /// Two; one where two tiles of what streams by are more than shared memory has beside the own rows.
  int64_t stages() const {
    int64_t rows = 2 * shape.rows() + 6 * shape.columns, row = width() * shape.bytes + 32;
    return isVeryWide() && rows * row > SharedArea::kMost - 2048 ? 1 : 2;
  }

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
  Values keyScores(Scores &scoring, const Left &queries, const Tile &keys, const Place &place, Value first);
  void absorb(Running &state, Values &weights);
  void finish(const Place &place, Running &state);

  Statistics statisticsOf(Scores &scoring, Value lse, Value query);
  /// Products become weights, and the weights' cotangents in `dweights` those of scores, less the scale; none
  /// where nobody asks.
  void differentiate(Scores &scoring, llvm::MutableArrayRef<Value> products,
                     llvm::MutableArrayRef<Value> dweights, const Window &window, StatisticsOf rows);
  Tile takeRows(int64_t rows, int64_t columns) {
    return shared.takeTensor(*this, rows, columns, shape.bytes);
  }
  /// Room for a tile of what streams by, `count` times, and one of them.
  Tile takeStages(int64_t columns, int64_t count = 2) { return takeRows(count * shape.columns, columns); }
  Tile stageOf(const Tile &all, Value stage) {
    return rowsOf(*this, all, mul(stage, shape.columns), shape.columns);
  }
  /// The same of a number for each row.
  Tile numbersOf(const Tile &all, Value stage) { return rowsOf(*this, all, stage, 1); }
  /// The rows of a block as left operands: queries and cotangents, or keys and values. They are in registers
  /// where there is room beside sums.
  struct Owned {
    Left first, second;
  };
  /// What streams by a block that owns keys, in two stages, and what follows from the one at hand.
  struct QueryTiles {
    Tile q, dy, y, lses;
    Tile deltas, tops, inverses; ///< a number for each query
  };
  void loadQueries(const QueryTiles &tiles, const Place &place, Value head, Value stage, Value first);
  void finishQueries(const QueryTiles &tiles, const Place &place, Value head, Value stage);
  void readStatistics(const QueryTiles &tiles, Scores &scoring, Value stage, Value first);
  Values queryCotangents(Scores &scoring, const Owned &own, llvm::ArrayRef<Statistics> statistics,
                         const Tile &keys, const Tile &values, const Window &tile, mlir::ValueRange before);
  Values keyCotangents(Scores &scoring, const Owned &own, const QueryTiles &tiles, Value stage,
                       const Window &tile, mlir::ValueRange before, size_t split);
  void writeScaled(const Matrix &matrix, Value first, llvm::ArrayRef<Value> sums);

  const AttentionOperands o;
  const ScoreRules rules;
  const double unit;
  SharedArea &shared;
  AttentionPlaces places;
};

} // namespace accum::codegen
