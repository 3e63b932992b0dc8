// SPDX-License-Identifier: Apache-2.0
// One open artifact in one process: its memory, data, hyper-parameters and place among the ranks.
#ifndef ACCUM_RUNTIME_SESSION_SESSION_H
#define ACCUM_RUNTIME_SESSION_SESSION_H

#include "runtime/accum_runtime.h"
#include "runtime/checkpoints/Checkpoints.h"
#include "runtime/data/Feed.h"
#include "runtime/session/CallLog.h"
#include "runtime/session/GradientGuard.h"
#include "runtime/session/Pace.h"
#include "runtime/session/Schedule.h"
#include "runtime/session/StepRanges.h"

namespace accum::runtime {

/// How steps are cut; see accum_set_cut.
struct StepCut {
  int64_t rows = 0, samples = 0, only = -1;
  bool reversed = false;
  bool longest = false; ///< every sample at the largest size
};

class Session {
public:
  static Expected<std::unique_ptr<Session>> open(const std::string &folder,
                                                 const accum_open_options &options);

  /// Slug `bad-data` (exit 3) where the data has fewer samples than a batch.
  Status requireBatch(const Dataset &data) const;
  Status bind(Dataset dataset, const accum_data_options &options);
  Status setHyper(const HyperOptions &options);
  Status setSchedule(const ScheduleOptions &options, uint64_t steps);
  /// Before data is bound. Slug `usage` (exit 2) for what is no schedule.
  Status setBatches(std::vector<BatchChange> changes);
  Status setCut(const StepCut &value);
  int64_t largestBatch() const;
  /// Steps until so many epochs of the bound data are over.
  uint64_t stepsOf(uint64_t epochs) const { return windows ? windows->stepsOf(epochs) : 0; }
  /// See accum_assist.
  Status assist() { return opened.memory.assist(); }
  Expected<accum_step_result> step(uint64_t step);
  /// Over these samples, which are gone behind it. Slug `bad-data` (exit 3) where their number is none that a
  /// step can have.
  Expected<accum_step_result> stepOver(Expected<Dataset> samples, uint64_t step, uint64_t seed);
  /// See accum_accumulate and accum_update.
  Expected<accum_step_result> accumulate(uint64_t step);
  Expected<accum_step_result> accumulateOver(Expected<Dataset> samples, uint64_t step, uint64_t seed);
  Expected<accum_step_result> update(uint64_t step);
  Expected<accum_step_result> eval(uint64_t step);
  /// Until `endTrial`, `tryStep` runs over these samples, the first `StepCut::samples` of them. Slugs
  /// `bad-data` (exit 3) for a number that no step can have, `usage` (exit 2) before a due `update`.
  Status beginTrial(Expected<Dataset> samples, uint64_t seed);
  /// Step 0 up to its update, or the forward part alone: parameters, slots and later steps keep their bits.
  /// Not finite: skipped.
  Expected<accum_step_result> tryStep(bool forwardOnly);
  void endTrial();
  /// The samples of `evaluate`. Slug `bad-data` (exit 3) where there is none.
  Status bindEvaluation(Dataset data);
  /// The same for those that each rank is given; see accum_open_options::local_batches.
  Status giveEvaluation(Expected<Dataset> samples);
  /// The loss of all of them at once; training does not notice.
  Expected<accum_evaluation> evaluate();
  /// See accum_set_stop.
  void stopEvaluations(accum_stop wanted, void *user) {
    stopWanted = wanted;
    stopUser = user;
  }
  /// On all ranks.
  Status checkpoint(const std::string &root, uint64_t step, uint64_t keep);
  /// Of a checkpoint, or the newest whole one of a folder of them: the step to go on with, 0 where only
  /// weights were taken; nothing where there is none. Data is bound before.
  Expected<std::optional<uint64_t>> resume(const std::string &path, bool weightsOnly);
  void describe(accum_info &info) const;
  /// Whether the last step failed because it was not finite, on every rank alike and before its update.
  bool stoppedUnchanged() const { return unchanged; }

  const Manifest &manifest() const { return opened.artifact.manifest; }
  Collectives &ranks() { return *opened.ranks; }
  /// Steps that were made, those of runs that this one goes on from too.
  uint64_t stepsMade() const { return reached; }
  const std::vector<std::string> &notices() const { return opened.notices; }
  /// From now on every call of the program is timed. Slug `usage` for a device that is late with its calls.
  Status startProfile();
  Status saveProfile(const std::string &path) const;
  Weights &parameters() { return weights; }
  Checkpoints &savedRuns() { return checkpoints; }
  Status fillMemory(uint8_t byte) { return opened.fill(byte); }
  void observe(accum_observer callback, void *user, const accum_session *handle);

