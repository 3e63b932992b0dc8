// SPDX-License-Identifier: Apache-2.0
// Scores, and softmax over blocks of keys with a running maximum (Milakov and Gimelshein 2018, as in
// FlashAttention).
#include "runtime/host/AttentionBlock.h"
#include "runtime/host/Bf16Rows.h"
#include "runtime/host/Gemm.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime {

template <typename T>
void multiply(MatrixView<T> c, MatrixView<T> a, MatrixView<T> b, int64_t m, int64_t n, int64_t k, bool add) {
  accum_gemm product{};
  product.a = a.data, product.b = b.data, product.c = c.data;
  product.dtype = product.c_dtype = sizeof(T) == 8 ? ACCUM_F64 : ACCUM_F32;
  product.m = m, product.n = n, product.k = k;
  product.a_row = a.row, product.a_col = a.column;
  product.b_row = b.row, product.b_col = b.column;
  product.c_row = std::max(c.row, n); // a single row may have any stride
  gemmOnThisThread(product, add ? 1 : 0);
}

template void multiply(MatrixView<float>, MatrixView<float>, MatrixView<float>, int64_t, int64_t, int64_t,
                       bool);
template void multiply(MatrixView<double>, MatrixView<double>, MatrixView<double>, int64_t, int64_t, int64_t,
                       bool);

namespace {

/// The same of bf16, in the processor's own instructions.
void multiplyBf16(MatrixView<float> c, MatrixView<const uint16_t> a, MatrixView<const uint16_t> b, int64_t m,
                  int64_t n, int64_t k, bool add) {
  GemmOperand left = operandOf(a.row, a.column, m, k), right = operandOf(b.row, b.column, k, n);
  gemmLibrary().bf16Gemm(left.transpose, right.transpose, m, n, k, 1.0f, a.data, left.leading, b.data,
                         right.leading, add ? 1.0f : 0.0f, c.data, std::max(c.row, n));
}

} // namespace

/// Where block `block` of a head's queries begins.
static int64_t firstQuery(int64_t queries, int64_t block) {
  return queries * block / blocksOfQueries(queries);
}

template <typename T>
AttentionBlock<T>::AttentionBlock(const accum_attention &call, int64_t batch, int64_t head, int64_t block,
                                  const accum_attention *narrow)
    : call(call), batch(batch), head(head), group(head / (call.heads / call.groups)),
      first(firstQuery(call.queries, block)), rows(firstQuery(call.queries, block + 1) - first),
      pitch(std::min(kBlockKeys, (call.keys + 15) / 16 * 16)), narrow(narrow), functions(rowFunctions<T>()) {}

template <typename T>
void AttentionBlock<T>::pairRows(T *block, Operand left, Operand right, KeyRange keys,
                                 int64_t features) const {
  if constexpr (std::is_same_v<T, float>)
    if (narrow)
      return multiplyBf16({block, pitch, 1}, matrixOf<const uint16_t>(narrow->*left, batch, head, first),
                          matrixOf<const uint16_t>(narrow->*right, batch, group, keys.first).transposed(),
                          rows, keys.count, features, false);
  multiply<T>({block, pitch, 1}, matrixOf<T>(call.*left, batch, head, first),
              matrixOf<T>(call.*right, batch, group, keys.first).transposed(), rows, keys.count, features,
              false);
}

template <typename T> void AttentionBlock<T>::takeBlock(const T *block, KeyRange keys) {
  taken = block;
  if constexpr (std::is_same_v<T, float>)
    for (int64_t i = 0; narrow && i < rows; ++i)
      roundRow(block + i * pitch, keys.count, rounded + i * pitch);
}

template <typename T>
void AttentionBlock<T>::addRowsOfKeys(MatrixView<T> c, Operand right, KeyRange keys, int64_t columns) const {
  if constexpr (std::is_same_v<T, float>)
    if (narrow)
      return multiplyBf16(c, {rounded, pitch, 1},
                          matrixOf<const uint16_t>(narrow->*right, batch, group, keys.first), rows, columns,
                          keys.count, true);
  multiply<T>(c, {const_cast<T *>(taken), pitch, 1}, matrixOf<T>(call.*right, batch, group, keys.first), rows,
              columns, keys.count, true);
}

template <typename T>
void AttentionBlock<T>::addRowsOfQueries(MatrixView<T> c, Operand left, KeyRange keys,
                                         int64_t columns) const {
  if constexpr (std::is_same_v<T, float>)
    if (narrow)
      return multiplyBf16(c, MatrixView<const uint16_t>{rounded, pitch, 1}.transposed(),
                          matrixOf<const uint16_t>(narrow->*left, batch, head, first), keys.count, columns,
                          rows, true);
  multiply<T>(c, MatrixView<T>{const_cast<T *>(taken), pitch, 1}.transposed(),
              matrixOf<T>(call.*left, batch, head, first), keys.count, columns, rows, true);
}

