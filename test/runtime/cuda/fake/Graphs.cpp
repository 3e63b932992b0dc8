// SPDX-License-Identifier: Apache-2.0
// Captures and graphs: what was put on streams, put there again.
#include "test/runtime/cuda/fake/Entry.h"
#include <algorithm>
#include <map>

using namespace accum::runtime::cuda;
using accum::fake::Capture;
using accum::fake::isCaptured;
using accum::fake::kInvalidatedCapture;
using accum::fake::kInvalidContext;
using accum::fake::kInvalidValue;
using accum::fake::Machine;
using accum::fake::machine;

namespace {

struct FakeGraph {
  Capture capture;
};

/// A graph with events and streams of its own; what was on the captured stream goes to the one it is launched
/// on.
struct FakeExec {
  Capture capture;
  std::map<const accum::fake::Event *, accum::fake::Event> events;
  std::map<const accum::fake::Stream *, accum::fake::Stream *> streams;

  accum::fake::Event *own(accum::fake::Event *event) { return event ? &events[event] : nullptr; }
  bool holdsSums() const {
    return std::any_of(capture.entries.begin(), capture.entries.end(),
                       [](const Capture::Entry &entry) { return entry.operation.isSum; });
  }
};

using accum::fake::own;
FakeGraph *own(Graph graph) { return reinterpret_cast<FakeGraph *>(graph); }
FakeExec *own(GraphExec exec) { return reinterpret_cast<FakeExec *>(exec); }

} // namespace

extern "C" {

Result cuStreamBeginCapture_v2(Stream stream, int) {
  ENTER();
  if (isCaptured(stream))
    return kInvalidValue;
  own(stream)->capture = new Capture{own(stream)};
  return 0;
}

Result cuStreamEndCapture(Stream stream, Graph *graph) {
  constexpr Result kUnjoined = 904; // CUDA_ERROR_STREAM_CAPTURE_UNJOINED
  *graph = nullptr;
  if (!isCaptured(stream) || own(stream)->capture->origin != own(stream))
    return kInvalidValue;
  auto *made = new FakeGraph{std::move(*own(stream)->capture)};
  delete own(stream)->capture;
  own(stream)->capture = nullptr;
  for (accum::fake::Stream *other : made->capture.others)
    other->capture = nullptr;
  for (const Capture::Entry &entry : made->capture.entries)
    if (entry.operation.records)
      entry.operation.records->capture = nullptr;
  Result code = machine().enter(__func__);
  code = code                       ? code
         : made->capture.isInvalid  ? kInvalidatedCapture
         : made->capture.isJoined() ? 0
                                    : kUnjoined;
  if (code)
    delete made;
  else
    *graph = reinterpret_cast<Graph>(made);
  return code;
}

Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long) {
  ENTER();
  auto *made = new FakeExec{own(graph)->capture, {}, {}};
  machine().graphsWithSums += made->holdsSums();
  for (accum::fake::Stream *other : made->capture.others)
    made->streams[other] = machine().createStream();
  for (Capture::Entry &entry : made->capture.entries) {
    entry.operation.waits = made->own(entry.operation.waits);
    entry.operation.records = made->own(entry.operation.records);
  }
  *exec = reinterpret_cast<GraphExec>(made);
  return 0;
}

Result cuGraphLaunch(GraphExec exec, Stream stream) {
  ENTER();
  for (const Capture::Entry &entry : own(exec)->capture.entries) {
    accum::fake::Operation operation = entry.operation;
    if (operation.waits)
      operation.times = operation.waits->recorded;
    bool isOrigin = entry.stream == own(exec)->capture.origin;
    if (Result code = machine().enqueue(isOrigin ? own(stream) : own(exec)->streams[entry.stream], operation))
      return code;
  }
  return 0;
}

Result cuGraphDestroy(Graph graph) {
  delete own(graph);
  return machine().enter(__func__);
}

Result cuGraphExecDestroy(GraphExec exec) {
  machine().graphsWithSums -= own(exec)->holdsSums();
  for (const auto &[captured, lane] : own(exec)->streams)
    machine().destroyStream(lane);
  for (auto &[captured, event] : own(exec)->events)
    machine().runUntil([&] { return !machine().isPending(&event); });
  delete own(exec);
  return machine().enter(__func__);
}

} // extern "C"
