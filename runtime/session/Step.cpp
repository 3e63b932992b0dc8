// SPDX-License-Identifier: Apache-2.0
// Binding rows, kernels, GEMMs, sums over ranks.
#include "runtime/session/Step.h"
#include "runtime/session/NotFinite.h"
#include "runtime/system/Clock.h"

namespace accum::runtime {
namespace {

// The program returns it at once; who runs it knows from `skipped` or `failure` what it stands for.
constexpr int kLeaveStep = -1;

} // namespace

int Step::fail(Error error, bool inCommand) {
  outcome.failure = std::move(error);
  outcome.failedInCommand = inCommand;
  return kLeaveStep;
}

/// What the program gets for the outcome of a call to the device.
int Step::check(const Status &status, bool inCommand) { return status ? 0 : fail(status.error(), inCommand); }

void Step::begin() {
  outcome = {};
  guard.beginStep();
}

bool Step::addsInPlace() const {
  return part == Part::Gradients && addsToCalls && !opened.memory.isSharded();
}

/// Beside gradients, what the micro-steps add up is the loss, which is the call's own.
Status Step::beginAdding() {
  flags[1] = 0;
  if (auto mirrored = opened.device->mirror(flags, sizeof flags); !mirrored)
    return mirrored.error();
  const ScalarSpec *loss = opened.artifact.manifest.findScalar("loss");
  return loss ? opened.device->zero(opened.state + opened.memory.local(loss->stateOffset),
                                    uint64_t(bytesOf(loss->dtype)))
              : Status();
}

int Step::beginMicro(accum_ctx *context, uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid) {
  double started = now();
  if (leaves) {
    auto left = leaves();
    if (!left || *left)
      return left ? kLeaveStep : fail(left.error(), false);
  }
  const std::vector<PhaseSpec> &phases = opened.artifact.manifest.phases;
  bool isLoop = phase < phases.size() && phases[phase].isLoop;
  uint32_t steps = isLoop ? samples.microSteps.stepsIn(phase) : 0;
  if (k >= steps)
    return fail({kExitInternal,
                 "the program asks for micro-step " + std::to_string(k) + " of " + std::to_string(steps) +
                     " in phase " + std::to_string(phase) + " of " + std::to_string(phases.size()),
                 "program"},
                false);
  ranges.beginMicro(phases[phase], k, steps);
  latest = {phase, k, false, false};
  context->inputs = samples.stagingIn(phase).inputs();
  Status fed = timed({.kind = CallFacts::Feed}, [&] { return samples.feed(phase, k); });
  if (fed && phases[phase].addsGradients && samples.microSteps.numberOf(phase, k) == 0 && addsInPlace())
    fed = beginAdding();
  Share own = samples.microSteps.shareIn(phase);
  *firstRow = own.firstRow(k);
  *valid = uint32_t(own.valid(k));
  outcome.dataSeconds += now() - started;
  return check(fed, false);
}

int Step::endMicro(uint32_t phase, uint32_t k) {
  if (int code = check(opened.device->endMicro(samples.microSteps.after(phase, k)), false))
    return code;
  ranges.leave();
  if (!observer || part == Part::Trial || !opened.artifact.manifest.phases[phase].addsGradients)
    return 0;
  uint32_t steps = samples.microSteps.division().steps;
  observer(part == Part::Update ? steps - 1 : samples.microSteps.numberOf(phase, k), steps);
  return 0;
}

/// With its time in the profile, where there is one.
template <typename Call> Status Step::timed(const CallFacts &facts, Call &&call) {
  if (!calls)
    return call();
  double started = now();
  Status status = call();
  calls->add(facts, started, now() - started);
  return status;
}

int Step::launch(uint32_t kernel, void *const *args) {
  CallFacts facts{.kind = CallFacts::Kernel, .kernel = kernel};
  return check(timed(facts, [&] { return opened.device->launch(kernel, args); }), true);
}

int Step::runGemm(const accum_gemm *call, float beta) {
  if (addsInPlace() && opened.isGradient(call->c))
    beta = 1;
  return check(timed(factsOf(*call, beta), [&] { return opened.device->gemm(*call, beta); }), true);
}

int Step::attend(const accum_attention *call) {
  return check(timed(factsOf(*call), [&] { return opened.device->attention(*call); }), true);
}

int Step::zero(void *data, uint64_t bytes) {
  if (addsInPlace() && opened.isGradient(data))
    return 0;
  CallFacts facts{.kind = CallFacts::Zero, .sizes = {int64_t(bytes)}};
  return check(timed(facts, [&] { return opened.device->zero(data, bytes); }), false);
}

int Step::copy(void *target, const void *source, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::Copy, .sizes = {int64_t(bytes)}};
  return check(timed(facts, [&] { return opened.device->copy(target, source, bytes); }), false);
}

