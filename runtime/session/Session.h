// SPDX-License-Identifier: Apache-2.0
// One open artifact in one process: what it is made of, and what takes several of these.
#ifndef ACCUM_RUNTIME_SESSION_SESSION_H
#define ACCUM_RUNTIME_SESSION_SESSION_H

#include "runtime/checkpoints/Checkpoints.h"
#include "runtime/session/Evaluation.h"
#include "runtime/session/Predictions.h"

namespace accum::runtime {

class Session {
public:
  static Expected<std::unique_ptr<Session>> open(const std::string &folder,
                                                 const accum_open_options &options);

  Opened opened;
  Weights weights{opened};
  Checkpoints checkpoints{opened, weights};
  Samples samples{opened};
  UpdateNumbers numbers{opened};
  GradientGuard guard{opened};
  PaceWatch pace{opened};
  Training training{opened, samples, numbers, guard, pace};
  Evaluation evaluation{opened, samples, training};
  Predictions predictions{opened, samples, training};

  Status setHyper(const HyperOptions &options);
  /// What accum_set sets, by names.
  Status set(const std::vector<Setting> &settings);
  Expected<accum_step_result> step(uint64_t step);
  /// Over these samples, which are gone behind it. Slug `bad-data` (exit 3) where their number is none that a
  /// step can have.
  Expected<accum_step_result> stepOver(Expected<Dataset> given, uint64_t step, uint64_t seed);
  /// See accum_accumulate.
  Expected<accum_step_result> accumulate(uint64_t step);
  Expected<accum_step_result> accumulateOver(Expected<Dataset> given, uint64_t step, uint64_t seed);
  /// See accum_update.
  Expected<accum_step_result> update(uint64_t step);
  Expected<accum_step_result> eval(uint64_t step);
  /// Of the weights that Weights::use has named.
  Expected<accum_evaluation> evaluate();
  /// See Predictions::run.
  Expected<int64_t> predict(const std::vector<std::string> &names, int64_t first, int64_t count);
  /// Until `endTrial`, `tryStep` runs over these samples, the first `StepCut::samples` of them. Slugs
  /// `bad-data` (exit 3) for a number that no step can have, `usage` (exit 2) before a due update.
  Status beginTrial(Expected<Dataset> given, uint64_t seed);
  /// Step 0 up to its update, or the forward part alone; see Training::tryStep.
  Expected<accum_step_result> tryStep(bool forwardOnly);
  /// With the cut that there was before.
  Status endTrial();
  /// On all ranks.
  Status checkpoint(const std::string &root, uint64_t step, uint64_t keep);
  /// Of a checkpoint, or the newest whole one of a folder of them: the step to go on with, 0 where only
  /// weights were taken; nothing where there is none. Data is bound before.
  Expected<std::optional<uint64_t>> resume(const std::string &path, bool weightsOnly);
  void describe(accum_info &info) const;
  /// From now on every call of the program is timed. Slug `usage` for a device that is late with its calls.
  Status startProfile();
  Status saveProfile(const std::string &path) const;
  void observe(accum_observer callback, void *user, const accum_session *handle);

  const Manifest &manifest() const { return opened.artifact.manifest; }
  Collectives &ranks() { return *opened.ranks; }

private:
  template <typename Call> auto withEvaluated(Call &&call) -> decltype(call());
  Status joinRanks(const accum_open_options &options);
  Status prepare(const accum_open_options &options);
  Status start(const accum_open_options &options);
  Status placeMemory(const accum_open_options &options);
  Status prepareStep(uint64_t step);
  Status select(uint64_t step);
  Status give(Expected<Dataset> given, uint64_t step, uint64_t seed);
  CheckpointFacts facts(uint64_t step) const;

  bool hasBegun = false; ///< a step: all ranks have agreed on the run
  struct BeforeTrial {
    StepCut cut;
    double rate = 0;
    uint64_t sentBytes = 0;
  } beforeTrial;
};

} // namespace accum::runtime
#endif
