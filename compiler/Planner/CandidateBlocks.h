// SPDX-License-Identifier: Apache-2.0
// Unplaced rectangles in blocks that are looked at as a whole, or left out as a whole.
#pragma once
#include "compiler/Planner/OpposedStacks.h"
#include "compiler/Planner/Packing.h"
#include <span>
#include <vector>

namespace accum::planner {

/// The unplaced rectangles of a packing that grows, for the question which of those inside a valley weighs
/// most there. They lie in columns of time by start, those of a column by end, and these in blocks of
/// sixteen: what of a column sticks out of the valley is behind all that does not, and a block whose heaviest
/// is lighter than what was found is left out. So of a thousand inside a valley some fifty are looked at, and
/// these four at a time.
class CandidateBlocks {
public:
  static constexpr int kLanes = 16;

  /// A valley: its sections, what the clock shows there, the size that ends level with its wall, and what
  /// nothing in it may stand higher than.
  struct Valley {
    int start, end;
    float from, to;
    float size;
    const RowCeilings *ceilings = nullptr; ///< null: none
    int64_t floor = 0;                     ///< from there to a ceiling there is room
  };
  /// Of every way to choose: one by the room beside a rectangle that halves its weight, and noise on weights,
  /// at most, with where its numbers begin.
  struct Choice {
    float perUnit, amplitude;
    size_t salt;
  };
  /// Salts are below this.
  static constexpr size_t kSalts = 8192;

  CandidateBlocks(std::span<const Rectangle> rectangles, int horizon);

  /// Keeps those for which `isPlaced` is 0.
  void arrange(std::span<const char> isPlaced);
  /// Weights are `base` (per rectangle, not negative) times what the clock (per time, ascending) counts of a
  /// rectangle's length. None is taken after it but those for which `isPlaced` is not 0.
  void weigh(std::span<const float> base, std::span<const double> clock, std::span<const char> isPlaced);
  /// The position of the heaviest inside the valley, or -1. The room beside a rectangle makes it lighter; one
  /// that fills the valley or ends level with its wall counts double. `visits` grows by what it cost.
  int heaviest(const Valley &valley, const Choice &choice, int64_t &visits);
  int rectangleAt(int position) const { return indices[static_cast<size_t>(position)]; }
  void take(int position) { weights[static_cast<size_t>(position)] = kTaken; }
  void putBack(int position) { weights[static_cast<size_t>(position)] = all[static_cast<size_t>(position)]; }

private:
  static constexpr float kTaken = -1;
  void setBlocks();
  size_t setBounds(size_t begin, size_t end, const Valley &valley, const Choice &choice);
  bool fitsBelow(size_t position, const Valley &valley) const;
  void look(size_t block, const Valley &valley, const Choice &choice, float &most, int &best) const;

  std::span<const Rectangle> rectangles;
  int horizon, width = 1;                  ///< of a column
  std::vector<int> firstBlock;             ///< per column, and one behind
  std::vector<int> indices;                ///< per position: its rectangle, or -1
  std::vector<int> starts, ends;           ///< per position
  std::vector<float> sizes;                ///< per position
  std::vector<float> weights, all;         ///< per position, kTaken: not there; the same with those taken
  std::vector<float> from, to;             ///< per position: what the clock shows at start and end
  std::vector<float> blockMost, blockFrom; ///< per block: the heaviest; the first of `from`
  std::vector<int> blockEnd;               ///< per block: the first end
  std::vector<float> bounds;               ///< per block of a valley
  std::vector<float> noises;
};

} // namespace accum::planner
