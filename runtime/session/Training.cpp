// SPDX-License-Identifier: Apache-2.0
// One program for all of them. `accumulate` leaves it before the gradients are summed over the ranks, or,
// where each rank owns a part of the sum, after that; `update` runs it with no micro-step, which is all that
// is left.
#include "runtime/session/Training.h"
#include "base/FormatBytes.h"
#include "runtime/session/NotFinite.h"
#include "runtime/system/Clock.h"
#include "runtime/system/Memory.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accum::runtime {
namespace {

template <typename T> void addTo(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  auto *sum = reinterpret_cast<T *>(to);
  auto *term = reinterpret_cast<const T *>(from);
  for (uint64_t i = 0; i < bytes / sizeof(T); ++i)
    sum[i] += term[i];
}

std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "`" : ", `") + name + "`";
  return text;
}

} // namespace

void Training::begin() {
  step.begin();
  sentBefore = opened.ranks->sentBytes();
}

/// What the device has decided since the last time.
void Training::takeNotices() {
  std::vector<std::string> all = opened.device->notices();
  for (; deviceNotices < all.size(); ++deviceNotices)
    opened.note(all[deviceNotices]);
}

Expected<accum_ctx> Training::makeContext(uint64_t number) {
  const Division &division = samples.microSteps.division();
  rng[0] = samples.seed().value_or(rng[0]);
  rng[1] = number;
  rng[2] = step.part == Step::Part::Gradients ? uint64_t(waiting.samples) : 0;
  rng[3] = uint64_t(opened.ranks->rank());
  std::iota(std::begin(rng) + 4, std::end(rng), uint64_t(0));
  step.flags[1] = 1;
  auto random = opened.device->mirror(rng, sizeof rng),
       mirrored = opened.device->mirror(step.flags, sizeof step.flags);
  if (!random || !mirrored)
    return random ? mirrored.error() : random.error();
  none.assign(division.microSteps.size(), 0);
  accum_ctx context{};
  context.state = opened.state;
  context.scratch = opened.state + opened.artifact.manifest.stateBytes;
  context.inputs = samples.largestStaging().inputs();
  context.micro_steps = step.part == Step::Part::Update ? none.data() : division.microSteps.data();
  context.rt = programTable();
  context.self = &step;
  context.seed = rng[0];
  context.step = number;
  context.rng = static_cast<const uint64_t *>(*random);
  context.flags = static_cast<const uint8_t *>(*mirrored);
  context.rank = opened.ranks->rank();
  context.size = opened.ranks->ranks();
  context.samples = uint64_t(division.samples);
  return context;
}

Expected<accum_step_result> Training::run(Step::Part part, uint64_t number, double started) {
  step.part = part;
  step.addsToCalls = waiting.calls > 0;
  bool isUpdate = part == Step::Part::Update, isTrained = isUpdate || part == Step::Part::Whole;
  opened.device->startStep(/*evaluates=*/isUpdate || step.addsInPlace());
  step.ranges.beginStep(number, /*evaluates=*/false);
  auto context = makeContext(number);
  auto hyper = context ? numbers.mirror(number) : context.error();
  if (!hyper) {
    step.part = Step::Part::Whole;
    return hyper.error();
  }
  uint32_t microSteps = isUpdate ? 0 : samples.microSteps.division().steps;
  int code = opened.artifact.program->step(&*context, microSteps, &*hyper);
  numbers.updates += isTrained && code == 0;
  if (part == Step::Part::Whole || (isUpdate && code == 0))
    reached = number + 1;
  bool isLeft = !isTrained && code != 0 && !step.outcome.failure && !step.outcome.skipped;
  auto result = finish(isLeft ? 0 : code, started);
  step.part = Step::Part::Whole;
  return result;
}

Expected<accum_step_result> Training::train(uint64_t number, double started) {
  waiting = {}; // its gradients take their place
  pace.beginStep();
  auto result = run(Step::Part::Whole, number, started);
  if (result)
    pace.judge(result->seconds - step.outcome.dataSeconds, numbers.updates, samples.microSteps.division());
  return result;
}

Expected<accum_step_result> Training::tryStep(double started) { return run(Step::Part::Trial, 0, started); }

Expected<accum_step_result> Training::accumulate(uint64_t number, double started) {
  bool keeps = waiting.calls > 0 && opened.memory.isSharded();
  if (Status status = keeps ? keepGradients() : Status(); !status)
    return status.error();
  auto result = run(Step::Part::Gradients, number, started);
  if (!result) {
    waiting = {}; // half of a sum is none
    return result;
  }
  if (Status status = keeps ? addEarlier() : Status(); !status)
    return status.error();
  ++waiting.calls;
  waiting.samples += result->samples;
  waiting.targets += result->targets;
  waiting.loss = result->loss;
  return result;
}

Expected<accum_step_result> Training::update(uint64_t number) {
  double started = now();
  if (waiting.calls == 0)
    return Error{kExitUsage,
                 "there are no gradients to update with",
                 "usage",
                 {"accum_accumulate comes first, once or more often; accum_step does both"}};
  begin();
  auto result = run(Step::Part::Update, number, started);
  if (!result)
    return result;
  result->loss = waiting.loss;
  result->samples = waiting.samples;
  result->targets = waiting.targets;
  result->micro_steps = 0;
  waiting = {};
  return result;
}

