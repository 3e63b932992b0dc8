// SPDX-License-Identifier: Apache-2.0
// The driver's functions over Machine, with the checks that the real one makes and those that it only
// documents.
#include "test/runtime/cuda/fake/Entry.h"
#include <cstring>
#include <list>

using namespace accum::runtime::cuda;
using accum::fake::kCapturedEvent;
using accum::fake::kInvalidContext;
using accum::fake::kInvalidValue;
using accum::fake::Machine;
using accum::fake::machine;
using accum::fake::own;

namespace {

struct FakeFunction {
  std::string name;
  size_t parameters = 0;
};
struct FakeModule {
  std::string text;
  std::list<FakeFunction> functions = {};
};

Result enqueue(Stream stream, std::function<Result()> run) {
  return machine().enqueue(own(stream), {.run = std::move(run)});
}

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

} // extern "C"
