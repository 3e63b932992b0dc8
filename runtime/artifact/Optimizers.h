// SPDX-License-Identifier: Apache-2.0
// The one table of optimizers: the compiler and the runtime both read it. A new one is a row here and a
// formula in passes/Fuse/UpdateFormulas.cpp.
#ifndef ACCUM_RUNTIME_ARTIFACT_OPTIMIZERS_H
#define ACCUM_RUNTIME_ARTIFACT_OPTIMIZERS_H

#include "runtime/accum_program.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace accum::runtime {

/// Which formula an optimizer has in the compiler: a switch there covers all of them.
enum class UpdateRule { Sgd, SgdMomentum, SgdNesterov, Adam, AdamW, Lion, Adagrad, Adafactor };

/// Hyper-parameters that not every optimizer has, as options of a run.
enum class HyperName { Momentum, Beta1, Beta2, Eps };

/// "--beta1"
const char *flagOf(HyperName name);
/// Values lie in [0, this).
double endOf(HyperName name);

/// How much of a parameter a slot has.
enum class SlotExtent {
  Whole,
  Rows,     ///< the last axis has one element; none of parameters of fewer than two axes
  Columns,  ///< the last but one has; none of parameters of fewer than two axes
  OfVectors ///< the whole of parameters of fewer than two axes, none of others
};

struct SlotRow {
  const char *name;
  SlotExtent extent = SlotExtent::Whole;
};

/// Nothing where such parameters have no such slot.
std::optional<std::vector<int64_t>> slotShape(SlotExtent extent, const std::vector<int64_t> &parameter);

struct HyperPreset {
  HyperName name;
  double value;
};

/// Sets what depends on the number of the update, `t` from 1, in values that hold the hyper-parameters.
using Corrections = void (*)(uint64_t t, double values[ACCUM_HYPER_COUNT]);

struct OptimizerSpec {
  std::string name;
  UpdateRule rule;
  std::vector<SlotRow> slots; ///< what it keeps of every parameter, zero at first (`ema`: its first value)
  double lr;                  ///< unless a run says otherwise, as is what follows
  std::vector<HyperPreset> hypers;
  Corrections corrections;   ///< null: none
  bool keepsAverage = false; ///< the last slot is `ema`, which follows the parameter

  const HyperPreset *find(HyperName hyper) const;
  /// Without the average: the row's name.
  std::string baseName() const;
  /// The formula has sums over a tensor (passes/Fuse/TensorUpdates.cpp): a rank updates whole tensors, and
  /// has all of its small state.
  bool isByTensor() const { return rule == UpdateRule::Adafactor; }
};

/// In the order in which help texts list them.
const std::vector<OptimizerSpec> &optimizers();

/// The slot of the exponential moving average of the weights.
constexpr const char *kAverage = "ema";
/// d of it, unless a run says otherwise.
constexpr double kAverageDecay = 0.999;
/// "adamw-ema": the same optimizer, which keeps that average too.
std::string withAverage(const std::string &optimizer);

/// One of them, or one with an average; null for a name that is neither.
const OptimizerSpec *findOptimizer(const std::string &name);

/// "adamw, adam, sgd, ..."
std::string optimizerNames();

/// Entry of accum_hyper::values that holds it.
accum_hyper_slot placeOf(HyperName name);

/// "adamw, adam: 0.999; lion: 0.99": for help texts.
std::string presetsOf(HyperName name);
/// "0.001; lion: 0.0001", of the learning rate: what most have stands without names.
std::string presetsOfRate();

} // namespace accum::runtime
#endif
