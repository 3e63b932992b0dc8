// SPDX-License-Identifier: Apache-2.0
// From options to what kernels read.
#include "runtime/session/UpdateNumbers.h"
#include "runtime/system/Hash.h"
#include <cmath>

namespace accum::runtime {

void UpdateNumbers::set(Hyper made, const HyperOptions &options) {
  hyper = std::move(made);
  static_cast<HyperOptions &>(asked) = options;
  rate = hyper.lr;
  decay.resize(2 * hyper.coefficients.decay.size()); // the same number for every option
  if (!options.lrScales.empty() || !options.decay.empty())
    for (const Group &group : groupsOf(opened.artifact.manifest, hyper.coefficients))
      opened.noteOnce({"group: " + describe(group)});
}

Status UpdateNumbers::setSchedule(const ScheduleOptions &options, uint64_t steps) {
  auto made = Schedule::make(options, steps, hyper.lr);
  if (!made)
    return made.error();
  schedule = std::move(*made);
  static_cast<ScheduleOptions &>(asked) = options;
  asked.steps = steps;
  return {};
}

Expected<accum_hyper> UpdateNumbers::mirror(uint64_t step) {
  hyper.fill(updates + 1, schedule.factor(step), values);
  rate = values[ACCUM_HYPER_LR];
  for (size_t i = 0; i < hyper.coefficients.decay.size(); ++i) {
    decay[2 * i] = hyper.coefficients.decay[i];
    decay[2 * i + 1] = hyper.coefficients.rate[i];
  }
  auto numbers = opened.device->mirror(values, sizeof values);
  auto coefficients = opened.device->mirror(decay.data(), decay.size() * sizeof(double));
  if (!numbers || !coefficients)
    return numbers ? coefficients.error() : numbers.error();
  return accum_hyper{static_cast<const double *>(*numbers), static_cast<const double *>(*coefficients)};
}

Status UpdateNumbers::clip(double norm) {
  if (hyper.clipNorm == 0)
    return {};
  values[ACCUM_HYPER_GRAD_SCALE] = hyper.clipFactor(norm);
  auto copied = opened.device->mirror(values, sizeof values);
  return copied ? Status() : copied.error();
}

uint64_t UpdateNumbers::contents(uint64_t step) const {
  RunningHash numbers;
  RunOptions settled;
  static_cast<HyperOptions &>(settled) = hyper.settled;
  auto add = [&](double number) { numbers.add(&number, sizeof number); };
  for (const RunOption &row : runOptions())
    if (row.owner == OptionOwner::Update)
      add(numberGiven(row, settled).value_or(NAN));
  add(schedule.factor(step));
  for (const auto *each : {&hyper.coefficients.rate, &hyper.coefficients.decay})
    numbers.add(each->data(), each->size() * sizeof(double));
  return numbers.value();
}

} // namespace accum::runtime
