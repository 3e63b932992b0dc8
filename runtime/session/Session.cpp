// SPDX-License-Identifier: Apache-2.0
// Opening an opened.artifact, and the frame around a step.
#include "runtime/session/Session.h"
#include "runtime/files/Convert.h"
#include "runtime/session/NotFinite.h"
#include "runtime/session/Targets.h"
#include "runtime/system/Clock.h"
#include "runtime/system/Memory.h"
#include "runtime/system/ThreadPool.h"
#include "runtime/weights/Parameters.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <sys/stat.h>

namespace accum::runtime {
namespace {

std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

} // namespace

Expected<std::unique_ptr<Session>> Session::open(const std::string &folder,
                                                 const accum_open_options &options) {
  auto artifact = readArtifact(folder);
  if (!artifact)
    return artifact.error();
  auto session = std::make_unique<Session>();
  session->opened.artifact = std::move(*artifact);
  session->skipNan = options.skip_nan != 0;
  session->ownSamples = options.local_batches != 0;
  session->batches = {{0, session->opened.artifact.manifest.batch}};
  if (Status status = session->joinRanks(options); !status)
    return status.error();
  Collectives::Doing doing(*session->opened.ranks, ACCUM_OPENS, 0);
  if (Status status = session->requireOneArtifact(!options.random_params && !options.awaits_weights); !status)
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
  return opened.device->requireRoom(programBytes() + Staging::bytesFor(opened.artifact.manifest),
                                    opened.ranks->localRanks());
}

Status Session::start(const accum_open_options &options) {
  Status status = placeMemory(options);
  return status ? setHyper({}) : status;
}

uint64_t Session::programBytes() const {
  return opened.artifact.manifest.stateBytes + (opened.artifact.program->scratch_bytes + 255) / 256 * 256;
}

Status Session::placeMemory(const accum_open_options &options) {
  const Manifest &manifest = opened.artifact.manifest;
  auto allocated = opened.device->allocate(programBytes(), Staging::bytesFor(manifest));
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
  stagings.resize(manifest.allLengths().size());
  noMicroSteps.assign(stagings.size(), 0);
  for (size_t length = 0; length < stagings.size(); ++length)
    stagings[length].place(manifest, length, opened.state + programBytes());
  takeNotices();
  fillInputs = [this](MicroStep at, uint8_t *block) {
    return feeding->fill(stagings[opened.artifact.manifest.phases[at.phase].length], *division,
                         shareIn(at.phase), at, block);
  };
  return weights.start({options.random_params ? std::optional(options.random_seed) : std::nullopt,
                        options.awaits_weights != 0});
}

/// What the device has decided since the last time.
void Session::takeNotices() {
  std::vector<std::string> all = opened.device->notices();
  for (; deviceNotices < all.size(); ++deviceNotices)
    opened.note(all[deviceNotices]);
}

/// Between two steps every rank calls it, as it makes the steps.
Status Session::setHyper(const HyperOptions &options) {
  auto made = Hyper::make(opened.artifact.manifest, options);
  Status own = made ? Status() : Status(made.error());
  if (Status status = hasBegun ? opened.agree(own) : own; !status)
    return status;
  hyper = std::move(*made);
  rate = hyper.lr;
  decay.resize(2 * hyper.coefficients.decay.size()); // the same number for every option
  if (!options.rates.empty() || !options.decay.empty())
    for (const Group &group : groupsOf(opened.artifact.manifest, hyper.coefficients))
      opened.noteOnce({"group: " + runtime::describe(group)});
  return hasBegun ? requireSameNumbers(reached) : Status();
}

Status Session::setSchedule(const ScheduleOptions &options, uint64_t steps) {
  auto made = Schedule::make(options, steps, hyper.lr);
  if (!made)
    return made.error();
  schedule = std::move(*made);
  return {};
}

Status Session::setCut(const StepCut &value) {
  const Manifest &manifest = opened.artifact.manifest;
  if (value.rows < 0 || value.rows > manifest.m)
    return usage(std::to_string(value.rows) + " samples do not fit into a micro-step of " +
                 std::to_string(manifest.m));
  // In micro-batches the program may be cut finer, of all samples.
  bool isCut = manifest.m == manifest.batch && value.rows % manifest.m != 0;
  if (manifest.wholeBatch && (isCut || value.samples % manifest.batch != 0))
    return usage("a batch whose samples are related to each other is not cut");
  cut = value;
  return {};
}

void Session::observe(accum_observer callback, void *user, const accum_session *handle) {
  observer = callback;
  observerUser = user;
  observerHandle = handle;
}

Expected<accum_ctx> Session::makeContext(uint64_t step) {
  if (feeding)
    rng[0] = feeding->options().seed;
  rng[1] = step;
  rng[2] = part == Part::Gradients ? uint64_t(pending.samples) : 0;
  rng[3] = uint64_t(opened.ranks->rank());
  std::iota(std::begin(rng) + 4, std::end(rng), uint64_t(0));
  flags[1] = 1;
  auto random = opened.device->mirror(rng, sizeof rng), mirrored = opened.device->mirror(flags, sizeof flags);
  if (!random || !mirrored)
    return random ? mirrored.error() : random.error();
  accum_ctx context{};
  context.state = opened.state;
  context.scratch = opened.state + opened.artifact.manifest.stateBytes;
  context.inputs = stagings.back().inputs();
  context.micro_steps = part == Part::Update ? noMicroSteps.data() : division->microSteps.data();
  context.rt = programTable();
  context.self = this;
  context.seed = rng[0];
  context.step = step;
  context.rng = static_cast<const uint64_t *>(*random);
  context.flags = static_cast<const uint8_t *>(*mirrored);
  context.rank = opened.ranks->rank();
  context.size = opened.ranks->ranks();
  context.samples = uint64_t(division->samples);
  return context;
}

Expected<accum_hyper> Session::makeHyper(uint64_t step) {
  hyper.fill(updates + 1, schedule.factor(step), hyperValues);
  rate = hyperValues[ACCUM_HYPER_LR];
  for (size_t i = 0; i < hyper.coefficients.decay.size(); ++i) {
    decay[2 * i] = hyper.coefficients.decay[i];
    decay[2 * i + 1] = hyper.coefficients.rate[i];
  }
  auto values = opened.device->mirror(hyperValues, sizeof hyperValues);
  auto coefficients = opened.device->mirror(decay.data(), decay.size() * sizeof(double));
  if (!values || !coefficients)
    return values ? coefficients.error() : values.error();
  return accum_hyper{static_cast<const double *>(*values), static_cast<const double *>(*coefficients)};
}

Expected<accum_step_result> Session::step(uint64_t step) {
  double started = now();
  if (Status status = selectWindow(step); !status)
    return status.error();
  return train(step, started);
}

Expected<accum_step_result> Session::stepOver(Expected<Dataset> samples, uint64_t step, uint64_t seed) {
  double started = now();
  if (Status status = selectGiven(std::move(samples), step, seed); !status)
    return status.error();
  auto result = train(step, started);
  feeding = nullptr;
  given.reset();
  return result;
}

Expected<accum_step_result> Session::train(uint64_t step, double started) {
  pending = {}; // its gradients take their place
  useBefore = ProcessorUse::read();
  opened.device->startStep(false);
  ranges.beginStep(step, /*evaluates=*/false);
  auto context = makeContext(step);
  if (!context)
    return context.error();
  auto hyperOfStep = makeHyper(step);
  if (!hyperOfStep)
    return hyperOfStep.error();
  int code = opened.artifact.program->step(&*context, division->steps, &*hyperOfStep);
  if (code == 0)
    ++updates;
  reached = step + 1;
  auto result = finish(code, started);
  if (result)
    judgePace(result->seconds);
  return result;
}

Expected<accum_step_result> Session::eval(uint64_t step) {
  double started = now();
  if (Status status = selectWindow(step); !status)
    return status.error();
  return forward(step, started);
}

Expected<accum_step_result> Session::forward(uint64_t step, double started) {
  if (!opened.artifact.program->eval)
    return usage("the artifact has no eval program");
  opened.device->startStep(true);
  ranges.beginStep(step, /*evaluates=*/true);
  auto context = makeContext(step);
  if (!context)
    return context.error();
  return finish(opened.artifact.program->eval(&*context, division->steps), started);
}

Expected<accum_step_result> Session::finish(int code, double started) {
  accum_step_result result{};
  takeNotices();
  if (code != 0 && !skipped)
    return explain(code);
  if (code == 0)
    if (Status status = opened.device->synchronize(); !status)
      return status.error();
  auto loss = opened.scalarOr("loss", NAN), targets = opened.scalarOr("targets", 0);
  if (!loss || !targets)
    return loss ? targets.error() : loss.error();
  if (code == 0 && !skipNan && opened.artifact.manifest.findScalar("loss") && !std::isfinite(*loss))
    return notFinite("the loss is not finite");
  result.loss = *loss;
  result.targets = int64_t(*targets);
  result.gradient_norm = guard.norm();
  result.samples = division->samples;
  result.micro_steps = division->steps;
  result.skipped = isSpike ? ACCUM_SKIPPED_SPIKE : skipped ? ACCUM_SKIPPED_NOT_FINITE : 0;
  result.data_seconds = dataSeconds;
  sentBytes = opened.device->isSynchronous() ? opened.ranks->sentBytes() - sentBefore : 0;
  ranges.endStep();
  result.seconds = now() - started;
  if (calls)
    calls->addStep(started, result.seconds);
  constexpr uint64_t kSettled = 3; // steps, of which the first ones fill the system's cache
  if (updates == kSettled && offloadSeconds > result.seconds / 2)
    opened.note(fmt::format("offloaded state is waited for {:.0f} % of a step: a faster disk "
                            "(--offload-dir), or more memory when compiling, makes it shorter",
                            100 * offloadSeconds / result.seconds));
  return result;
}

/// A step that follows no other was not led astray by the learning rate.
Error Session::notFinite(const char *what) {
  Error error = runtime::notFinite(what, opened.artifact.manifest,
                                   [&](const ScalarSpec &scalar) { return opened.valueOf(scalar); });
  bool isExplained = error.message != what;
  error.notes.emplace_back("--on-nan skip leaves such steps out");
  if (updates > 0 && !isExplained)
    error.notes.back() += "; a smaller --lr is the usual cure";
  return error;
}

/// The failure behind a program's non-zero result, with the command and its nodes when one failed.
Error Session::explain(int code) const {
  Error error = failure.value_or(
      Error{kExitInternal, "the program ended with code " + std::to_string(code), "program"});
  if (failure && !failedInCommand)
    return error;
  for (const CommandSpec &command : opened.artifact.manifest.commands) {
    if (int64_t(command.id) + 1 != code)
      continue;
    error.message = "command " + std::to_string(command.id) + " @" + command.kernel + ": " + error.message;
    if (!command.onnxNodes.empty())
      error.notes.insert(error.notes.begin(), "it computes " + joinNames(command.onnxNodes));
  }
  return error;
}

void Session::describe(accum_info &info) const {
  const Manifest &manifest = opened.artifact.manifest;
  info = {};
  info.batch = stepBatch > 0 ? stepBatch : batches.front().batch;
  info.m = manifest.m;
  info.devices = manifest.devices;
  if (feed) {
    info.samples = feed->samples();
    info.windows = windows->windows();
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
  info.lr = rate;
  info.sent_bytes = sentBytes;
  info.evaluated = evaluated.value_or(UINT64_MAX);
}

} // namespace accum::runtime