int Step::startAllReduce(void *data, uint64_t n, int32_t dtype) {
  bool isOfStep = part == Part::Whole || part == Part::Trial;
  return !isOfStep ? 0 : check(opened.device->startAllReduce(data, n, DType(dtype)), false);
}

int Step::allReduce(void *data, uint64_t n, int32_t dtype) {
  if (opened.isGradient(data) && part == Part::Gradients)
    return kLeaveStep;
  if (!opened.isGradient(data) && part == Part::Update) // done by the calls before
    return 0;
  ranges.enter("sums over devices");
  CallFacts facts{.kind = CallFacts::AllReduce, .sizes = {int64_t(n * uint64_t(bytesOf(DType(dtype))))}};
  return check(timed(facts, [&] { return opened.device->allReduce(data, n, DType(dtype)); }), false);
}

int Step::reduceScatter(void *data, uint64_t n, int32_t dtype) {
  if (part == Part::Update) // done by the calls before
    return 0;
  ranges.enter("sums over devices");
  CallFacts facts{.kind = CallFacts::ReduceScatter, .sizes = {int64_t(n * uint64_t(bytesOf(DType(dtype))))}};
  return check(timed(facts, [&] { return opened.device->reduceScatter(data, n, DType(dtype)); }), false);
}

int Step::allGather(void *target, const void *source, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::AllGather, .sizes = {int64_t(bytes)}};
  return check(timed(facts, [&] { return opened.device->allGather(target, source, bytes); }), false);
}

int Step::startReduceScatter(void *data, uint64_t n, int32_t dtype) {
  return check(opened.device->startReduceScatter(data, n, DType(dtype)), false);
}

int Step::startAllGather(void *target, const void *source, uint64_t bytes) {
  return check(opened.device->startAllGather(target, source, bytes), false);
}

int Step::fetch(void *target, uint64_t offset, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::Fetch, .sizes = {int64_t(bytes)}};
  double started = now();
  Status status = timed(facts, [&] { return opened.device->fetch(target, offset, bytes); });
  outcome.offloadSeconds += now() - started;
  return check(status, false);
}

int Step::store(uint64_t offset, const void *source, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::Store, .sizes = {int64_t(bytes)}};
  double started = now();
  Status status = timed(facts, [&] { return opened.device->store(offset, source, bytes); });
  outcome.offloadSeconds += now() - started;
  return check(status, false);
}

int Step::startFetch(void *target, uint64_t offset, uint64_t bytes) {
  return check(opened.device->startFetch(target, offset, bytes), false);
}

int Step::output(uint32_t number, const void *rows, uint64_t bytes) {
  size_t count = opened.artifact.manifest.outputs.size();
  if (number >= count || !predicts)
    return fail({kExitInternal,
                 "the program hands out output " + std::to_string(number) + " of " + std::to_string(count),
                 "program"},
                false);
  if (!predicts->wants(number))
    return 0;
  auto readable = opened.device->view(rows, bytes);
  if (!readable)
    return fail(readable.error(), false);
  predicts->take(number, *readable, samples.microSteps.division(), samples.microSteps.shareIn(latest.phase),
                 latest.k);
  return 0;
}

int Step::startStore(uint64_t offset, const void *source, uint64_t bytes) {
  return check(opened.device->startStore(offset, source, bytes), false);
}

int Step::inspectGradients(const void *data, uint64_t n, int32_t dtype, bool isPart, bool last) {
  if (part == Part::Gradients) // of a sharded state, whose parts are summed
    return kLeaveStep;
  ranges.enter("norm of the gradients");
  CallFacts facts{.kind = CallFacts::Norm, .sizes = {int64_t(n * uint64_t(bytesOf(DType(dtype))))}};
  if (Status status = timed(facts, [&] { return guard.add(data, n, DType(dtype)); }); !status)
    return fail(status.error(), false);
  if (!last)
    return 0;
  auto finite = guard.isFinite(isPart);
  if (!finite)
    return fail(finite.error(), false);
  if (*finite && part == Part::Trial)
    return kLeaveStep;
  if (*finite) {
    int code = limitGradients();
    if (code == 0)
      ranges.enter("update");
    return code;
  }
  outcome.skipped = skipNan || part == Part::Trial;
  if (outcome.skipped)
    return kLeaveStep;
  outcome.unchanged = true;
  return fail(notFinite("the loss or a gradient is not finite", opened, numbers.updates > 0), false);
}

/// Leaves a spike out; scales gradients down to the norm that is asked for.
int Step::limitGradients() {
  if (numbers.skipSpikes() > 0) {
    auto spike = guard.isSpike(numbers.skipSpikes());
    if (!spike)
      return fail(spike.error(), false);
    outcome.skipped = outcome.isSpike = *spike;
    if (outcome.skipped)
      return kLeaveStep;
  }
  return check(numbers.clip(guard.norm()), false);
}

} // namespace accum::runtime
