// SPDX-License-Identifier: Apache-2.0
// Opening an artifact, and the frame around a step.
#include "runtime/session/Session.h"
#include "base/FormatBytes.h"
#include "runtime/files/File.h"
#include "runtime/session/Agreement.h"
#include "runtime/session/Targets.h"
#include "runtime/system/Clock.h"
#include "runtime/system/Memory.h"
#include "runtime/system/ThreadPool.h"
#include "runtime/weights/Parameters.h"
#include <algorithm>
#include <utility>

namespace accum::runtime {

Expected<std::unique_ptr<Session>> Session::open(const std::string &folder,
                                                 const accum_open_options &options) {
  auto artifact = readArtifact(folder);
  if (!artifact)
    return artifact.error();
  auto session = std::make_unique<Session>();
  session->opened.artifact = std::move(*artifact);
  session->training.step.skipNan = options.skip_nan != 0;
  if (Status status = session->joinRanks(options); !status)
    return status.error();
  Collectives::Doing doing(*session->opened.ranks, ACCUM_OPENS, 0);
  if (Status status = requireOneArtifact(session->opened, !options.random_params && !options.awaits_weights);
      !status)
    return status.error();
  // Collectives come only where all ranks got so far.
  if (Status status = session->opened.agree(session->prepare(options)); !status)
    return status.error();
  if (Status status = session->opened.agree(session->opened.device->join(*session->opened.ranks)); !status)
    return status.error();
  if (Status status = session->opened.agree(session->start(options)); !status)
    return status.error();
  return session;
}

Status Session::joinRanks(const accum_open_options &options) {
  const Manifest &manifest = opened.artifact.manifest;
  int64_t devices = options.devices > 0 ? options.devices : manifest.devices;
  if (!manifest.isCuttable() && devices > 1)
    return usage("the program relates the " + std::to_string(manifest.batch) +
                 " samples of its batch to each other: it runs on one device");
  if (auto other = otherDevices(manifest, devices))
    return *other;
  if (devices > 1) {
    auto job = joinJob(options.launcher ? options.launcher : "");
    if (!job)
      return job.error();
    opened.ranks = *job;
  }
  if (opened.ranks->ranks() != devices)
    return usage("the run is for " + std::to_string(devices) + " devices, but " +
                 std::to_string(opened.ranks->ranks()) + " processes were started");
  if (devices != manifest.devices)
    opened.note("compiled for " + std::to_string(manifest.devices) +
                (manifest.devices == 1 ? " device" : " devices") + ", runs on " + std::to_string(devices) +
                ": micro-steps of " + std::to_string(manifest.m) + " as before, another number of them");
  int64_t share = (manifest.batch + manifest.devices - 1) / manifest.devices;
  pace.setPlanned(std::max<int64_t>(1, (share + manifest.m - 1) / manifest.m));
  pace.chooseThreads(options.threads);
  return {};
}

Status Session::prepare(const accum_open_options &options) {
  if (options.random_params || options.awaits_weights)
    weights.forget();
  // The weights are read when there is memory for them, which the system clears meanwhile.
  if (Status status = checkFiles(opened.artifact, kWeights); !status)
    return status;
  if (Status status = loadProgram(opened.artifact, options.program); !status)
    return status;
  opened.artifact.manifest.devices = opened.ranks->ranks();
  auto device = openDevice(opened.artifact, options.target ? options.target : "");
  if (!device)
    return device.error();
  opened.device = std::move(*device);
  if (Status status = opened.device->load(opened.artifact); !status)
    return status;
  return opened.device->requireRoom(opened.programBytes() + Staging::bytesFor(opened.artifact.manifest),
                                    opened.ranks->localRanks());
}

Status Session::start(const accum_open_options &options) {
  Status status = placeMemory(options);
  return status ? setHyper({}) : status;
}

Status Session::placeMemory(const accum_open_options &options) {
  const Manifest &manifest = opened.artifact.manifest;
  auto allocated = opened.device->allocate(opened.programBytes(), Staging::bytesFor(manifest));
  if (!allocated)
    return allocated.error();
  opened.state = *allocated;
  if (uint64_t bytes = manifest.offloadedBytes()) {
    std::string folder = options.offload_dir ? options.offload_dir : opened.artifact.folder;
    if (Status status = opened.device->reserveOffloaded(bytes, folder); !status)
      return status;
    opened.note("offloaded: " + formatBytes(bytes) + " of the state, " + opened.device->offloadedTo(folder));
  } else if (options.offload_dir) {
    opened.note("nothing is offloaded, and `" + std::string(options.offload_dir) +
                "` is not used: accumc --offload compiles for that");
  }
  opened.memory = StateMemory(manifest, *opened.device, *opened.ranks, opened.state);
  samples.place(opened.state + opened.programBytes(), options.local_batches != 0);
  training.takeNotices();
  return weights.start({options.random_params ? std::optional(options.random_seed) : std::nullopt,
                        options.awaits_weights != 0});
}

/// Between two steps every rank calls it, as it makes the steps.
Status Session::setHyper(const HyperOptions &options) {
  auto made = Hyper::make(opened.artifact.manifest, options);
  Status own = made ? Status() : Status(made.error());
  if (Status status = hasBegun ? opened.agree(own) : own; !status)
    return status;
  numbers.set(std::move(*made), options);
  return hasBegun ? requireSameNumbers(opened, numbers.contents(training.reached)) : Status();
}

Status Session::set(const std::vector<Setting> &settings) {
  RunOptions options = numbers.asked;
  if (Status own = takeSettings(settings, options); !own)
    return hasBegun ? opened.agree(own) : own;
  auto names = [&](OptionOwner owner) {
    return std::ranges::any_of(
        settings, [&](const Setting &setting) { return findRunOption(setting.name)->owner == owner; });
  };
  if (names(OptionOwner::Update))
    if (Status status = setHyper(options); !status)
      return status;
  return names(OptionOwner::Schedule) ? numbers.setSchedule(options, options.steps.value_or(0)) : Status();
}

void Session::observe(accum_observer callback, void *user, const accum_session *handle) {
  if (!callback)
    training.step.observer = nullptr;
  else
    training.step.observer = [=](uint32_t k, uint32_t steps) { callback(user, handle, k, steps); };
}

Status Session::prepareStep(uint64_t step) {
  if (!std::exchange(hasBegun, true) && opened.ranks->ranks() > 1)
    if (Status status = requireOneRun(opened, facts(step), numbers.contents(step)); !status)
      return status;
  training.begin();
  if (training.step.calls)
    training.step.calls->startStep(step);
  return weights.check();
}

Status Session::select(uint64_t step) {
  Status status = prepareStep(step);
  return status ? samples.select(step) : status;
}

Status Session::give(Expected<Dataset> given, uint64_t step, uint64_t seed) {
  Status status = prepareStep(step);
  return status ? samples.give(std::move(given), seed) : status;
}

Expected<accum_step_result> Session::step(uint64_t step) {
  double started = now();
  Status status = select(step);
  if (status)
    status = weights.settleAverage();
  return status ? training.train(step, started) : status.error();
}

Expected<accum_step_result> Session::accumulate(uint64_t step) {
  double started = now();
  Status status = select(step);
  return status ? training.accumulate(step, started) : status.error();
}

Expected<accum_step_result> Session::eval(uint64_t step) {
  double started = now();
  Status status = select(step);
  return status ? training.forward(step, started) : status.error();
}

Expected<accum_step_result> Session::stepOver(Expected<Dataset> given, uint64_t step, uint64_t seed) {
  double started = now();
  Status status = give(std::move(given), step, seed);
  if (status)
    status = weights.settleAverage();
  if (!status)
    return status.error();
  auto result = training.train(step, started);
  samples.forgetGiven();
  return result;
}

Expected<accum_step_result> Session::accumulateOver(Expected<Dataset> given, uint64_t step, uint64_t seed) {
  double started = now();
  if (Status status = give(std::move(given), step, seed); !status)
    return status.error();
  auto result = training.accumulate(step, started);
  samples.forgetGiven();
  return result;
}

Expected<accum_step_result> Session::update(uint64_t step) {
  Status status = training.pending().calls > 0 ? weights.settleAverage() : Status();
  return status ? training.update(step) : status.error();
}

/// What `call` returns, with the weights that evaluations take in place of the trained ones.
template <typename Call> auto Session::withEvaluated(Call &&call) -> decltype(call()) {
  if (Status status = weights.exchangeForEvaluation(); !status)
    return status.error();
  auto result = call();
  if (Status status = weights.exchangeForEvaluation(); !status && result)
    return status.error();
  return result;
}

Expected<accum_evaluation> Session::evaluate() {
  return withEvaluated([&] { return evaluation.run(); });
}

Expected<int64_t> Session::predict(const std::vector<std::string> &names, int64_t first, int64_t count) {
  return withEvaluated([&] { return predictions.run(names, first, count); });
}

Status Session::startProfile() {
  if (!opened.device->isSynchronous())
    return Error{kExitUsage,
                 "the times of calls are not known: " + opened.device->name() + " is late with them",
                 "usage",
                 {"on a GPU set ACCUM_CUDA_STEPWISE=1, which waits for each call"}};
  training.step.calls.emplace();
  return {};
}

Status Session::saveProfile(const std::string &path) const {
  auto file = FileWriter::create(path);
  if (!file)
    return file.error();
  std::string text = training.step.calls
                         ? training.step.calls->toJson(opened.device->kernelNames(), opened.ranks->rank())
                         : "";
  if (Status status = (*file)->write(text.data(), text.size()); !status)
    return status;
  return (*file)->commit(false);
}

void Session::describe(accum_info &info) const {
  const Manifest &manifest = opened.artifact.manifest;
  info = {};
  info.batch = samples.batch();
  info.m = manifest.m;
  info.devices = manifest.devices;
  if (samples.bound()) {
    info.samples = samples.bound()->samples();
    info.windows = samples.epochs()->windows();
  }
  info.rank = opened.ranks->rank();
  info.ranks = opened.ranks->ranks();
  info.threads = threadCount();
  info.state_bytes = manifest.stateBytes;
  info.scratch_bytes = opened.artifact.program->scratch_bytes;
  info.staging_bytes = Staging::bytesFor(manifest);
  info.arena_bytes = opened.device->arenaBytes();
  info.peak_bytes = opened.device->peakBytes();
  info.optimizer = manifest.optimizer.c_str();
  info.lr = numbers.rate;
  info.sent_bytes = training.sentBytes;
  info.ema = numbers.ema();
  info.evaluated = evaluation.made.value_or(UINT64_MAX);
}

} // namespace accum::runtime
