// SPDX-License-Identifier: Apache-2.0
// What happens inside a step: binding rows, kernels, GEMMs, sums over ranks. Allocates nothing unless it
// fails, or calls are timed.
#include "runtime/files/File.h"
#include "runtime/session/Session.h"
#include "runtime/system/Clock.h"

namespace accum::runtime {
namespace {

// The program returns it at once; the session knows from `skipped` or `failure` what it stands for.
constexpr int kLeaveStep = -1;

} // namespace

int Session::fail(Error error, bool inCommand) {
  failure = std::move(error);
  failedInCommand = inCommand;
  return kLeaveStep;
}

/// What the program gets for the outcome of a call to the device.
int Session::check(const Status &status, bool inCommand) {
  return status ? 0 : fail(status.error(), inCommand);
}

/// Order and choice of micro-steps are about gradients: totals are of all samples.
Share Session::shareIn(uint32_t phase) const {
  uint32_t length = opened.artifact.manifest.phases[phase].length;
  Share in = division->shares[length];
  if (!opened.artifact.manifest.phases[phase].addsGradients)
    return in;
  in.reversed = cut.reversed;
  if (cut.only < 0)
    return in;
  int64_t before = 0; // micro-steps of the lengths before
  for (uint32_t other = 0; other < length; ++other)
    before += division->microSteps[other];
  in.only = Share::kNone;
  if (cut.only >= before && cut.only < before + in.steps)
    in.only = uint32_t(cut.only - before);
  return in;
}

/// Of a micro-step among those of all lengths. The one that ends with the step is the last, whichever length
/// it has.
uint32_t Session::numberOf(uint32_t phase, uint32_t k) const {
  uint32_t length = opened.artifact.manifest.phases[phase].length, number = k;
  if (k >= stepsIn(phase))
    return division->steps - 1;
  for (uint32_t other = 0; other < length; ++other)
    number += division->microSteps[other];
  return number;
}

MicroStep Session::microStep(uint32_t phase, uint32_t k) const {
  uint32_t number = numberOf(phase, k);
  return {phase, k, number == 0, number + 1 == division->steps};
}

uint32_t Session::stepsIn(uint32_t phase) const {
  return division->microSteps[opened.artifact.manifest.phases[phase].length];
}

/// Ranks have as many micro-steps each, and leave behind the same one.
int Session::leaveEvaluation() {
  auto any = opened.ranks->maximum(stopWanted(stopUser) != 0);
  if (!any)
    return fail(any.error(), false);
  stopped = *any != 0;
  return stopped ? kLeaveStep : 0;
}

int Session::beginMicro(accum_ctx *context, uint32_t phase, uint32_t k, uint64_t *firstRow, uint32_t *valid) {
  double started = now();
  if (evaluating && stopWanted)
    if (int code = leaveEvaluation())
      return code;
  const std::vector<PhaseSpec> &phases = opened.artifact.manifest.phases;
  bool isLoop = phase < phases.size() && phases[phase].isLoop;
  uint32_t steps = isLoop ? stepsIn(phase) : 0;
  if (k >= steps)
    return fail({kExitInternal,
                 "the program asks for micro-step " + std::to_string(k) + " of " + std::to_string(steps) +
                     " in phase " + std::to_string(phase) + " of " + std::to_string(phases.size()),
                 "program"},
                false);
  ranges.beginMicro(phases[phase], k, steps);
  context->inputs = stagings[phases[phase].length].inputs();
  Status fed =
      timed({.kind = CallFacts::Feed}, [&] { return opened.device->feed(microStep(phase, k), fillInputs); });
  if (fed)
    fed = feeding->health();
  if (fed && phases[phase].addsGradients && numberOf(phase, k) == 0 && addsInPlace())
    fed = beginAdding();
  Share own = shareIn(phase);
  *firstRow = own.firstRow(k);
  *valid = uint32_t(own.valid(k));
  dataSeconds += now() - started;
  return check(fed, false);
}

/// Loops run over the same rows, one after the other.
std::optional<MicroStep> Session::microStepAfter(uint32_t phase, uint32_t k) const {
  if (k + 1 < stepsIn(phase))
    return microStep(phase, k + 1);
  auto next = opened.artifact.manifest.loopAfter(phase);
  while (next && stepsIn(*next) == 0)
    next = opened.artifact.manifest.loopAfter(*next);
  return next ? std::optional(microStep(*next, 0)) : std::nullopt;
}

int Session::endMicro(uint32_t phase, uint32_t k) {
  if (int code = check(opened.device->endMicro(microStepAfter(phase, k)), false))
    return code;
  ranges.leave();
  if (observer && part != Part::Trial && opened.artifact.manifest.phases[phase].addsGradients)
    observer(observerUser, observerHandle, part == Part::Update ? division->steps - 1 : numberOf(phase, k),
             division->steps);
  return 0;
}

/// With its time in the profile, where there is one.
template <typename Call> Status Session::timed(const CallFacts &facts, Call &&call) {
  if (!calls)
    return call();
  double started = now();
  Status status = call();
  calls->add(facts, started, now() - started);
  return status;
}

int Session::launch(uint32_t kernel, void *const *args) {
  CallFacts facts{.kind = CallFacts::Kernel, .kernel = kernel};
  return check(timed(facts, [&] { return opened.device->launch(kernel, args); }), true);
}

int Session::runGemm(const accum_gemm *call, float beta) {
  if (addsInPlace() && isGradient(call->c))
    beta = 1;
  return check(timed(factsOf(*call, beta), [&] { return opened.device->gemm(*call, beta); }), true);
}

int Session::attend(const accum_attention *call) {
  return check(timed(factsOf(*call), [&] { return opened.device->attention(*call); }), true);
}

int Session::zero(void *data, uint64_t bytes) {
  if (addsInPlace() && isGradient(data))
    return 0;
  CallFacts facts{.kind = CallFacts::Zero, .sizes = {int64_t(bytes)}};
  return check(timed(facts, [&] { return opened.device->zero(data, bytes); }), false);
}

int Session::copy(void *target, const void *source, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::Copy, .sizes = {int64_t(bytes)}};
  return check(timed(facts, [&] { return opened.device->copy(target, source, bytes); }), false);
}

