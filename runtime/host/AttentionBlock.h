// SPDX-License-Identifier: Apache-2.0
// A block of queries of one head: its scores against blocks of keys, and the statistics of its rows.
#ifndef ACCUM_RUNTIME_HOST_ATTENTIONBLOCK_H
#define ACCUM_RUNTIME_HOST_ATTENTIONBLOCK_H

#include "runtime/accum_program.h"
#include "runtime/host/AttentionRows.h"
#include "runtime/host/CallTiles.h"
#include <limits>

namespace accum::runtime {

// A block of f32 scores is 64 KiB, or 96 with kMostQueries: two of them leave room in the second cache for
// what is multiplied with them.
constexpr int64_t kBlockKeys = 256;

/// A matrix in memory; elements from row to row and from column to column, one of them 1.
template <typename T> struct MatrixView {
  T *data;
  int64_t row, column;
  MatrixView transposed() const { return {data, column, row}; }
};

/// The rows of `tensor` from `first` on, for one batch entry and one head (or group).
template <typename T>
MatrixView<T> matrixOf(const accum_strided &tensor, int64_t batch, int64_t head, int64_t first) {
  return {static_cast<T *>(tensor.data) + batch * tensor.batch + head * tensor.head + first * tensor.row,
          tensor.row, tensor.column};
}

/// c = a * b, with `add` c += a * b; c is m x n with unit column stride. On the calling thread.
template <typename T>
void multiply(MatrixView<T> c, MatrixView<T> a, MatrixView<T> b, int64_t m, int64_t n, int64_t k, bool add);

/// Keys [first, first + count).
struct KeyRange {
  int64_t first, count;
};

template <typename T> class AttentionBlock {
public:
  using Operand = accum_strided accum_attention::*;

  /// `narrow`: the same call on bf16, whose q, k, v and dy products read instead, with the rows' weights and
  /// their cotangents rounded to it; null: products are of T.
  /// `block`: of blocksOfQueries(call.queries).
  AttentionBlock(const accum_attention &call, int64_t batch, int64_t head, int64_t block,
                 const accum_attention *narrow = nullptr);

  /// y and lse of the block.
  void forward();
  /// Reads lse, so that `weights` can be computed.
  void readStatistics();
  /// The rows' weights over `keys`, into `scores`.
  void weights(KeyRange keys);
  /// block = the queries' rows of `left` times the keys' of `right`.
  void pairRows(T *block, Operand left, Operand right, KeyRange keys, int64_t features) const;
  /// What the next two read of a block of `rows` x `keys`.
  void takeBlock(const T *block, KeyRange keys);
  /// c += the block times the keys' rows of `right`, c having a row for each query.
  void addRowsOfKeys(MatrixView<T> c, Operand right, KeyRange keys, int64_t columns) const;
  /// c += the block, transposed, times the queries' rows of `left`, c having a row for each key.
  void addRowsOfQueries(MatrixView<T> c, Operand left, KeyRange keys, int64_t columns) const;
  /// Sets `cotangents` (as `scores`) to 0 where scores do not depend on queries and keys.
  void blockReplaced(KeyRange keys, T *cotangents) const;

  /// Calls body with each block of keys that a row has weights for.
  template <typename Body> void forKeys(Body body) const {
    int64_t end = anyDead ? call.keys : keysSeen();
    for (int64_t first = 0; first < end; first += kBlockKeys) {
      KeyRange keys{first, end - first < kBlockKeys ? end - first : kBlockKeys};
      if (anyDead || anyNaN || !isHidden(keys))
        body(keys);
    }
  }

  const accum_attention &call;
  const int64_t batch, head, group, first, rows;
  const int64_t pitch;                             ///< of rows of scores: few keys stay in the first cache
  alignas(64) T scores[kMostQueries * kBlockKeys]; ///< row i starts at i * pitch

private:
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  static constexpr T kLowest = T(std::numeric_limits<float>::lowest());

  bool isHiding() const { return call.causal || (call.mask.data && call.mask_dtype == ACCUM_BOOL); }
  int64_t keysSeen() const;
  bool isHidden(KeyRange keys) const;
  bool sees(int64_t i, int64_t key) const;
  template <typename Element> const Element *maskRow(int64_t i, int64_t key) const;
  void computeScores(KeyRange keys);
  void scaleRow(T *row, int64_t i, KeyRange keys) const;
  void hideRow(T *row, int64_t i, KeyRange keys) const;
  void lowerRow(T *row, int64_t i, KeyRange keys) const;
  void sweep(bool ofDead, bool withOutput);
  T absorb(T *row, int64_t i, KeyRange keys);
  void markDead();
  void finishRow(int64_t i);

  const accum_attention *narrow;
  const T *taken = nullptr;
  alignas(64) uint16_t rounded[kMostQueries * kBlockKeys]; ///< what was taken, where `narrow` is there
  const RowFunctions<T> &functions;
  /// Largest score so far, and the sum of exp(score - top).
  T top[kMostQueries], sum[kMostQueries];
  T lse[kMostQueries];
  /// Rows that see nothing (or only what a float mask has put as low as that), where hidden keys count.
  bool dead[kMostQueries] = {};
  bool anyDead = false;
  bool anyNaN = false; ///< a row's weights are NaN, of hidden keys too
};

} // namespace accum::runtime
#endif
