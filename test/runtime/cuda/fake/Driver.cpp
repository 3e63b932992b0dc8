// SPDX-License-Identifier: Apache-2.0
// The driver's functions over Machine, with the checks that the real one makes and those that it only
// documents.
#include "test/runtime/cuda/fake/Machine.h"
#include <algorithm>
#include <cstring>
#include <list>
#include <map>

using namespace accum::runtime::cuda;
using accum::fake::Machine;

namespace {

struct FakeFunction {
  std::string name;
  size_t parameters = 0;
};
struct FakeModule {
  std::string text;
  std::list<FakeFunction> functions = {};
};
using accum::fake::Capture;

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

Machine &machine() { return Machine::get(); }
accum::fake::Stream *own(Stream stream) { return reinterpret_cast<accum::fake::Stream *>(stream); }
accum::fake::Event *own(Event event) { return reinterpret_cast<accum::fake::Event *>(event); }
FakeGraph *own(Graph graph) { return reinterpret_cast<FakeGraph *>(graph); }
FakeExec *own(GraphExec exec) { return reinterpret_cast<FakeExec *>(exec); }

constexpr Result kInvalidValue = 1, kInvalidContext = 201, kInvalidatedCapture = 901, kCapturedEvent = 907;

/// What the driver does on entry: an injected or lasting failure, and without a context nothing.
#define ENTER()                                                                                              \
  do {                                                                                                       \
    if (Result code = machine().enter(__func__))                                                             \
      return code;                                                                                           \
    if (!Machine::hasContext)                                                                                \
      return kInvalidContext;                                                                                \
  } while (false)

/// For calls that may wait or allocate.
#define ENTER_OUTSIDE_CAPTURES()                                                                             \
  do {                                                                                                       \
    ENTER();                                                                                                 \
    if (Result code = machine().refuseInCapture())                                                           \
      return code;                                                                                           \
  } while (false)

Result enqueue(Stream stream, std::function<Result()> run) {
  return machine().enqueue(own(stream), {.run = std::move(run)});
}

/// Waiting in the middle of a capture breaks it.
bool anyCapture(Stream stream) { return own(stream)->capture != nullptr; }

} // namespace

extern "C" {

Result cuInit(unsigned) {
  return machine().enter(__func__) ?: (machine().property("count", 1) > 0 ? 0 : kNoDevice);
}

Result cuDriverGetVersion(int *version) {
  *version = int(machine().property("version", 13000));
  return machine().enter(__func__);
}

Result cuGetErrorName(Result code, const char **text) {
  *text = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE";
  return 0;
}

Result cuGetErrorString(Result code, const char **text) {
  static thread_local std::string words;
  words = "code " + std::to_string(code);
  *text = words.c_str();
  return 0;
}

Result cuDeviceGetCount(int *count) {
  *count = int(machine().property("count", 1));
  return machine().enter(__func__);
}

Result cuDeviceGet(DeviceNumber *device, int ordinal) {
  *device = ordinal;
  return machine().enter(__func__) ?: (ordinal < machine().property("count", 1) ? 0 : 101);
}

Result cuDeviceGetName(char *name, int bytes, DeviceNumber) {
  std::strncpy(name, "Fake GPU", size_t(bytes));
  return machine().enter(__func__);
}

Result cuDeviceGetAttribute(int *value, int attribute, DeviceNumber) {
  *value = int(attribute == kComputeCapabilityMajor ? machine().property("major", 9)
                                                    : machine().property("minor", 0));
  return machine().enter(__func__);
}

Result cuDevicePrimaryCtxRetain(Context *context, DeviceNumber) {
  *context = reinterpret_cast<Context>(uintptr_t(16));
  return machine().enter(__func__);
}

Result cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  Machine::hasContext = false;
  return machine().enter(__func__);
}

Result cuCtxSetCurrent(Context context) {
  Machine::hasContext = context != nullptr;
  return machine().enter(__func__);
}

Result cuModuleLoadDataEx(Module *module, const void *image, unsigned count, int *options, void **values) {
  ENTER_OUTSIDE_CAPTURES();
  std::string text = static_cast<const char *>(image);
  if (text.starts_with("\x7f"
                       "ELF")) // as an older driver than its ptxas
    return kNoBinaryForGpu;
  if (text.find(".entry") == std::string::npos) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == kJitErrorLogBuffer)
        std::strcpy(static_cast<char *>(values[i]), "ptxas: line 1: no entry\n");
    return kInvalidPtx;
  }
  *module = reinterpret_cast<Module>(new FakeModule{text});
  return 0;
}

Result cuModuleUnload(Module module) {
  delete reinterpret_cast<FakeModule *>(module);
  return machine().enter(__func__);
}

Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  ENTER();
  auto &[text, functions] = *reinterpret_cast<FakeModule *>(module);
  size_t at = text.find(".entry " + std::string(name) + "(");
  if (at == std::string::npos)
    return kNotFound;
  FakeFunction &made = functions.emplace_back(name);
  for (size_t end = text.find(')', at); (at = text.find(".param", at + 1)) < end;)
    ++made.parameters;
  *function = reinterpret_cast<Function>(&made);
  return 0;
}

Result cuFuncSetAttribute(Function, int, int) {
  ENTER();
  return 0;
}

