// SPDX-License-Identifier: Apache-2.0
// The modes of a segment, one function each. A replayed micro-step allocates nothing.
#include "runtime/cuda/GraphReplay.h"
#include <algorithm>
#include <cstdlib>

namespace accum::runtime::cuda {
namespace {

constexpr uint32_t kOutside = 1u << 31; ///< the phase of calls outside micro-steps; + 1 in an evaluation
// A segment that departs from its capture this often is not one that repeats.
constexpr int kDepartures = 3;

size_t wordsOf(const uint64_t *call) { return 2 + call[1]; }

bool wantsStepwise() {
  const char *text = std::getenv("ACCUM_CUDA_STEPWISE");
  return text && *text && *text != '0';
}

} // namespace

GraphReplay::GraphReplay(ComputeStream &compute, Run run)
    : compute(compute), run(std::move(run)), stepwise(wantsStepwise()) {}

GraphReplay::~GraphReplay() { clear(); }

void GraphReplay::clear() {
  if (mode == Mode::Capturing)
    endCapture();
  for (auto &[key, segment] : segments)
    drop(segment);
}

void GraphReplay::endCapture() {
  Graph graph = nullptr;
  compute.driver.api.cuStreamEndCapture(compute.stream, &graph);
  if (graph)
    compute.driver.api.cuGraphDestroy(graph);
  mode = Mode::Idle;
}

void GraphReplay::drop(Segment &segment) {
  if (segment.exec)
    compute.driver.api.cuGraphExecDestroy(segment.exec);
  segment.exec = nullptr;
}

void GraphReplay::startStep(bool isEvaluation) {
  if (mode == Mode::Capturing) // the step before was left in the middle
    endCapture();
  mode = Mode::Idle;
  evaluates = isEvaluation;
  outside = 0;
  enter(std::nullopt);
}

void GraphReplay::enter(std::optional<MicroStep> step) {
  if (step)
    key = {step->phase, step->isFirst, step->isLast, 0};
  else
    key = {kOutside + evaluates, 0, 0, outside};
}

Status GraphReplay::begin() {
  current = &segments[key];
  cursor = 0;
  recording.clear();
  if (!current->seen || stepwise)
    mode = Mode::Stepwise;
  else if (refused || current->departures >= kDepartures)
    mode = Mode::Direct;
  else if (current->exec)
    mode = Mode::Comparing;
  else {
    CUDA_TRY(compute.driver, cuStreamBeginCapture_v2, compute.stream, kCaptureThreadLocal);
    mode = Mode::Capturing;
  }
  return {};
}

Status GraphReplay::add(const uint64_t *call) {
  if (mode == Mode::Idle)
    if (Status status = begin(); !status)
      return status;
  switch (mode) {
  case Mode::Stepwise:
    return runStepwise(call);
  case Mode::Capturing:
    return capture(call);
  case Mode::Comparing:
    return compare(call);
  default:
    return run(call);
  }
}

Status GraphReplay::runStepwise(const uint64_t *call) {
  Status status = run(call);
  return status ? compute.wait() : status;
}

Status GraphReplay::capture(const uint64_t *call) {
  recording.insert(recording.end(), call, call + wordsOf(call));
  Status status = run(call);
  return status ? status : giveUpCapture(status.error().message);
}

Status GraphReplay::compare(const uint64_t *call) {
  const std::vector<uint64_t> &known = current->calls;
  size_t words = wordsOf(call);
  if (cursor + words <= known.size() && std::equal(call, call + words, known.begin() + cursor)) {
    cursor += words;
    return {};
  }
  mode = Mode::Direct;
  ++current->departures;
  Status status = runAll(known, cursor);
  drop(*current);
  return status ? run(call) : status;
}

Status GraphReplay::runAll(const std::vector<uint64_t> &calls, size_t end) {
  for (size_t at = 0; at < end; at += wordsOf(calls.data() + at))
    if (Status status = run(calls.data() + at); !status)
      return status;
  return {};
}

/// Nothing that was captured has run yet.
Status GraphReplay::giveUpCapture(const std::string &why) {
  endCapture();
  refused = "micro-steps run call by call, not as CUDA graphs: " + why;
  mode = Mode::Direct;
  return runAll(recording, recording.size());
}

Status GraphReplay::finishCapture() {
  Graph graph = nullptr;
  if (Status status = compute.driver.check(compute.driver.api.cuStreamEndCapture(compute.stream, &graph),
                                           "cuStreamEndCapture");
      !status || !graph)
    return giveUpCapture(status ? "the capture is empty" : status.error().message);
  GraphExec exec = nullptr;
  Status made = compute.driver.check(compute.driver.api.cuGraphInstantiateWithFlags(&exec, graph, 0),
                                     "cuGraphInstantiateWithFlags");
  compute.driver.api.cuGraphDestroy(graph);
  if (!made) {
    refused = "micro-steps run call by call, not as CUDA graphs: " + made.error().message;
    return runAll(recording, recording.size());
  }
  ++tally.captured;
  current->exec = exec;
  current->calls = recording;
  cursor = current->calls.size();
  return {};
}

Status GraphReplay::flush() {
  Mode was = mode;
  mode = Mode::Idle;
  if (was == Mode::Idle)
    return {};
  outside += key[0] >= kOutside;
  ++key[3];
  current->seen = true;
  if (was == Mode::Capturing) {
    Status status = finishCapture();
    mode = Mode::Idle;
    if (!status)
      return status;
  }
  if (was == Mode::Comparing && cursor < current->calls.size()) { // fewer calls than captured
    ++current->departures;
    Status status = runAll(current->calls, cursor);
    drop(*current);
    return status;
  }
  bool starts = (was == Mode::Capturing || was == Mode::Comparing) && current->exec;
  if (!starts)
    return {};
  ++tally.started;
  CUDA_TRY(compute.driver, cuGraphLaunch, current->exec, compute.stream);
  return {};
}

} // namespace accum::runtime::cuda
