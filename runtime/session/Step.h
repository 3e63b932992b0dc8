// SPDX-License-Identifier: Apache-2.0
// What happens inside a step: the calls of the program. Allocates nothing unless it fails, or calls are
// timed.
#ifndef ACCUM_RUNTIME_SESSION_STEP_H
#define ACCUM_RUNTIME_SESSION_STEP_H

#include "runtime/session/CallLog.h"
#include "runtime/session/GradientGuard.h"
#include "runtime/session/Prediction.h"
#include "runtime/session/Samples.h"
#include "runtime/session/StepRanges.h"
#include "runtime/session/UpdateNumbers.h"

namespace accum::runtime {

class Step {
public:
  /// What of a step the program is run for. Trial: all but the update.
  enum class Part { Whole, Gradients, Update, Trial };
  /// Zeroed when a step begins.
  struct Outcome {
    bool skipped = false, isSpike = false, failedInCommand = false;
    bool unchanged = false;                     ///< it failed before its update, on every rank alike
    double dataSeconds = 0, offloadSeconds = 0; ///< waiting for rows, and for offloaded state
    std::optional<Error> failure;
  };

  /// All of them outlive it.
  Step(Opened &opened, Samples &samples, GradientGuard &guard, UpdateNumbers &numbers)
      : opened(opened), samples(samples), guard(guard), numbers(numbers) {}
  Step(const Step &) = delete;
  Step &operator=(const Step &) = delete;

  /// Nothing is known of it yet.
  void begin();
  /// A program writes its first gradients. Where it has them all, these are told to add, and the sum of
  /// several calls needs no other place.
  bool addsInPlace() const;

  // What the program's table calls; see ProgramTable.cpp. Zero, or non-zero with `failure` set, or where the
  // step is left.
  int beginMicro(accum_ctx *context, uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid);
  int endMicro(uint32_t phase, uint32_t k);
  int launch(uint32_t kernel, void *const *args);
  int runGemm(const accum_gemm *call, float beta);
  int attend(const accum_attention *call);
  int allReduce(void *data, uint64_t n, int32_t dtype);
  int startAllReduce(void *data, uint64_t n, int32_t dtype);
  int inspectGradients(const void *data, uint64_t n, int32_t dtype, bool isPart, bool last);
  int reduceScatter(void *data, uint64_t n, int32_t dtype);
  int allGather(void *target, const void *source, uint64_t bytes);
  int startReduceScatter(void *data, uint64_t n, int32_t dtype);
  int startAllGather(void *target, const void *source, uint64_t bytes);
  int fetch(void *target, uint64_t offset, uint64_t bytes);
  int store(uint64_t offset, const void *source, uint64_t bytes);
  int startFetch(void *target, uint64_t offset, uint64_t bytes);
  int startStore(uint64_t offset, const void *source, uint64_t bytes);
  int output(uint32_t number, const void *rows, uint64_t bytes);
  int zero(void *data, uint64_t bytes);
  int copy(void *target, const void *source, uint64_t bytes);

  Outcome outcome;
  Part part = Part::Whole;
  bool addsToCalls = false; ///< of Part::Gradients: to gradients that are there
  bool skipNan = false;
  uint8_t flags[2] = {0, 1};    ///< accum_ctx::flags
  std::optional<CallLog> calls; ///< where a profile was asked for
  StepRanges ranges;            ///< for a profiler
  /// Takes the rows that a prediction hands out.
  Prediction *predicts = nullptr;
  /// Asked before each micro-step, where it is set: whether to leave the step there.
  std::function<Expected<bool>()> leaves;
  /// Called after each one of training: its number, and how many there are.
  std::function<void(uint32_t k, uint32_t steps)> observer;

private:
  MicroStep latest{}; ///< that has begun
  Status beginAdding();
  int limitGradients();
  int check(const Status &status, bool inCommand);
  int fail(Error error, bool inCommand);
  template <typename Call> Status timed(const CallFacts &facts, Call &&call);

  Opened &opened;
  Samples &samples;
  GradientGuard &guard;
  UpdateNumbers &numbers;
};

/// The table that programs get; accum_ctx::self is a Step.
const accum_runtime_v1 *programTable();

} // namespace accum::runtime
#endif