int Session::startAllReduce(void *data, uint64_t n, int32_t dtype) {
  bool isOfStep = part == Part::Whole || part == Part::Trial;
  return !isOfStep ? 0 : check(opened.device->startAllReduce(data, n, DType(dtype)), false);
}

int Session::allReduce(void *data, uint64_t n, int32_t dtype) {
  if (isGradient(data) && part == Part::Gradients)
    return kLeaveStep;
  if (!isGradient(data) && part == Part::Update) // done by the calls before
    return 0;
  ranges.enter("sums over devices");
  CallFacts facts{.kind = CallFacts::AllReduce, .sizes = {int64_t(n * uint64_t(bytesOf(DType(dtype))))}};
  return check(timed(facts, [&] { return opened.device->allReduce(data, n, DType(dtype)); }), false);
}

int Session::reduceScatter(void *data, uint64_t n, int32_t dtype) {
  if (part == Part::Update) // done by the calls before
    return 0;
  ranges.enter("sums over devices");
  CallFacts facts{.kind = CallFacts::ReduceScatter, .sizes = {int64_t(n * uint64_t(bytesOf(DType(dtype))))}};
  return check(timed(facts, [&] { return opened.device->reduceScatter(data, n, DType(dtype)); }), false);
}

int Session::allGather(void *target, const void *source, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::AllGather, .sizes = {int64_t(bytes)}};
  return check(timed(facts, [&] { return opened.device->allGather(target, source, bytes); }), false);
}

int Session::startReduceScatter(void *data, uint64_t n, int32_t dtype) {
  return check(opened.device->startReduceScatter(data, n, DType(dtype)), false);
}

int Session::startAllGather(void *target, const void *source, uint64_t bytes) {
  return check(opened.device->startAllGather(target, source, bytes), false);
}

int Session::fetch(void *target, uint64_t offset, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::Fetch, .sizes = {int64_t(bytes)}};
  double started = now();
  Status status = timed(facts, [&] { return opened.device->fetch(target, offset, bytes); });
  offloadSeconds += now() - started;
  return check(status, false);
}

int Session::store(uint64_t offset, const void *source, uint64_t bytes) {
  CallFacts facts{.kind = CallFacts::Store, .sizes = {int64_t(bytes)}};
  double started = now();
  Status status = timed(facts, [&] { return opened.device->store(offset, source, bytes); });
  offloadSeconds += now() - started;
  return check(status, false);
}

int Session::startFetch(void *target, uint64_t offset, uint64_t bytes) {
  return check(opened.device->startFetch(target, offset, bytes), false);
}

int Session::startStore(uint64_t offset, const void *source, uint64_t bytes) {
  return check(opened.device->startStore(offset, source, bytes), false);
}

int Session::inspectGradients(const void *data, uint64_t n, int32_t dtype, bool isPart, bool last) {
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
  skipped = skipNan || part == Part::Trial;
  if (skipped)
    return kLeaveStep;
  unchanged = true;
  return fail(notFinite("the loss or a gradient is not finite"), false);
}

/// Leaves a spike out; scales gradients down to the norm that is asked for.
int Session::limitGradients() {
  if (hyper.skipSpikes > 0) {
    auto spike = guard.isSpike(hyper.skipSpikes);
    if (!spike)
      return fail(spike.error(), false);
    skipped = isSpike = *spike;
    if (skipped)
      return kLeaveStep;
  }
  if (hyper.clipNorm == 0)
    return 0;
  hyperValues[ACCUM_HYPER_GRAD_SCALE] = hyper.clipFactor(guard.norm());
  auto copied = opened.device->mirror(hyperValues, sizeof hyperValues);
  return check(copied ? Status() : copied.error(), false);
}

Status Session::startProfile() {
  if (!opened.device->isSynchronous())
    return Error{kExitUsage,
                 "the times of calls are not known: " + opened.device->name() + " is late with them",
                 "usage",
                 {"on a GPU set ACCUM_CUDA_STEPWISE=1, which waits for each call"}};
  calls.emplace();
  return {};
}

Status Session::saveProfile(const std::string &path) const {
  auto file = FileWriter::create(path);
  if (!file)
    return file.error();
  std::string text = calls ? calls->toJson(opened.device->kernelNames(), opened.ranks->rank()) : "";
  if (Status status = (*file)->write(text.data(), text.size()); !status)
    return status;
  return (*file)->commit(false);
}

} // namespace accum::runtime
