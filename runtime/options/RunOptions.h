// SPDX-License-Identifier: Apache-2.0
// The one table of a run's options. accum-run's command line, accum_set, Python's keywords, the hints for
// unknown flags, what ranks compare and what checkpoints record are read from it. A new option is a field
// here and a row in RunOptions.cpp, and then its use.
#ifndef ACCUM_RUNTIME_OPTIONS_RUNOPTIONS_H
#define ACCUM_RUNTIME_OPTIONS_RUNOPTIONS_H

#include "runtime/artifact/Optimizers.h"
#include "runtime/options/OptionRow.h"
#include "runtime/system/Status.h"

namespace accum::runtime {

/// Unset fields take the optimizer's default, of its row in Optimizers.cpp; weight decay is 0 unless given.
struct HyperOptions {
  std::optional<double> lr, weightDecay, beta1, beta2, eps, momentum;
  std::optional<double> clipNorm;    ///< the global norm of the gradients is at most this
  std::optional<double> skipSpikes;  ///< standard deviations from which on a step is left out
  std::optional<double> ema;         ///< d of the moving average of the weights, where there is one
  std::vector<std::string> decay;    ///< "all", "matrices" and globs over parameter names; none: matrices
  std::vector<std::string> lrScales; ///< `GLOB=X`: factors of the learning rate

  std::optional<double> &given(HyperName name);
  const std::optional<double> &given(HyperName name) const {
    return const_cast<HyperOptions *>(this)->given(name);
  }
};

/// As text, the way a user writes it. Counts are optimizer steps, never micro-steps.
struct ScheduleOptions {
  std::string schedule = "constant"; ///< the name of a row of `scheduleRows`, or the path of a file
  std::string warmup = {};           ///< `N` steps or `P%` of the run; empty: none
  std::string lrFloor = {};          ///< a learning rate or `P%` of the peak; empty: 0
  std::string decaySteps = {};       ///< of wsd: `N` or `P%`; empty: 10%
};

/// Texts are empty, and numbers 0, where an option is not given, unless a comment says otherwise.
struct RunOptions : HyperOptions, ScheduleOptions {
  std::string artifact, offloadDir;
  std::vector<std::string> data, evalData;
  std::string tokenType, documentSeparator, tokenLabels, valSplit;
  bool truncate = false, synthetic = false, shuffle = true, dropLast = false;
  std::optional<uint64_t> steps, epochs;
  uint64_t seed = 0;
  std::string checkpoint, resume; ///< folders; resume may be `auto`
  Interval checkpointEvery;
  uint64_t checkpointKeep = 0;
  bool resumeWeightsOnly = false, checkpointBackground = false;
  std::optional<int> devices;              ///< given, or those that a launcher started
  std::vector<accum_batch_change> batches; ///< empty: the artifact's
  std::string best;                        ///< the weights of the lowest loss
  uint64_t evalEvery = 0;                  ///< steps; 0: after the last one alone
  bool evalOnly = false;
  std::string weights = "trained";  ///< that are evaluated and saved, or "ema"
  std::vector<std::string> predict; ///< data
  std::string output, outputs;      ///< the file of what is predicted; names with commas between
  std::string init, initNames;
  bool initPartial = false;
  double maxSeconds = 0; ///< of training, 0: no limit
  std::optional<double> stopAtLoss;
  std::string exportDtype, model; ///< empty: as it is trained; where the artifact knows it
  std::string save, names = "onnx", dumpGradients, printParam, log, profile, tensorboard, report;
  std::string onNan = "stop";
  bool progress = true;
  Interval progressEvery = {0, 60}; ///< where stderr is no terminal
  std::optional<uint64_t> randomParams;
  std::string target, launcher = "auto"; ///< target: empty, the artifact's own
  int threads = 0;
  bool describe = false, verify = false;
  double verifySeconds = 60; ///< for the cuts, and for the gradient; 0: all cuts, no gradient
};

/// Modes of accum-run alongside training.
enum RunMode : uint8_t { kVerifying = 1, kEvaluating = 2, kDescribing = 4, kPredicting = 8 };

using RunOption = OptionRow<RunOptions>;

/// In the order of the help.
const std::vector<RunOption> &runOptions();
/// Null where there is none.
const RunOption *findRunOption(std::string_view name);

/// An option's name and one text of it; none: as if it were never given.
struct Setting {
  std::string name;
  std::optional<std::string> text;
};

/// Replaces what is named, of an option with several texts all of them. Slug `usage` (exit 2) for a name that
/// no session takes, and for a text that is no such value.
Status takeSettings(const std::vector<Setting> &settings, RunOptions &options);

} // namespace accum::runtime
#endif
