// SPDX-License-Identifier: Apache-2.0
// The oracle: one window at a time, samples in order, PyTorch's optimizer formulas written out.
#include "runtime/data/Order.h"
#include "runtime/data/Window.h"
#include "test/runtime/ToyArtifact.h"
#include "test/runtime/ToyValues.h"
#include <cmath>
#include <random>

namespace accum::test {
namespace {

/// Loss and gradients over the samples named by `window`.
void differentiate(ToyState &state, const ToyData &data, const std::vector<uint64_t> &window) {
  state.targets = 0;
  for (uint64_t n : window)
    for (int j = 0; j < kWords; ++j)
      if (data.ids[n * kWords + j] != kIgnored)
        state.targets += data.mask[n * kWords + j];
  state.dw.assign(kFeatures, 0);
  state.de.assign(kVocabulary, 0);
  state.db = state.loss = 0;
  for (uint64_t n : window) {
    double error = state.b - data.t[n];
    for (int f = 0; f < kFeatures; ++f)
      error += kScale * data.x[n * kFeatures + f] * state.w[f];
    for (int j = 0; j < kWords; ++j)
      if (data.ids[n * kWords + j] != kIgnored)
        error += double(data.mask[n * kWords + j]) * state.e[data.ids[n * kWords + j]];
    state.loss += error * error / double(state.targets);
    double r = 2 * error / double(state.targets);
    state.db += r;
    for (int f = 0; f < kFeatures; ++f)
      state.dw[f] += kScale * data.x[n * kFeatures + f] * r;
    for (int j = 0; j < kWords; ++j)
      if (data.ids[n * kWords + j] != kIgnored)
        state.de[data.ids[n * kWords + j]] += double(data.mask[n * kWords + j]) * r;
  }
}

/// torch.optim.SGD, Adam and AdamW for one number.
class Optimizer {
public:
  Optimizer(const ToyOptions &options, const runtime::HyperOptions &hyper)
      : name(options.optimizer), hyper(hyper) {}

  /// Of one step: `factor` of the learning rate, `clip` of all gradients.
  void begin(double factor, double clip) {
    lr = hyper.lr.value_or(1e-3) * factor;
    scale = clip;
  }

  void update(double &value, double gradient, bool matrix, double *slots, uint64_t t) const {
    gradient *= scale;
    bool decayed = matrix || hyper.decay == std::vector<std::string>{"all"};
    double decay = decayed ? hyper.weightDecay.value_or(0) : 0;
    if (name == "adamw")
      value *= 1 - lr * decay;
    else
      gradient += decay * value;
    if (name == "sgd")
      value -= lr * gradient;
    else if (name == "sgd-momentum") {
      slots[0] = t == 1 ? gradient : hyper.momentum.value_or(0.9) * slots[0] + gradient;
      value -= lr * slots[0];
    } else {
      double beta1 = hyper.beta1.value_or(0.9), beta2 = hyper.beta2.value_or(0.999);
      slots[0] = beta1 * slots[0] + (1 - beta1) * gradient;
      slots[1] = beta2 * slots[1] + (1 - beta2) * gradient * gradient;
      double mean = slots[0] / (1 - std::pow(beta1, double(t)));
      double square = slots[1] / (1 - std::pow(beta2, double(t)));
      value -= lr * mean / (std::sqrt(square) + hyper.eps.value_or(1e-8));
    }
  }

private:
  std::string name;
  runtime::HyperOptions hyper;
  double lr = 0, scale = 1;
};

/// torch.nn.utils.clip_grad_norm_: what it multiplies gradients by.
double clipFactor(const ToyState &state, double limit) {
  double squares = state.db * state.db;
  for (double each : state.dw)
    squares += each * each;
  for (double each : state.de)
    squares += each * each;
  return std::min(1.0, limit / (std::sqrt(squares) + 1e-6));
}

} // namespace

ToyData makeToyData(int64_t samples) {
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  ToyData data;
  data.samples = samples;
  for (int64_t i = 0; i < samples * kFeatures; ++i)
    data.x.push_back(normal(random));
  for (int64_t i = 0; i < samples; ++i)
    data.t.push_back(normal(random));
  for (int64_t i = 0; i < samples * kWords; ++i) {
    data.ids.push_back(random() % 4 == 0 ? kIgnored : int64_t(random() % kVocabulary));
    data.mask.push_back(random() % 5 != 0);
  }
  return data;
}

ToyState trainReference(const ToyOptions &options, const ToyData &data, const ToyRun &run) {
  ToyState state = startState();
  Optimizer optimizer(options, run.hyper);
  std::vector<runtime::BatchChange> batches = run.batches;
  if (batches.empty())
    batches.push_back({0, options.batch});
  runtime::Epochs epochs(data.samples, batches, run.dropLast);
  std::vector<double> slots(2 * (kFeatures + kVocabulary + 1));
  runtime::Order order(data.samples, run.shuffle, run.seed);
  for (uint64_t step = 0; step < run.steps; ++step) {
    runtime::Window at = epochs.at(step);
    std::vector<uint64_t> window;
    for (int64_t i = 0; i < at.samples; ++i)
      window.push_back(order.at(at.epoch, at.start + uint64_t(i)));
    differentiate(state, data, window);
    optimizer.begin(run.factor ? run.factor(step) : 1,
                    run.hyper.clipNorm ? clipFactor(state, *run.hyper.clipNorm) : 1);
    double *slot = slots.data();
    for (int f = 0; f < kFeatures; ++f, slot += 2)
      optimizer.update(state.w[f], state.dw[f], true, slot, step + 1);
    for (int i = 0; i < kVocabulary; ++i, slot += 2)
      optimizer.update(state.e[i], state.de[i], false, slot, step + 1);
    optimizer.update(state.b, state.db, false, slot, step + 1);
  }
  return state;
}

} // namespace accum::test
