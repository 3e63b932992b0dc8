// SPDX-License-Identifier: Apache-2.0
// A step in two calls, of one program. `accumulate` leaves it before the gradients are summed over the ranks,
// or, where each rank owns a part of the sum, behind that; `update` runs it with no micro-step, which is all
// that is left.
#include "runtime/session/Session.h"
#include "runtime/system/Clock.h"
#include "runtime/system/Memory.h"
#include <algorithm>
#include <cmath>

namespace accum::runtime {
namespace {

template <typename T> void addTo(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  auto *sum = reinterpret_cast<T *>(to);
  auto *term = reinterpret_cast<const T *>(from);
  for (uint64_t i = 0; i < bytes / sizeof(T); ++i)
    sum[i] += term[i];
}

} // namespace

Expected<accum_step_result> Session::accumulate(uint64_t step) {
  double started = now();
  if (Status status = selectWindow(step); !status)
    return status.error();
  return addGradients(step, started);
}

Expected<accum_step_result> Session::accumulateOver(Expected<Dataset> samples, uint64_t step, uint64_t seed) {
  double started = now();
  if (Status status = selectGiven(std::move(samples), step, seed); !status)
    return status.error();
  auto result = addGradients(step, started);
  feeding = nullptr;
  given.reset();
  return result;
}

/// body(on the device, of those of the calls before, bytes) for all gradients of this rank, a piece at a
/// time.
template <typename Body> Status Session::overGradients(Body &&body) {
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

/// A program writes its first gradients. Where it has them all, these are told to add, and the sum of the
/// calls needs no other place.
bool Session::addsInPlace() const {
  return part == Part::Gradients && pending.calls > 0 && !opened.memory.isSharded();
}

bool Session::isGradient(const void *data) const {
  const GradientRange &range = opened.artifact.manifest.gradients;
  const uint8_t *first = opened.state + opened.memory.local(range.offset),
                *at = static_cast<const uint8_t *>(data);
  return !opened.memory.isSharded() && at >= first && at < first + range.bytes;
}

/// Beside gradients, what the micro-steps add up is the loss, which is the call's own.
Status Session::beginAdding() {
  flags[1] = 0;
  if (auto mirrored = opened.device->mirror(flags, sizeof flags); !mirrored)
    return mirrored.error();
  const ScalarSpec *loss = opened.artifact.manifest.findScalar("loss");
  return loss ? opened.device->zero(opened.state + opened.memory.local(loss->stateOffset),
                                    uint64_t(bytesOf(loss->dtype)))
              : Status();
}

/// A rank's part of the sum waits outside of the arena: whole gradients are where the program writes first.
Status Session::keepGradients() {
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

Status Session::addEarlier() {
  auto *add = opened.artifact.manifest.gradients.dtype == ACCUM_F64 ? addTo<double> : addTo<float>;
  return overGradients([&](uint8_t *place, uint8_t *kept, uint64_t size) -> Status {
    auto data = opened.device->view(place, size);
    if (!data)
      return data.error();
    add(kept, *data, size);
    return opened.device->write(place, size, [&](uint8_t *to) { std::copy_n(kept, size, to); });
  });
}

Expected<accum_step_result> Session::addGradients(uint64_t step, double started) {
  bool keeps = pending.calls > 0 && opened.memory.isSharded();
  if (Status status = keeps ? keepGradients() : Status(); !status)
    return status.error();
  part = Part::Gradients;
  auto result = runPart(step, division->steps, started);
  part = Part::Whole;
  if (!result) {
    pending = {}; // half of a sum is none
    return result;
  }
  if (Status status = keeps ? addEarlier() : Status(); !status)
    return status.error();
  ++pending.calls;
  pending.samples += result->samples;
  pending.targets += result->targets;
  pending.loss = result->loss;
  return result;
}

Expected<accum_step_result> Session::update(uint64_t step) {
  double started = now();
  if (pending.calls == 0)
    return Error{kExitUsage,
                 "there are no gradients to update with",
                 "usage",
                 {"accum_accumulate comes first, once or more often; accum_step does both"}};
  beginStep();
  part = Part::Update;
  auto result = runPart(step, 0, started);
  part = Part::Whole;
  if (!result)
    return result;
  result->loss = pending.loss;
  result->samples = pending.samples;
  result->targets = pending.targets;
  result->micro_steps = 0;
  pending = {};
  return result;
}

Expected<accum_step_result> Session::runPart(uint64_t step, uint32_t microSteps, double started) {
  bool keepsGradients = part == Part::Update || addsInPlace();
  opened.device->startStep(/*evaluates=*/keepsGradients);
  ranges.beginStep(step, /*evaluates=*/false);
  auto context = makeContext(step);
  if (!context)
    return context.error();
  auto hyperOfStep = makeHyper(step);
  if (!hyperOfStep)
    return hyperOfStep.error();
  int code = opened.artifact.program->step(&*context, microSteps, &*hyperOfStep);
  bool isLeft = part != Part::Update && code != 0 && !failure && !skipped;
  if (part == Part::Update && code == 0) {
    ++updates;
    reached = step + 1;
  }
  return finish(isLeft ? 0 : code, started);
}

} // namespace accum::runtime