/// Behind the last key that a query of the block sees by `causal`.
template <typename T> int64_t AttentionBlock<T>::keysSeen() const {
  return call.causal ? std::min(call.keys, first + rows) : call.keys;
}

template <typename T>
template <typename Element>
const Element *AttentionBlock<T>::maskRow(int64_t i, int64_t key) const {
  const accum_strided &mask = call.mask;
  return static_cast<const Element *>(mask.data) + batch * mask.batch + head * mask.head +
         (first + i) * mask.row + key * mask.column;
}

/// Whether the mask hides all of them from all queries of the block.
template <typename T> bool AttentionBlock<T>::isHidden(KeyRange keys) const {
  if (!call.mask.data || call.mask_dtype != ACCUM_BOOL)
    return false;
  int64_t different = call.mask.row == 0 ? 1 : rows;
  for (int64_t i = 0; i < different; ++i) {
    const uint8_t *shown = maskRow<uint8_t>(i, keys.first);
    for (int64_t j = 0; j < keys.count; ++j)
      if (shown[j * call.mask.column])
        return false;
  }
  return true;
}

template <typename T> bool AttentionBlock<T>::sees(int64_t i, int64_t key) const {
  if (call.causal && key > first + i)
    return false;
  return !call.mask.data || call.mask_dtype != ACCUM_BOOL || *maskRow<uint8_t>(i, key);
}

/// Scale and float mask.
template <typename T> void AttentionBlock<T>::scaleRow(T *row, int64_t i, KeyRange keys) const {
  T scale = T(call.scale);
  if (!call.mask.data || call.mask_dtype == ACCUM_BOOL)
    return functions.scale(row, keys.count, scale);
  const T *mask = maskRow<T>(i, keys.first);
  if (call.mask.column == 1)
    return functions.scaleAdd(row, keys.count, scale, mask);
  for (int64_t j = 0; j < keys.count; ++j)
    row[j] = row[j] * scale + mask[j * call.mask.column];
}

/// -inf where the query does not see the key: its weight is 0 in a row that sees any.
template <typename T> void AttentionBlock<T>::hideRow(T *row, int64_t i, KeyRange keys) const {
  int64_t seen = call.causal ? std::clamp<int64_t>(first + i + 1 - keys.first, 0, keys.count) : keys.count;
  std::fill(row + seen, row + keys.count, -kInfinity);
  if (!call.mask.data || call.mask_dtype != ACCUM_BOOL)
    return;
  const uint8_t *shown = maskRow<uint8_t>(i, keys.first);
  if (call.mask.column == 1)
    return functions.hide(row, seen, shown, -kInfinity);
  for (int64_t j = 0; j < seen; ++j)
    row[j] = shown[j * call.mask.column] ? row[j] : -kInfinity;
}

/// In a dead row hidden scores are what `call.hidden` says.
template <typename T> void AttentionBlock<T>::lowerRow(T *row, int64_t i, KeyRange keys) const {
  bool hasFloatMask = call.mask.data && call.mask_dtype != ACCUM_BOOL;
  for (int64_t j = 0; j < keys.count; ++j) {
    if (sees(i, keys.first + j))
      continue;
    if (call.hidden == ACCUM_HIDDEN_LOWERED)
      row[j] += kLowest;
    else
      row[j] = kLowest + (hasFloatMask ? *maskRow<T>(i, keys.first + j) : T(0));
  }
}

template <typename T> void AttentionBlock<T>::computeScores(KeyRange keys) {
  pairRows(scores, &accum_attention::q, &accum_attention::k, keys, call.features);
  for (int64_t i = 0; i < rows; ++i) {
    T *row = scores + i * pitch;
    scaleRow(row, i, keys);
    if (dead[i])
      lowerRow(row, i, keys);
    else if (isHiding())
      hideRow(row, i, keys);
  }
}

/// Adds a row's scores to its statistics and makes weights of them, still to be divided by the sum; returns
/// what earlier weights must be multiplied with.
template <typename T> T AttentionBlock<T>::absorb(T *row, int64_t i, KeyRange keys) {
  T highest = std::max(top[i], functions.top(row, keys.count));
  T factor = highest == top[i] ? T(1) : std::exp(top[i] - highest);
  if (highest == -kInfinity) {
    // Nothing but -inf, whose exponentials would be NaN, or NaNs, which must not get lost.
    for (int64_t j = 0; j < keys.count; ++j)
      sum[i] += std::isnan(row[j]) ? row[j] : T(0);
    std::fill_n(row, keys.count, T(0));
    return factor;
  }
  sum[i] = sum[i] * factor + functions.exponentials(row, keys.count, highest);
  top[i] = highest;
  return factor;
}

