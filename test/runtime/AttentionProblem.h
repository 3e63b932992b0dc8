// SPDX-License-Identifier: Apache-2.0
// One attention and its derivative with operands, and what plain loops in double make of them.
#pragma once

#include "runtime/accum_program.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace accum::test {

constexpr double kLowest = -3.40282346638528859812e+38, kInfinity = std::numeric_limits<double>::infinity();

enum class AttentionMask { None, Keys, Some, All, Added, LowKeys, InfiniteKeys };

struct AttentionCase {
  int64_t batch, heads, groups, queries, keys, features, valueFeatures;
  bool causal = false;
  AttentionMask mask = AttentionMask::None;
  accum_hidden hidden = ACCUM_HIDDEN_EXCLUDED;
  double size = 1;     ///< of queries
  bool packed = false; ///< q, k and v lie in one buffer, heads within a row
};

/// One call with its operands. Outputs start as NaN: what is not written shows.
template <typename T> struct AttentionProblem {
  AttentionCase shape;
  std::vector<T> qkv, y, lse, dy, dqkv, added;
  std::vector<uint8_t> shown;
  accum_attention call{};
  std::mt19937 random{11};

  explicit AttentionProblem(const AttentionCase &shape) : shape(shape) {
    const AttentionCase &s = shape;
    int64_t q = s.queries * s.heads * s.features, k = s.keys * s.groups * s.features;
    int64_t v = s.keys * s.groups * s.valueFeatures, out = s.queries * s.heads * s.valueFeatures;
    qkv.resize(s.batch * (q + k + v));
    fill(qkv);
    dqkv.assign(qkv.size(), T(NAN));
    y.assign(s.batch * out, T(NAN));
    dy.resize(y.size());
    fill(dy);
    lse.assign(s.batch * s.heads * s.queries, T(NAN));
    for (int64_t i = 0; i < int64_t(qkv.size()) && i < s.batch * q; ++i)
      qkv[i] *= T(s.size);
    call.dtype = sizeof(T) == 8 ? ACCUM_F64 : ACCUM_F32;
    call.causal = s.causal;
    call.hidden = s.hidden;
    call.batch = s.batch, call.heads = s.heads, call.groups = s.groups, call.queries = s.queries;
    call.keys = s.keys, call.features = s.features, call.value_features = s.valueFeatures;
    call.scale = 1 / std::sqrt(double(s.features));
    place(call.q, call.k, call.v, qkv);
    place(call.dq, call.dk, call.dv, dqkv);
    call.y = {y.data(), out, s.valueFeatures, s.heads * s.valueFeatures, 1};
    call.dy = {dy.data(), out, s.queries * s.valueFeatures, s.valueFeatures, 1};
    call.lse = {lse.data(), s.heads * s.queries, s.queries, 1, 0};
    makeMask();
  }

  void fill(std::vector<T> &values) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (T &value : values)
      value = uniform(random);
  }

  /// Side by side in rows (queries = keys there), or one behind the other with heads first.
  void place(accum_strided &q, accum_strided &k, accum_strided &v, std::vector<T> &in) {
    const AttentionCase &s = shape;
    if (s.packed) {
      int64_t row = (s.heads + s.groups) * s.features + s.groups * s.valueFeatures;
      q = {in.data(), s.queries * row, s.features, row, 1};
      k = {in.data() + s.heads * s.features, s.queries * row, s.features, row, 1};
      v = {in.data() + (s.heads + s.groups) * s.features, s.queries * row, s.valueFeatures, row, 1};
      return;
    }
    int64_t perQ = s.heads * s.queries * s.features, perK = s.groups * s.keys * s.features;
    int64_t perV = s.groups * s.keys * s.valueFeatures;
    q = {in.data(), perQ, s.queries * s.features, s.features, 1};
    k = {in.data() + s.batch * perQ, perK, s.keys * s.features, s.features, 1};
    v = {in.data() + s.batch * (perQ + perK), perV, s.keys * s.valueFeatures, s.valueFeatures, 1};
  }

  void makeMask() {
    const AttentionCase &s = shape;
    auto key = [&](double hidden) {
      added.assign(s.batch * s.keys, T(0));
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t j = 0; j < s.keys; ++j) // the first keys of each sample, or all of them
          added[b * s.keys + j] = j < (b + 1) * s.keys / s.batch ? T(hidden) : T(0);
      call.mask = {added.data(), s.keys, 0, 0, 1};
      call.mask_dtype = call.dtype;
    };
    switch (s.mask) {
    case AttentionMask::None:
      return;
    case AttentionMask::Keys: // left padding
      shown.assign(s.batch * s.keys, 0);
      for (int64_t b = 0; b < s.batch; ++b)
        for (int64_t j = 0; j < s.keys; ++j)
          shown[b * s.keys + j] = j >= (b * s.keys) / s.batch;
      call.mask = {shown.data(), s.keys, 0, 0, 1};
      break;
    case AttentionMask::Some:
    case AttentionMask::All: // one per head and query, a column stride of 2; All: every third row hides
                             // everything
      shown.assign(2 * s.heads * s.queries * s.keys, 1);
      for (size_t i = 0; i < shown.size(); ++i)
        shown[i] = random() % 3 != 0 && (s.mask == AttentionMask::Some || i / (2 * s.keys) % 3 != 0);
      call.mask = {shown.data(), 0, 2 * s.queries * s.keys, 2 * s.keys, 2};
      break;
    case AttentionMask::Added:
      added.resize(s.batch * s.queries * s.keys);
      fill(added);
      call.mask = {added.data(), s.queries * s.keys, 0, s.keys, 1};
      call.mask_dtype = call.dtype;
      return;
    case AttentionMask::LowKeys:
      return key(kLowest);
    case AttentionMask::InfiniteKeys:
      return key(-kInfinity);
    }
    call.mask_dtype = ACCUM_BOOL;
  }

  static double at(const accum_strided &t, int64_t b, int64_t h, int64_t i, int64_t j) {
    return static_cast<const T *>(t.data)[b * t.batch + h * t.head + i * t.row + j * t.column];
  }

  bool sees(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const accum_strided &m = call.mask;
    if (call.causal && j > i)
      return false;
    return !m.data || call.mask_dtype != ACCUM_BOOL ||
           static_cast<const uint8_t *>(m.data)[b * m.batch + h * m.head + i * m.row + j * m.column];
  }

  /// The weights of one row, by the definition in accum_program.h.
  std::vector<double> weights(int64_t b, int64_t h, int64_t i) const {
    int64_t group = h / (shape.heads / shape.groups);
    std::vector<double> scores(shape.keys);
    double top = -kInfinity, sum = 0;
    for (int64_t j = 0; j < shape.keys; ++j) {
      double dot = 0;
      for (int64_t d = 0; d < shape.features; ++d)
        dot += at(call.q, b, h, i, d) * at(call.k, b, group, j, d);
      double bias = call.mask.data && call.mask_dtype != ACCUM_BOOL ? at(call.mask, b, h, i, j) : 0;
      double score = dot * call.scale + bias;
      if (!sees(b, h, i, j))
        score = shape.hidden == ACCUM_HIDDEN_LOWERED    ? score + kLowest
                : shape.hidden == ACCUM_HIDDEN_REPLACED ? kLowest + bias
                                                        : -kInfinity;
      scores[j] = double(T(score)); // beyond the lowest f32 is -inf
      top = std::max(top, scores[j]);
    }
    for (double &score : scores)
      sum += score = std::exp(score - top);
    for (double &score : scores)
      score = top == -kInfinity ? (shape.hidden == ACCUM_HIDDEN_EXCLUDED ? 0 : NAN) : score / sum;
    return scores;
  }

  /// Expected y, and the cotangents in dqkv's layout.
  std::vector<double> expectedY() const {
    std::vector<double> result(y.size());
    forRows([&](int64_t b, int64_t h, int64_t i, const std::vector<double> &p) {
      int64_t group = h / (shape.heads / shape.groups);
      for (int64_t e = 0; e < shape.valueFeatures; ++e)
        for (int64_t j = 0; j < shape.keys; ++j)
          result[offset(call.y, b, h, i, e)] += p[j] * at(call.v, b, group, j, e);
    });
    return result;
  }

  std::vector<double> expectedGradients() const {
    std::vector<double> result(dqkv.size());
    auto add = [&](const accum_strided &t, int64_t b, int64_t h, int64_t i, int64_t j, double value) {
      result[static_cast<T *>(t.data) - dqkv.data() + offset(t, b, h, i, j)] += value;
    };
    forRows([&](int64_t b, int64_t h, int64_t i, const std::vector<double> &p) {
      int64_t group = h / (shape.heads / shape.groups);
      std::vector<double> dp(shape.keys);
      double mean = 0;
      for (int64_t j = 0; j < shape.keys; ++j) {
        for (int64_t e = 0; e < shape.valueFeatures; ++e) {
          dp[j] += at(call.dy, b, h, i, e) * at(call.v, b, group, j, e);
          add(call.dv, b, group, j, e, p[j] * at(call.dy, b, h, i, e));
        }
        mean += p[j] * dp[j];
      }
      for (int64_t j = 0; j < shape.keys; ++j) {
        bool isBlocked = shape.hidden == ACCUM_HIDDEN_REPLACED && !sees(b, h, i, j);
        double ds = isBlocked ? 0 : p[j] * (dp[j] - mean) * call.scale;
        for (int64_t d = 0; d < shape.features; ++d) {
          add(call.dq, b, h, i, d, ds * at(call.k, b, group, j, d));
          add(call.dk, b, group, j, d, ds * at(call.q, b, h, i, d));
        }
      }
    });
    return result;
  }

  template <typename Body> void forRows(Body body) const {
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t h = 0; h < shape.heads; ++h)
        for (int64_t i = 0; i < shape.queries; ++i)
          body(b, h, i, weights(b, h, i));
  }

  static int64_t offset(const accum_strided &t, int64_t b, int64_t h, int64_t i, int64_t j) {
    return b * t.batch + h * t.head + i * t.row + j * t.column;
  }
};

/// Numbers are near; where NaNs are expected, there is one (which keys a row of NaNs spoils is not promised).
template <typename T>
void expectNear(const std::vector<T> &got, const std::vector<double> &want, double tolerance) {
  double size = 1;
  bool wantsNaN = false, hasNaN = false;
  for (double value : want)
    if (std::isfinite(value))
      size = std::max(size, std::abs(value));
  for (size_t i = 0; i < want.size(); ++i) {
    wantsNaN |= std::isnan(want[i]);
    hasNaN |= std::isnan(got[i]);
    if (!std::isnan(want[i]))
      ASSERT_NEAR(got[i], want[i], tolerance * size) << i;
  }
  EXPECT_EQ(wantsNaN, hasNaN);
}

} // namespace accum::test
