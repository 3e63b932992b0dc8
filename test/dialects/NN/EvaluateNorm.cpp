// SPDX-License-Identifier: Apache-2.0
// Softmax, layer norms and cross-entropy by their definitions.
#include "test/dialects/NN/Evaluator.h"
#include <cmath>

using namespace mlir;

namespace accum::test {

/// The length of a row that starts at `axis`.
static int64_t rowSize(const Array &array, int64_t axis) {
  int64_t size = 1;
  for (int64_t extent : ArrayRef(array.shape).drop_front(axis))
    size *= extent;
  return size;
}

static Array evaluate(Evaluator &e, nn::SoftmaxOp op) {
  const Array &input = e.at(op.getInput());
  int64_t axis = op.getAxis(), inner = rowSize(input, axis + 1), n = input.shape[axis];
  Array result = input;
  for (int64_t start = 0; start < static_cast<int64_t>(input.data.size()); ++start) {
    if (start / inner % n != 0)
      continue;
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t k = 0; k < n; ++k)
      highest = std::max(highest, input.data[start + k * inner]);
    for (int64_t k = 0; k < n; ++k)
      sum += std::exp(input.data[start + k * inner] - highest);
    for (int64_t k = 0; k < n; ++k) {
      double shifted = input.data[start + k * inner] - highest;
      result.data[start + k * inner] = op.getLog() ? shifted - std::log(sum) : std::exp(shifted) / sum;
    }
  }
  return result;
}

/// Rows (x - mean) * rstd * scale + bias; the mean is 0 where `centred` is false.
static void normalise(Evaluator &e, Operation *op, int64_t axis, double eps, bool centred, Value scale,
                      Value bias) {
  Array result = e.at(op->getOperand(0));
  int64_t n = rowSize(result, axis), rows = static_cast<int64_t>(result.data.size()) / n;
  Array means = Array::zeros(ArrayRef(result.shape).take_front(axis)), rstds = means;
  for (int64_t row = 0; row < rows; ++row) {
    double *x = &result.data[row * n], mean = 0, variance = 0;
    for (int64_t k = 0; centred && k < n; ++k)
      mean += x[k] / n;
    for (int64_t k = 0; k < n; ++k)
      variance += (x[k] - mean) * (x[k] - mean) / n;
    double rstd = 1 / std::sqrt(variance + eps);
    for (int64_t k = 0; k < n; ++k)
      x[k] = (x[k] - mean) * rstd * (scale ? e.at(scale).data[k] : 1) + (bias ? e.at(bias).data[k] : 0);
    means.data[row] = mean;
    rstds.data[row] = rstd;
  }
  e.set(op->getResult(0), std::move(result));
  if (centred)
    e.set(op->getResult(1), std::move(means));
  e.set(op->getResults().back(), std::move(rstds));
}

static void evaluate(Evaluator &e, nn::CrossEntropyOp op) {
  const Array &logits = e.at(op.getLogits()), &labels = e.at(op.getLabels());
  Array loss = labels, lse = labels;
  int64_t classes = logits.shape.back();
  for (size_t row = 0; row < labels.data.size(); ++row) {
    const double *x = &logits.data[row * classes];
    double highest = *std::max_element(x, x + classes), sum = 0;
    for (int64_t k = 0; k < classes; ++k)
      sum += std::exp(x[k] - highest);
    lse.data[row] = highest + std::log(sum);
    bool ignored = op.getIgnoreIndex() && labels.data[row] == static_cast<int64_t>(*op.getIgnoreIndex());
    loss.data[row] = ignored ? 0 : lse.data[row] - x[static_cast<int64_t>(labels.data[row])];
  }
  e.set(op.getLoss(), std::move(loss));
  e.set(op.getLse(), std::move(lse));
}

static Array evaluate(Evaluator &e, nn::CrossEntropyGradOp op) {
  Array result = e.at(op.getLogits());
  const Array &labels = e.at(op.getLabels());
  int64_t classes = result.shape.back();
  for (size_t i = 0; i < result.data.size(); ++i) {
    int64_t row = i / classes, label = static_cast<int64_t>(labels.data[row]);
    bool ignored = op.getIgnoreIndex() && label == static_cast<int64_t>(*op.getIgnoreIndex());
    double softmax = std::exp(result.data[i] - e.at(op.getLse()).data[row]);
    double hit = static_cast<int64_t>(i) % classes == label;
    result.data[i] = ignored ? 0 : (softmax - hit) * e.at(op.getDloss()).data[row];
  }
  return result;
}

bool evaluateNorm(Evaluator &e, Operation *op) {
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(op))
    e.set(softmax, evaluate(e, softmax));
  else if (auto layer = dyn_cast<nn::LayerNormOp>(op))
    normalise(e, op, layer.getAxis(), layer.getEps().convertToDouble(), true, layer.getScale(),
              layer.getBias());
  else if (auto rms = dyn_cast<nn::RmsNormOp>(op))
    normalise(e, op, rms.getAxis(), rms.getEps().convertToDouble(), false, rms.getScale(), {});
  else if (auto entropy = dyn_cast<nn::CrossEntropyOp>(op))
    evaluate(e, entropy);
  else if (auto grad = dyn_cast<nn::CrossEntropyGradOp>(op))
    e.set(grad, evaluate(e, grad));
  else
    return false;
  return true;
}

} // namespace accum::test
