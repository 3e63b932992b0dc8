// SPDX-License-Identifier: Apache-2.0
// Whoever keeps or shows how a run goes: one interface for logs, lines on a terminal and pages.
#ifndef ACCUM_RUN_RECORDS_RUNRECORDER_H
#define ACCUM_RUN_RECORDS_RUNRECORDER_H

#include "runtime/accum_runtime.h"
#include "runtime/system/Status.h"
#include "tools/accum-run/Options.h"
#include <memory>
#include <optional>
#include <vector>

namespace accum::run {

/// Scalar outputs of the model alongside its loss, by name.
using Outputs = std::vector<std::pair<std::string, double>>;

/// Of the latest step or evaluation.
Outputs outputsOf(const accum_session *session);

/// What a pass over the evaluation data found.
struct Evaluation {
  uint64_t step = 0;                ///< optimizer steps that were made before it
  double loss = 0;                  ///< as the model defines it, over all samples; may be NaN
  int64_t samples = 0, targets = 0; ///< targets: 0 where the artifact does not count them
  bool isBest = false;              ///< the lowest loss so far
  std::optional<double> accuracy = {}, perplexity = {}; ///< accuracy: a part of 1
  Outputs outputs = {};
};

class RunRecorder {
public:
  virtual ~RunRecorder() = default;
  /// Behind every optimizer step; `step` counts from 1.
  virtual void step(uint64_t step, const accum_info &info, const accum_step_result &result) = 0;
  /// The same step's, before that, where there are any.
  virtual void outputs(const Outputs &) {}
  /// Behind the step that it names.
  virtual void evaluation(const Evaluation &found) = 0;
  /// The same of a run that this one goes on from, in order and before the others.
  virtual void earlierStep(uint64_t, const accum_info &, const accum_step_result &) {}
  virtual void earlierEvaluation(const Evaluation &) {}
  /// Something else is about to be said on stderr.
  virtual void interrupt() {}
  /// The last call, once, however the run ended. An exit code: what could not be written is said on stderr.
  virtual int finish() { return 0; }
};

/// All of one run, in the order in which they are told.
class Recorders {
public:
  /// Those that the options ask for; on ranks other than 0 none. `from` is the step that a checkpoint was
  /// left at, `total` the last one. What was before is told to them where the log has it. Slug `unwritable`
  /// (exit 3).
  static runtime::Expected<Recorders> open(const Options &options, const accum_info &info, uint64_t from,
                                           uint64_t total);

  void step(uint64_t step, const accum_info &info, const accum_step_result &result);
  void outputs(const Outputs &found);
  void evaluation(const Evaluation &found);
  void interrupt();
  /// The first exit code of theirs that is not 0.
  int finish();

private:
  void tellEarlier(const std::string &log, uint64_t from);

  std::vector<std::unique_ptr<RunRecorder>> all;
};

} // namespace accum::run
#endif
