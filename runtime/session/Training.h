// SPDX-License-Identifier: Apache-2.0
// Steps of a program over the samples that are selected: whole ones, in two calls, forward alone, on trial.
#ifndef ACCUM_RUNTIME_SESSION_TRAINING_H
#define ACCUM_RUNTIME_SESSION_TRAINING_H

#include "runtime/session/PaceWatch.h"
#include "runtime/session/Step.h"

namespace accum::runtime {

class Training {
public:
  /// What waits for an update.
  struct Pending {
    uint64_t calls = 0;
    int64_t samples = 0, targets = 0;
    double loss = 0; ///< of the latest
  };

  /// All of them outlive it.
  Training(Opened &opened, Samples &samples, UpdateNumbers &numbers, GradientGuard &guard, PaceWatch &pace)
      : step(opened, samples, guard, numbers), opened(opened), samples(samples), numbers(numbers),
        guard(guard), pace(pace) {}
  Training(const Training &) = delete;
  Training &operator=(const Training &) = delete;

  /// Before rows are selected.
  void begin();
  Expected<accum_step_result> train(uint64_t number, double started);
  /// See accum_accumulate and accum_update.
  Expected<accum_step_result> accumulate(uint64_t number, double started);
  Expected<accum_step_result> update(uint64_t number);
  /// Without an update.
  Expected<accum_step_result> forward(uint64_t number, double started);
  /// Step 0 up to its update: parameters, slots and later steps keep their bits. Not finite: skipped.
  Expected<accum_step_result> tryStep(double started);
  /// The program's forward part over what is selected; its code.
  Expected<int> evaluate(uint64_t number);
  /// The model's outputs over what is selected; the program's code.
  Expected<int> predict();
  /// Scalar outputs alongside the loss, of the latest step or evaluation, by name; of several windows by
  /// their samples.
  Status readOutputs(double earlierWeight = 0, double weight = 1);
  const std::vector<std::pair<std::string, double>> &scalarOutputs() const { return outputValues; }
  /// The failure that a non-zero result of the program stands for, with the command and its nodes when one
  /// failed.
  Error explain(int code) const;

  const Pending &pending() const { return waiting; }
  void dropPending() { waiting = {}; }
  void takeNotices();

  Step step;
  uint64_t reached = 0;   ///< steps, those of runs that this one goes on from too
  uint64_t sentBytes = 0; ///< by this rank, in the latest step

private:
  Expected<accum_ctx> makeContext(uint64_t number);
  Expected<accum_step_result> run(Step::Part part, uint64_t number, double started);
  Expected<accum_step_result> finish(int code, double started);
  template <typename Body> Status overGradients(Body &&body);
  Status keepGradients();
  Status addEarlier();

  Opened &opened;
  Samples &samples;
  UpdateNumbers &numbers;
  GradientGuard &guard;
  PaceWatch &pace;
  Pending waiting;
  std::vector<std::pair<std::string, double>> outputValues;
  std::vector<uint8_t> earlier; ///< this rank's part of the gradients of the calls before the latest
  uint64_t sentBefore = 0;      ///< the step
  std::vector<uint32_t> none;   ///< micro-steps of each length: 0
  size_t deviceNotices = 0;     ///< of the device, that were noted
  uint64_t rng[4 + 64] = {};    ///< seed, step, samples before the call, rank, numbers of pieces
};

} // namespace accum::runtime
#endif