  // What the program's table calls; see ProgramTable.cpp. Zero, or non-zero with `failure` set.
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
  int zero(void *data, uint64_t bytes);
  int copy(void *target, const void *source, uint64_t bytes);

private:
  Status requireStep(const Dataset &samples) const;
  Status requireEvaluation(const Dataset &data) const;
  Expected<Share> shareOfGiven(const Dataset &samples);
  void divide(const Feed &of, const Window &window, const Share &share, int64_t rows = 0);
  Status divideOwn(const Feed &of, const Window &window, const Share &share);
  bool leavesOutIncomplete(const Dataset &data, bool dropLast);
  Status prepare(const accum_open_options &options);
  Status start(const accum_open_options &options);
  Status joinRanks(const accum_open_options &options);
  void chooseThreads(int asked);
  double plannedSeconds();
  void judgePace(double seconds);
  Status requireOneArtifact(bool readsWeights);
  Status requireOneRun(uint64_t step);
  Status requireSameNumbers(uint64_t step);
  Status requireSame(const char *what, uint64_t value, const char *note);
  uint64_t programBytes() const;
  Status placeMemory(const accum_open_options &options);
  void takeNotices();
  CheckpointFacts facts(uint64_t step) const;
  Status prepareStep(uint64_t step);
  Status selectWindow(uint64_t step);
  Status selectGiven(Expected<Dataset> samples, uint64_t step, uint64_t seed);
  Expected<accum_step_result> train(uint64_t step, double started);
  Expected<accum_step_result> addGradients(uint64_t step, double started);
  Status requireSameTrial(const Dataset &samples, uint64_t seed);
  Expected<accum_step_result> forward(uint64_t step, double started);
  Expected<accum_step_result> runPart(uint64_t step, uint32_t microSteps, double started);
  template <typename Body> Status overGradients(Body &&body);
  bool addsInPlace() const;
  bool isGradient(const void *data) const;
  Status beginAdding();
  Status keepGradients();
  Status addEarlier();
  Share shareIn(uint32_t phase) const;
  uint32_t stepsIn(uint32_t phase) const;
  uint32_t numberOf(uint32_t phase, uint32_t k) const;
  MicroStep microStep(uint32_t phase, uint32_t k) const;
  std::optional<MicroStep> microStepAfter(uint32_t phase, uint32_t k) const;
  Expected<accum_ctx> makeContext(uint64_t step);
  Expected<accum_hyper> makeHyper(uint64_t step);
  int limitGradients();
  int leaveEvaluation();
  Expected<accum_step_result> finish(int code, double started);
  void beginStep();
  Expected<accum_evaluation> evaluateWindow(const Window &of);
  Error notFinite(const char *what);
  int check(const Status &status, bool inCommand);
  template <typename Call> Status timed(const CallFacts &facts, Call &&call);
  Error explain(int code) const;
  int fail(Error error, bool inCommand);

  Opened opened;
  Weights weights{opened};
  Checkpoints checkpoints{opened, weights};
  GradientGuard guard{opened};
  std::vector<Staging> stagings; ///< by length
  Device::FillInputs fillInputs;
  std::optional<Feed> feed, evaluation, given; ///< given: for one step
  Feed *feeding = nullptr;                     ///< the one of them that rows are read from
  Hyper hyper;
  Schedule schedule;
  double rate = 0;          ///< the learning rate of the latest step
  size_t deviceNotices = 0; ///< of the device, that were noted
  bool skipNan = false;

  Pace pace;
  ProcessorUse useBefore;            ///< before the latest step
  uint64_t throttledBefore = 0;      ///< when the session was opened
  std::optional<double> plannedStep; ///< seconds, once somebody has asked
  int64_t plannedMicroSteps = 1;

  StepCut cut;
  std::optional<Division> division;     ///< of the window of the step
  std::vector<uint32_t> noMicroSteps;   ///< 0 for each length
  std::optional<Share> evaluationShare; ///< of samples that were given, all at once
  bool ownSamples = false;              ///< what a rank is given are its own alone
  bool hasBegun = false;                ///< a step: all ranks have agreed on the run

  std::vector<BatchChange> batches; ///< the artifact's, unless others are set
  std::optional<Epochs> windows;    ///< of the bound data
  int64_t stepBatch = 0;            ///< of the latest step
  std::optional<double> best;       ///< the lowest loss of the evaluations so far
  double correct = 0, counted = 0;  ///< targets of the latest evaluation; NaN where nothing counts them

  /// What of a step the program is run for.
  enum class Part { Whole, Gradients, Update, Trial } part = Part::Whole;
  struct BeforeTrial {
    StepCut cut;
    double rate;
    uint64_t sentBytes;
  };
  std::optional<BeforeTrial> beforeTrial; ///< while there is one
  struct Pending {
    uint64_t calls = 0;
    int64_t samples = 0, targets = 0;
    double loss = 0;            ///< of the latest
  } pending;                    ///< of accumulate, since the latest update
  std::vector<uint8_t> earlier; ///< this rank's part of the gradients of the calls before the latest

  uint64_t updates = 0;              ///< steps that changed the parameters
  uint64_t reached = 0;              ///< steps, those of runs that this one goes on from too
  std::optional<uint64_t> evaluated; ///< `reached` at the latest evaluation
  bool skipped = false, isSpike = false, failedInCommand = false;
  uint64_t sentBefore = 0, sentBytes = 0;     ///< by this rank: before the step, and in it
  double dataSeconds = 0, offloadSeconds = 0; ///< of the step, waiting for rows, and for offloaded state
  std::optional<Error> failure;
  std::optional<CallLog> calls; ///< where a profile was asked for
  StepRanges ranges;            ///< for a profiler
  bool unchanged = false;       ///< the step failed before its update, on every rank alike
  /// What kernels read beside their buffers; the device has copies of these at fixed addresses.
  double hyperValues[ACCUM_HYPER_COUNT] = {};
  std::vector<double> decay; ///< accum_hyper::decay
  uint64_t rng[4 + 64] = {}; ///< seed, step, samples before the call, rank, numbers of pieces
  uint8_t flags[2] = {0, 1}; ///< accum_ctx::flags
  accum_stop stopWanted = nullptr;
  void *stopUser = nullptr;
  bool evaluating = false, stopped = false; ///< stopped: the latest evaluation, before its end
  accum_observer observer = nullptr;
  void *observerUser = nullptr;
  const accum_session *observerHandle = nullptr;
};

/// The table that programs get.
const accum_runtime_v1 *programTable();

} // namespace accum::runtime
#endif