/// Statistics, and the output before its division, of the rows that are dead or that are not.
template <typename T> void AttentionBlock<T>::sweep(bool ofDead, bool withOutput) {
  MatrixView<T> y = matrixOf<T>(call.y, batch, head, first);
  for (int64_t i = 0; i < rows; ++i) {
    if (dead[i] != ofDead)
      continue;
    top[i] = -kInfinity, sum[i] = 0;
    if (withOutput)
      std::fill_n(y.data + i * y.row, call.value_features, T(0));
  }
  forKeys([&](KeyRange keys) {
    computeScores(keys);
    for (int64_t i = 0; i < rows; ++i) {
      T *row = scores + i * pitch;
      if (dead[i] != ofDead)
        std::fill_n(row, keys.count, T(0));
      else if (T factor = absorb(row, i, keys); withOutput && factor != 1)
        functions.scale(y.data + i * y.row, call.value_features, factor);
    }
    if (!withOutput)
      return;
    takeBlock(scores, keys);
    addRowsOfKeys(y, &accum_attention::v, keys, call.value_features);
  });
}

/// Hidden keys have weights in rows that see nothing, unless they are -inf there too.
template <typename T> void AttentionBlock<T>::markDead() {
  if (!isHiding() || (call.hidden != ACCUM_HIDDEN_LOWERED && call.hidden != ACCUM_HIDDEN_REPLACED))
    return;
  for (int64_t i = 0; i < rows; ++i)
    anyDead |= dead[i] = !(top[i] > kLowest / 2);
}

template <typename T> void AttentionBlock<T>::finishRow(int64_t i) {
  T *y = matrixOf<T>(call.y, batch, head, first + i).data;
  if (top[i] > -kInfinity) {
    functions.scale(y, call.value_features, 1 / sum[i]);
    lse[i] = top[i] + std::log(sum[i]);
    return;
  }
  T value = call.hidden == ACCUM_HIDDEN_EXCLUDED ? sum[i] : std::numeric_limits<T>::quiet_NaN();
  std::fill_n(y, call.value_features, value);
  lse[i] = std::isnan(value) ? value : -kInfinity;
}

template <typename T> void AttentionBlock<T>::forward() {
  sweep(/*ofDead=*/false, /*withOutput=*/true);
  markDead();
  if (anyDead)
    sweep(/*ofDead=*/true, /*withOutput=*/true);
  T *statistics = matrixOf<T>(call.lse, batch, head, first).data;
  for (int64_t i = 0; i < rows; ++i) {
    finishRow(i);
    statistics[i * call.lse.row] = lse[i];
  }
}

template <typename T> void AttentionBlock<T>::readStatistics() {
  const T *statistics = matrixOf<T>(call.lse, batch, head, first).data;
  bool anyFar = false;
  for (int64_t i = 0; i < rows; ++i) {
    lse[i] = statistics[i * call.lse.row];
    anyFar |= lse[i] <= kLowest / 2;
    anyNaN |= std::isnan(lse[i]);
  }
  if (!anyFar)
    return;
  sweep(/*ofDead=*/false, /*withOutput=*/false);
  markDead();
  if (anyDead)
    sweep(/*ofDead=*/true, /*withOutput=*/false);
}

template <typename T> void AttentionBlock<T>::weights(KeyRange keys) {
  computeScores(keys);
  for (int64_t i = 0; i < rows; ++i) {
    T *row = scores + i * pitch;
    if (lse[i] == -kInfinity) {
      std::fill_n(row, keys.count, T(0));
    } else if (lse[i] <= kLowest / 2) {
      functions.exponentials(row, keys.count, top[i]);
      functions.scale(row, keys.count, 1 / sum[i]);
    } else {
      functions.exponentials(row, keys.count, lse[i]);
    }
  }
}

template <typename T> void AttentionBlock<T>::blockReplaced(KeyRange keys, T *cotangents) const {
  if (!anyDead || call.hidden != ACCUM_HIDDEN_REPLACED)
    return;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; dead[i] && j < keys.count; ++j)
      if (!sees(i, keys.first + j))
        cotangents[i * pitch + j] = 0;
}

template class AttentionBlock<float>;
template class AttentionBlock<double>;

} // namespace accum::runtime
