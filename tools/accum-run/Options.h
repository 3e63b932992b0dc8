// SPDX-License-Identifier: Apache-2.0
// The command line of accum-run.
#ifndef ACCUM_RUN_OPTIONS_H
#define ACCUM_RUN_OPTIONS_H

#include "runtime/accum_runtime.h"
#include "runtime/session/Hyper.h"
#include "runtime/session/Schedule.h"
#include "runtime/system/Status.h"
#include <cstdint>

namespace CLI {
class App;
} // namespace CLI

namespace accum::run {

struct Options {
  std::string artifact, offloadDir; ///< offloadDir: empty, the artifact's own
  std::vector<std::string> data;
  bool truncate = false; ///< samples longer than the largest of several lengths
  std::string tokenType, documentSeparator, tokenLabels; ///< of data that is tokens
  bool synthetic = false;
  std::optional<uint64_t> steps, epochs;
  bool shuffle = true, dropLast = false;
  uint64_t seed = 0;
  runtime::HyperOptions hyper;
  std::vector<std::string> rateRules; ///< `GLOB=X`
  runtime::ScheduleOptions schedule;
  std::string checkpoint, resume; ///< folders; resume may be `auto`
  uint64_t checkpointSteps = 0, checkpointKeep = 0;
  double checkpointSeconds = 0; ///< instead of checkpointSteps
  bool resumeWeightsOnly = false, checkpointBackground = false;
  std::optional<int> devices;              ///< given, or those that a launcher started
  std::vector<accum_batch_change> batches; ///< empty: the artifact's
  std::vector<std::string> evalData;
  std::string best;       ///< the weights of the lowest loss
  std::string valSplit;   ///< of `data`, instead of evalData
  uint64_t evalEvery = 0; ///< steps; 0: behind the last one alone
  bool evalOnly = false;
  std::string init, initNames; ///< a file of weights, and whose layouts it has; empty: as its shapes tell
  bool initPartial = false;
  double maxSeconds = 0;            ///< of training, 0: no limit
  std::optional<double> stopAtLoss; ///< a loss that is low enough
  std::string exportDtype, model;   ///< empty: as it is trained; where the artifact knows it
  std::string save, names = "onnx", dumpGradients, printParam, log, profile;
  std::string tensorboard, report; ///< a folder, and a page
  bool skipNan = false, progress = true;
  uint64_t progressSteps = 0;  ///< where stderr is no terminal: a line so often
  double progressSeconds = 60; ///< instead of progressSteps
  std::optional<uint64_t> randomParams;
  std::string target; ///< empty: the artifact's own
  int threads = 0;
  bool describe = false, verify = false;
  double verifySeconds = 60; ///< for the cuts, and for the gradient; 0: all cuts, no gradient
  std::string launcher = "auto";
  std::vector<std::pair<std::string, std::string>> settings; ///< that all ranks must have (SharedSettings.h)
  std::vector<std::string> words; ///< the command line again, for processes that are started with it

  /// Something to print and an exit code of 0, instead of a run: --help, --version, --include-dir.
  std::optional<std::string> answer;
};

// The declarations of one group of options each.
void addData(CLI::App &app, Options &options);
void addOptimizer(CLI::App &app, Options &options);
void addSchedule(CLI::App &app, Options &options);
void addEnds(CLI::App &app, Options &options);
void addCheckpoints(CLI::App &app, Options &options);
void addBatch(CLI::App &app, Options &options);
void addEvaluation(CLI::App &app, Options &options);
void addWeights(CLI::App &app, Options &options);
void addOutput(CLI::App &app, Options &options);

/// Options of evaluation against the others (exit 2).
runtime::Status checkEvaluation(const CLI::App &app, const Options &options);

/// Refuses (exit 2) what is wrong, unknown or contradictory.
runtime::Expected<Options> parseOptions(int argc, char **argv);

} // namespace accum::run
#endif