Result cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                      unsigned blockY, unsigned blockZ, unsigned, Stream stream, void **parameters, void **) {
  ENTER();
  const auto *kernel = reinterpret_cast<FakeFunction *>(function);
  if (blockX * blockY * blockZ == 0 || blockX * blockY * blockZ > 1024 || gridX * gridY * gridZ == 0)
    return kInvalidValue;
  std::vector<uint64_t> values; // taken now: the caller's array may go
  for (size_t i = 0; i < kernel->parameters; ++i)
    values.push_back(*static_cast<uint64_t *>(parameters[i]));
  return enqueue(stream, [=, name = kernel->name]() mutable {
    std::vector<void *> pointers;
    for (uint64_t &value : values)
      pointers.push_back(&value);
    const unsigned grid[] = {gridX, gridY, gridZ}, block[] = {blockX, blockY, blockZ};
    return machine().runKernel(name, grid, block, pointers.data());
  });
}

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER_OUTSIDE_CAPTURES();
  *free = machine().free();
  *total = machine().total();
  return 0;
}

Result cuMemAlloc_v2(Address *at, size_t bytes) {
  ENTER_OUTSIDE_CAPTURES();
  uint64_t made = 0;
  Result code = machine().allocate(bytes, made);
  *at = made;
  return code;
}

Result cuMemFree_v2(Address at) { return machine().enter(__func__) ?: machine().release(at); }

Result cuMemAllocHost_v2(void **at, size_t bytes) {
  ENTER_OUTSIDE_CAPTURES();
  return machine().allocatePinned(bytes, *at);
}

Result cuMemFreeHost(void *at) { return machine().enter(__func__) ?: machine().releasePinned(at); }

Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream stream) {
  ENTER();
  if (!machine().isDevice(to, bytes) || !machine().isPinned(from, bytes))
    return kInvalidValue; // from pageable memory the real one works, and waits: not wanted here
  return enqueue(stream, [=] {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return 0;
  });
}

Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream stream) {
  ENTER();
  if (!machine().isDevice(from, bytes) || !machine().isPinned(to, bytes))
    return kInvalidValue;
  return enqueue(stream, [=] {
    std::memcpy(to, reinterpret_cast<const void *>(from), bytes);
    return 0;
  });
}

Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  ENTER();
  if (!machine().isDevice(to, bytes) || !machine().isDevice(from, bytes))
    return kInvalidValue;
  return enqueue(stream, [=] {
    std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    return 0;
  });
}

Result cuMemsetD8Async(Address at, unsigned char value, size_t bytes, Stream stream) {
  ENTER();
  if (!machine().isDevice(at, bytes))
    return kInvalidValue;
  return enqueue(stream, [=] {
    std::memset(reinterpret_cast<void *>(at), value, bytes);
    return 0;
  });
}

Result cuStreamCreate(Stream *stream, unsigned) {
  ENTER();
  *stream = reinterpret_cast<Stream>(machine().createStream());
  return 0;
}

Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER();
  *least = 0;
  *greatest = -5;
  return 0;
}

Result cuStreamCreateWithPriority(Stream *stream, unsigned, int priority) {
  ENTER();
  if (priority > 0 || priority < -5)
    return kInvalidValue;
  *stream = reinterpret_cast<Stream>(machine().createStream());
  return 0;
}

Result cuStreamDestroy_v2(Stream stream) {
  machine().destroyStream(own(stream));
  return machine().enter(__func__);
}

Result cuStreamSynchronize(Stream stream) {
  ENTER_OUTSIDE_CAPTURES();
  bool done = machine().runUntil([&] { return own(stream)->operations.empty(); });
  return done ? machine().broken : kLaunchFailed;
}

Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  ENTER();
  return machine().enqueue(own(stream), {.waits = own(event), .times = own(event)->recorded});
}

Result cuEventCreate(Event *event, unsigned) {
  ENTER();
  *event = reinterpret_cast<Event>(new accum::fake::Event);
  return 0;
}

Result cuEventDestroy_v2(Event event) {
  machine().runUntil([&] { return own(event)->happened >= own(event)->recorded; });
  delete own(event);
  return machine().enter(__func__);
}

Result cuEventRecord(Event event, Stream stream) {
  ENTER();
  return machine().enqueue(own(stream), {.records = own(event)});
}

Result cuEventQuery(Event event) {
  ENTER_OUTSIDE_CAPTURES();
  if (own(event)->wasCaptured)
    return kCapturedEvent;
  if (own(event)->happened >= own(event)->recorded)
    return machine().broken;
  machine().runOne();
  return machine().broken ? machine().broken : kNotReady;
}

Result cuEventSynchronize(Event event) {
  ENTER_OUTSIDE_CAPTURES();
  if (own(event)->wasCaptured)
    return kCapturedEvent;
  bool done = machine().runUntil([&] { return own(event)->happened >= own(event)->recorded; });
  return done ? machine().broken : kLaunchFailed;
}

Result cuStreamBeginCapture_v2(Stream stream, int) {
  ENTER();
  if (anyCapture(stream))
    return kInvalidValue;
  own(stream)->capture = new Capture{own(stream)};
  return 0;
}

Result cuStreamEndCapture(Stream stream, Graph *graph) {
  constexpr Result kUnjoined = 904; // CUDA_ERROR_STREAM_CAPTURE_UNJOINED
  *graph = nullptr;
  if (!anyCapture(stream) || own(stream)->capture->origin != own(stream))
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