Expected<int> Training::evaluate(uint64_t number) {
  if (!opened.artifact.program->eval)
    return usage("the artifact has no eval program");
  opened.device->startStep(/*evaluates=*/true);
  step.ranges.beginStep(number, /*evaluates=*/true);
  auto context = makeContext(number);
  if (!context)
    return context.error();
  return opened.artifact.program->eval(&*context, samples.microSteps.division().steps);
}

Expected<int> Training::predict() {
  opened.device->startStep(/*evaluates=*/true);
  step.ranges.beginStep(0, /*evaluates=*/true);
  auto context = makeContext(0);
  if (!context)
    return context.error();
  return predictOf(*opened.artifact.program)(&*context, samples.microSteps.division().steps);
}

Status Training::readOutputs(double earlierWeight, double weight) {
  std::vector<std::pair<std::string, double>> read;
  for (const ScalarSpec &scalar : opened.artifact.manifest.scalars) {
    if (scalar.output().empty())
      continue;
    auto value = opened.scalarOr(scalar.name.c_str(), NAN);
    if (!value)
      return value.error();
    double before =
        earlierWeight > 0 && read.size() < outputValues.size() ? outputValues[read.size()].second : 0;
    read.emplace_back(scalar.output(), (before * earlierWeight + *value * weight) / (earlierWeight + weight));
  }
  outputValues = std::move(read);
  return {};
}

Expected<accum_step_result> Training::forward(uint64_t number, double started) {
  auto code = evaluate(number);
  return code ? finish(*code, started) : code.error();
}

Expected<accum_step_result> Training::finish(int code, double started) {
  accum_step_result result{};
  takeNotices();
  if (code != 0 && !step.outcome.skipped)
    return explain(code);
  if (code == 0)
    if (Status status = opened.device->synchronize(); !status)
      return status.error();
  auto loss = opened.scalarOr("loss", NAN), targets = opened.scalarOr("targets", 0);
  if (!loss || !targets)
    return loss ? targets.error() : loss.error();
  if (Status status = readOutputs(); !status)
    return status.error();
  if (code == 0 && !step.skipNan && opened.artifact.manifest.findScalar("loss") && !std::isfinite(*loss))
    return notFinite("the loss is not finite", opened, numbers.updates > 0);
  result.loss = *loss;
  result.targets = int64_t(*targets);
  result.gradient_norm = guard.norm();
  const Division &division = samples.microSteps.division();
  result.samples = division.samples;
  result.micro_steps = division.steps;
  result.skipped = step.outcome.isSpike   ? ACCUM_SKIPPED_SPIKE
                   : step.outcome.skipped ? ACCUM_SKIPPED_NOT_FINITE
                                          : 0;
  result.data_seconds = step.outcome.dataSeconds;
  sentBytes = opened.device->isSynchronous() ? opened.ranks->sentBytes() - sentBefore : 0;
  step.ranges.endStep();
  result.seconds = now() - started;
  if (step.calls)
    step.calls->addStep(started, result.seconds);
  constexpr uint64_t kSettled = 3; // steps, of which the first ones fill the system's cache
  if (numbers.updates == kSettled && step.outcome.offloadSeconds > result.seconds / 2)
    opened.note(fmt::format("offloaded state is waited for {:.0f} % of a step: a faster disk "
                            "(--offload-dir), or more memory when compiling, makes it shorter",
                            100 * step.outcome.offloadSeconds / result.seconds));
  return result;
}

Error Training::explain(int code) const {
  Error error = step.outcome.failure.value_or(
      Error{kExitInternal, "the program ended with code " + std::to_string(code), "program"});
  if (step.outcome.failure && !step.outcome.failedInCommand)
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

/// body(on the device, of those of the calls before, bytes) for all gradients of this rank, a piece at a
/// time.
template <typename Body> Status Training::overGradients(Body &&body) {
  const GradientRange &range = opened.artifact.manifest.gradients;
  uint8_t *kept = earlier.data();
  for (const StateMemory::Own &own : opened.memory.own(range.offset, range.bytes))
    for (uint64_t done = 0; done < own.bytes; done += Device::kPieceBytes) {
      uint64_t piece = std::min(own.bytes - done, Device::kPieceBytes);
      if (Status status = body(opened.state + own.local + done, kept, piece); !status)
        return status;
      kept += piece;
    }
  return {};
}

/// A rank's part of the sum waits outside of the arena: whole gradients are where the program writes first.
Status Training::keepGradients() {
  const GradientRange &range = opened.artifact.manifest.gradients;
  uint64_t bytes = 0;
  for (const StateMemory::Own &own : opened.memory.own(range.offset, range.bytes))
    bytes += own.bytes;
  earlier.resize(bytes);
  opened.noteOnce({"gradients of several calls are added up beside the plan: " + formatBytes(bytes) +
                   " for this rank's part of them"});
  return overGradients([&](uint8_t *place, uint8_t *kept, uint64_t size) -> Status {
    auto data = opened.device->view(place, size);
    if (!data)
      return data.error();
    std::copy_n(*data, size, kept);
    return {};
  });
}

Status Training::addEarlier() {
  auto *add = opened.artifact.manifest.gradients.dtype == ACCUM_F64 ? addTo<double> : addTo<float>;
  return overGradients([&](uint8_t *place, uint8_t *kept, uint64_t size) -> Status {
    auto data = opened.device->view(place, size);
    if (!data)
      return data.error();
    add(kept, *data, size);
    return opened.device->write(place, size, [&](uint8_t *to) { std::copy_n(kept, size, to); });
  });
}

} // namespace accum::runtime
