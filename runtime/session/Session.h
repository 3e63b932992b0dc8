// SPDX-License-Identifier: Apache-2.0
// One open artifact in one process: its memory, data, hyper-parameters and place among the ranks.
#ifndef ACCUM_RUNTIME_SESSION_SESSION_H
#define ACCUM_RUNTIME_SESSION_SESSION_H

#include "runtime/accum_runtime.h"
#include "runtime/checkpoints/CheckpointWriter.h"
#include "runtime/data/Feed.h"
#include "runtime/device/StateMemory.h"
#include "runtime/session/CallLog.h"
#include "runtime/session/Hyper.h"
#include "runtime/session/Pace.h"
#include "runtime/session/Schedule.h"
#include "runtime/session/SpikeDetector.h"
#include "runtime/session/StepRanges.h"
#include "runtime/weights/InitialWeights.h"
#include <set>

namespace accum::runtime {

/// How steps are cut; see accum_set_cut.
struct StepCut {
  int64_t rows = 0, samples = 0, only = -1;
  bool reversed = false;
  bool longest = false; ///< every sample at the largest size
};

/// Trained parameters on their way into a file.
struct WeightsToSave {
  std::string path, names;
  std::optional<DType> stored; ///< of safetensors; none: the type that is trained
  std::string model;           ///< empty: where the artifact knows it
  bool keepOld = false, checkOnly = false;
};

/// The file of an artifact that parameters are read from.
constexpr const char *kWeights = "params.safetensors";

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
  Status fillMemory(uint8_t byte);
  /// `kind` as of `read`, but for scalars.
  Status write(const std::string &kind, const std::string &name, const uint8_t *data, uint64_t bytes);
  /// See accum_assist.
  Status assist() { return memory.assist(); }
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
  Expected<accum_tensor> read(const std::string &kind, const std::string &name);
  /// On every rank: parameters from a file of weights, over those that are there. How many it held.
  Expected<size_t> initWeights(const InitialWeights &from);
  /// As safetensors, or into the model file where the path ends in .onnx.
  Status saveWeights(const WeightsToSave &save);
  Status save(const std::string &kind, const std::string &names, const std::string &path, bool keepOld);
  /// Where there are several ranks: all of them write into this folder, which rank 0 has locked.
  Status shareCheckpoints(const std::string &root);
  /// On all ranks.
  Status checkpoint(const std::string &root, uint64_t step, uint64_t keep);
  /// From now on checkpoints are written by a thread, from a copy of the state.
  Status checkpointInBackground();
  /// How the latest of those ended, told once; success while it is on its way, unless `wait`.
  Status finishCheckpoint(bool wait);
  /// Of a checkpoint's folder; the step to go on with, 0 where only weights were taken. Data is bound before.
  Expected<uint64_t> resume(const std::string &path, bool weightsOnly);
  /// The newest whole one of a folder of them, on all ranks alike; nothing where there is none.
  Expected<std::optional<uint64_t>> resumeNewest(const std::string &root, bool weightsOnly);
  void describe(accum_info &info) const;
  /// Whether the last step failed because it was not finite, on every rank alike and before its update.
  bool stoppedUnchanged() const { return unchanged; }

  const Manifest &manifest() const { return artifact.manifest; }
  Collectives &ranks() { return *collectives; }
  /// Steps that were made, those of runs that this one goes on from too.
  uint64_t stepsMade() const { return reached; }
  const std::vector<std::string> &notices() const { return decisions; }
  /// From now on every call of the program is timed. Slug `usage` for a device that is late with its calls.
  Status startProfile();
  Status saveProfile(const std::string &path) const;
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
  void noteOnce(const std::vector<std::string> &notices);
  Status requireStep(const Dataset &samples) const;
  Status requireEvaluation(const Dataset &data) const;
  Expected<Share> shareOfGiven(const Dataset &samples);
  void divide(const Feed &of, const Window &window, const Share &share, int64_t rows = 0);
  Status divideOwn(const Feed &of, const Window &window, const Share &share);
  Status agree(const Status &own) { return collectives->agree(own); }
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
  std::vector<ParameterSpec> checkpointTensors(bool withSlots) const;
  Status saveModel(const WeightsToSave &save, std::vector<TensorToWrite> tensors);
  bool isMergedWithNew(size_t p) const;
  void noteMissing(const std::string &names);
  TensorReader reader();
  Status carryFrozen(const std::string &path);
  Status checkValues() const;
  void forgetWeights();
  Status startParameters(const accum_open_options &options);
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
  Status addToNorm(const void *data, uint64_t n, DType dtype);
  Expected<bool> isFinite(bool inParts);
  Expected<double> valueOf(const ScalarSpec &scalar);
  Expected<double> scalarOr(const char *name, double otherwise);
  Error notFinite(const char *what);
  struct TensorPlace {
    uint64_t offset = 0, bytes = 0;
    DType dtype = ACCUM_F32;
    const std::vector<int64_t> *shape = nullptr;
  };
  Expected<TensorPlace> placeOf(const std::string &kind, const std::string &name) const;
  int check(const Status &status, bool inCommand);
  template <typename Call> Status timed(const CallFacts &facts, Call &&call);
  Error explain(int code) const;
  int fail(Error error, bool inCommand);

  Artifact artifact;
  std::shared_ptr<Collectives> collectives = std::make_shared<Collectives>(); ///< alone, or the job's
  std::unique_ptr<Device> device;
  std::set<size_t> carried; ///< frozen parameters whose values are not the artifact's
  std::set<size_t> unset;   ///< parameters that have no value yet
  uint8_t *state = nullptr; ///< in the device's memory, scratch behind it
  StateMemory memory;
  std::unique_ptr<CheckpointWriter> checkpoints; ///< reads `memory`
  std::vector<Staging> stagings;                 ///< by length
  Device::FillInputs fillInputs;
  std::optional<Feed> feed, evaluation, given; ///< given: for one step
  Feed *feeding = nullptr;                     ///< the one of them that rows are read from
  Hyper hyper;
  Schedule schedule;
  double rate = 0;                      ///< the learning rate of the latest step
  SpikeDetector lossSpikes, normSpikes; ///< of the steps so far
  std::vector<std::string> decisions;
  size_t deviceNotices = 0; ///< of them from the device
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
  double squaredNorm = 0;
  bool sawGradients = false, skipped = false, isSpike = false, failedInCommand = false;
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
