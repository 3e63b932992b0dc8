// SPDX-License-Identifier: Apache-2.0
// Attention and its derivative by their definitions.
#include "test/dialects/NN/Evaluator.h"
#include <cmath>

using namespace mlir;

namespace accum::test {
namespace {

constexpr double kLowest = -3.40282346638528859812e+38, kInfinity = std::numeric_limits<double>::infinity();

/// What both ops say about scores.
struct Rule {
  const Array *query, *key, *mask = nullptr;
  nn::HiddenScore hidden;
  bool causal, isBoolean = false;
  double scale;
  int64_t each; ///< heads of a group

  template <typename Op> Rule(Evaluator &e, Op op) {
    query = &e.at(op.getQuery()), key = &e.at(op.getKey());
    hidden = op.getHidden(), causal = op.getCausal(), scale = op.getScale().convertToDouble();
    each = query->shape[1] / key->shape[1];
    if (op.getMask()) {
      mask = &e.at(op.getMask());
      isBoolean = cast<RankedTensorType>(op.getMask().getType()).getElementType().isInteger(1);
    }
  }

  double maskAt(int64_t b, int64_t h, int64_t i, int64_t j) const {
    int64_t index[] = {b, h, i, j};
    for (auto [at, extent] : llvm::zip(index, mask->shape))
      at = extent == 1 ? 0 : at;
    return mask->at(index);
  }

  bool sees(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return (!causal || j <= i) && (!isBoolean || maskAt(b, h, i, j) != 0);
  }

  double score(int64_t b, int64_t h, int64_t i, int64_t j) const {
    double score = 0;
    for (int64_t d = 0; d < query->shape[3]; ++d)
      score += scale * query->at({b, h, i, d}) * key->at({b, h / each, j, d});
    double added = mask && !isBoolean ? maskAt(b, h, i, j) : 0;
    if (sees(b, h, i, j))
      return score + added;
    if (hidden == nn::HiddenScore::lowered)
      return score + added + kLowest;
    return hidden == nn::HiddenScore::replaced ? kLowest + added : -kInfinity;
  }

  /// The weights of one row; the logarithm of the sum of exponentials goes to `lse`.
  std::vector<double> weights(int64_t b, int64_t h, int64_t i, double &lse) const {
    std::vector<double> row;
    for (int64_t j = 0; j < key->shape[2]; ++j)
      row.push_back(score(b, h, i, j));
    double top = *llvm::max_element(row), sum = 0;
    bool isNothing = top == -kInfinity && hidden == nn::HiddenScore::excluded;
    for (double &x : row)
      sum += x = isNothing ? 0 : std::exp(x - top);
    for (double &x : row)
      x /= isNothing ? 1 : sum;
    lse = isNothing ? -kInfinity : top + std::log(sum);
    return row;
  }
};

using Visit =
    function_ref<void(ArrayRef<int64_t> row, int64_t group, const std::vector<double> &weights, double lse)>;

void forRows(const Rule &rule, Visit visit) {
  forEachIndex(ArrayRef(rule.query->shape).drop_back(), [&](ArrayRef<int64_t> row) {
    double lse;
    std::vector<double> weights = rule.weights(row[0], row[1], row[2], lse);
    visit(row, row[1] / rule.each, weights, lse);
  });
}

void evaluate(Evaluator &e, nn::AttentionOp op) {
  Rule rule(e, op);
  const Array &value = e.at(op.getValue());
  Array result = Array::zeros(e.shapeOf(op.getResult())), statistics = Array::zeros(e.shapeOf(op.getLse()));
  forRows(rule, [&](ArrayRef<int64_t> row, int64_t group, const std::vector<double> &weights, double lse) {
    statistics.at(row) = lse;
    for (int64_t j = 0; j < value.shape[2]; ++j)
      for (int64_t c = 0; c < value.shape[3]; ++c)
        result.at({row[0], row[1], row[2], c}) += weights[j] * value.at({row[0], group, j, c});
  });
  e.set(op.getResult(), std::move(result));
  e.set(op.getLse(), std::move(statistics));
}

void evaluate(Evaluator &e, nn::AttentionBwdOp op) {
  Rule rule(e, op);
  const Array &value = e.at(op.getValue()), &doutput = e.at(op.getDoutput());
  Array dq = Array::zeros(rule.query->shape), dk = Array::zeros(rule.key->shape),
        dv = Array::zeros(value.shape);
  forRows(rule, [&](ArrayRef<int64_t> row, int64_t group, const std::vector<double> &weights, double) {
    int64_t b = row[0], h = row[1], i = row[2], keys = value.shape[2];
    std::vector<double> cotangents(keys);
    double mean = 0;
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t c = 0; c < value.shape[3]; ++c) {
        cotangents[j] += doutput.at({b, h, i, c}) * value.at({b, group, j, c});
        dv.at({b, group, j, c}) += weights[j] * doutput.at({b, h, i, c});
      }
      mean += weights[j] * cotangents[j];
    }
    for (int64_t j = 0; j < keys; ++j) {
      bool isBlocked = rule.hidden == nn::HiddenScore::replaced && !rule.sees(b, h, i, j);
      double cotangent = isBlocked ? 0 : weights[j] * (cotangents[j] - mean) * rule.scale;
      for (int64_t d = 0; d < dq.shape[3]; ++d) {
        dq.at({b, h, i, d}) += cotangent * rule.key->at({b, group, j, d});
        dk.at({b, group, j, d}) += cotangent * rule.query->at({b, h, i, d});
      }
    }
  });
  e.set(op.getDquery(), std::move(dq));
  e.set(op.getDkey(), std::move(dk));
  e.set(op.getDvalue(), std::move(dv));
}

} // namespace

bool evaluateAttention(Evaluator &e, Operation *op) {
  if (auto forward = dyn_cast<nn::AttentionOp>(op))
    evaluate(e, forward);
  else if (auto backward = dyn_cast<nn::AttentionBwdOp>(op))
    evaluate(e, backward);
  else
    return false;
  return true;
}

} // namespace accum::test
