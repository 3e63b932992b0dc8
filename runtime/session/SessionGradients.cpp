// SPDX-License-Identifier: Apache-2.0
// A step in two calls, of one program. `accumulate` leaves it before the gradients are summed over the ranks;
// `update` runs it with no micro-step, which is the sum and all behind it.
#include "runtime/session/Session.h"
#include "runtime/system/Clock.h"
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

Expected<accum_step_result> Session::accumulateOver(Dataset samples, uint64_t step, uint64_t seed) {
  double started = now();
  if (Status status = selectGiven(std::move(samples), step, seed); !status)
    return status.error();
  auto result = addGradients(step, started);
  feeding = nullptr;
  given.reset();
  return result;
}

/// Those of the calls before wait outside of the arena: the program writes its first ones.
Status Session::keepGradients() {
  const GradientRange &range = artifact.manifest.gradients;
  earlier.resize(range.bytes);
  for (uint64_t done = 0; done < range.bytes; done += Device::kPieceBytes) {
    uint64_t piece = std::min(range.bytes - done, Device::kPieceBytes);
    auto data = device->view(state + memory.local(range.offset) + done, piece);
    if (!data)
      return data.error();
    std::copy_n(*data, piece, earlier.data() + done);
  }
  return {};
}

Status Session::addEarlier() {
  const GradientRange &range = artifact.manifest.gradients;
  auto *add = range.dtype == ACCUM_F64 ? addTo<double> : addTo<float>;
  for (uint64_t done = 0; done < range.bytes; done += Device::kPieceBytes) {
    uint64_t piece = std::min(range.bytes - done, Device::kPieceBytes);
    auto data = device->view(state + memory.local(range.offset) + done, piece);
    if (!data)
      return data.error();
    add(earlier.data() + done, *data, piece);
    Status status = device->write(state + memory.local(range.offset) + done, piece,
                                  [&](uint8_t *to) { std::copy_n(earlier.data() + done, piece, to); });
    if (!status)
      return status;
  }
  return {};
}

Expected<accum_step_result> Session::addGradients(uint64_t step, double started) {
  if (memory.isSharded())
    return Error{kExitUsage,
                 "the program's gradients are in parts on its devices, and it makes a step as a whole",
                 "usage",
                 {"accum_step does; accumc --shard none keeps gradients whole"}};
  if (Status status = pending.calls > 0 ? keepGradients() : Status(); !status)
    return status.error();
  part = Part::Gradients;
  auto result = runPart(step, share->steps, started);
  part = Part::Whole;
  if (!result) {
    pending = {}; // half of a sum is none
    return result;
  }
  if (Status status = pending.calls > 0 ? addEarlier() : Status(); !status)
    return status.error();
  ++pending.calls;
  pending.samples += result->samples;
  pending.targets += result->targets;
  return result;
}

Expected<accum_step_result> Session::update(uint64_t step) {
  double started = now();
  if (pending.calls == 0)
    return Error{kExitUsage,
                 "there are no gradients to update with",
                 "usage",
                 {"accum_accumulate comes first, once or more often; accum_step does both"}};
  auto loss = scalarOr("loss", NAN);
  if (!loss)
    return loss.error();
  beginStep();
  part = Part::Update;
  auto result = runPart(step, 0, started);
  part = Part::Whole;
  if (!result)
    return result;
  result->loss = *loss;
  result->samples = pending.samples;
  result->targets = pending.targets;
  result->micro_steps = 0;
  pending = {};
  return result;
}

Expected<accum_step_result> Session::runPart(uint64_t step, uint32_t microSteps, double started) {
  device->startStep(/*evaluates=*/part == Part::Update); // the gradients still mean something
  ranges.beginStep(step, /*evaluates=*/false);
  auto context = makeContext(step);
  if (!context)
    return context.error();
  auto hyperOfStep = makeHyper(step);
  if (!hyperOfStep)
    return hyperOfStep.error();
  int code = artifact.program->step(&*context, microSteps, &*hyperOfStep);
  bool isLeft = part == Part::Gradients && code != 0 && !failure;
  if (part == Part::Update && code == 0) {
    ++updates;
    reached = step + 1;
  }
  return finish(isLeft ? 0 : code, started);
}

} // namespace accum::runtime
