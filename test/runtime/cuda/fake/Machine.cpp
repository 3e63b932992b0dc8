// SPDX-License-Identifier: Apache-2.0
// Scheduling, memory and injected failures.
#include "test/runtime/cuda/fake/Machine.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace accum::fake {
namespace {

constexpr uint64_t kPage = 4096;

/// "a=1,b@2=3": body(name, n, value) of each; n is 1 where it is not given.
template <typename Body> void forEachSetting(const char *variable, Body body) {
  const char *text = std::getenv(variable);
  std::string rest = text ? text : "";
  while (!rest.empty()) {
    std::string entry = rest.substr(0, rest.find(','));
    rest = entry.size() < rest.size() ? rest.substr(entry.size() + 1) : "";
    size_t equals = entry.find('='), at = entry.find('@');
    if (equals == std::string::npos)
      continue;
    long n = at < equals ? std::atol(entry.c_str() + at + 1) : 1;
    body(entry.substr(0, std::min(at, equals)), n, std::atol(entry.c_str() + equals + 1));
  }
}

} // namespace

Machine &Machine::get() {
  static Machine machine;
  return machine;
}

Machine::Machine() {
  forEachSetting("FAKE_CUDA", [&](const std::string &name, long, long value) { properties[name] = value; });
  forEachSetting("FAKE_CUDA_FAIL",
                 [&](const std::string &name, long n, long code) { failures[name] = {n, code}; });
  const char *seed = std::getenv("FAKE_CUDA_SEED");
  random = seed ? std::strtoull(seed, nullptr, 10) : 1;
  if (const char *path = std::getenv("FAKE_CUDA_KERNELS")) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      std::fprintf(stderr, "fake: %s\n", dlerror());
    kernels = handle ? reinterpret_cast<decltype(kernels)>(dlsym(handle, "fake_kernel")) : nullptr;
  }
}

Machine::~Machine() {
  const char *path = std::getenv("FAKE_CUDA_LOG");
  std::FILE *file = path ? std::fopen(path, "a") : nullptr;
  if (!file)
    return;
  for (const auto &[name, count] : calls)
    std::fprintf(file, "%s %ld\n", name.c_str(), count);
  std::fprintf(file, "left %zu\n", device.size() + pinned.size() + streams.size());
  std::fclose(file);
}

Result Machine::enter(const char *name) {
  std::lock_guard lock(counting);
  long count = ++calls[name];
  auto found = failures.find(name);
  if (found == failures.end() || count < found->second.from)
    return broken;
  if (found->second.code < 0)
    std::raise(int(-found->second.code));
  return Result(found->second.code);
}

thread_local bool Machine::hasContext = false;

void Machine::giveUp(int code, const char *why) {
  std::fprintf(stderr, "fake: %s\n", why);
  _exit(code);
}

long Machine::property(const std::string &name, long otherwise) const {
  auto found = properties.find(name);
  return found == properties.end() ? otherwise : found->second;
}

uint64_t Machine::total() const { return uint64_t(property("total", 1 << 30)); }

uint64_t Machine::free() const {
  uint64_t used = uint64_t(property("used", 1 << 20));
  for (const auto &[at, bytes] : device)
    used += bytes;
  return total() - std::min(total(), used);
}

bool Machine::isWithin(const std::map<uint64_t, uint64_t> &ranges, uint64_t at, uint64_t bytes) {
  auto after = ranges.upper_bound(at);
  if (after == ranges.begin())
    return false;
  const auto &[start, length] = *std::prev(after);
  return at + bytes <= start + length;
}

Result Machine::allocate(uint64_t bytes, uint64_t &at) {
  if (bytes == 0)
    return 1;
  if (bytes > free())
    return runtime::cuda::kOutOfMemory;
  uint64_t pages = (bytes + kPage - 1) / kPage * kPage;
  void *memory = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return runtime::cuda::kOutOfMemory;
  // What nobody wrote is not a plausible number.
  std::fill_n(static_cast<uint8_t *>(memory), pages, uint8_t(0xff));
  mprotect(memory, pages, PROT_NONE);
  at = uint64_t(memory);
  device[at] = pages;
  return 0;
}

Result Machine::release(uint64_t at) {
  auto found = device.find(at);
  if (found == device.end())
    return 1;
  if (communicators)
    giveUp(98, "memory is freed that NCCL may have registered");
  keep(at);
  munmap(reinterpret_cast<void *>(at), found->second);
  device.erase(found);
  return 0;
}

/// What the ranks must agree on.
void Machine::keep(uint64_t at) const {
  const char *setting = std::getenv("FAKE_CUDA_KEEP");
  std::string path = setting ? setting : "";
  size_t colon = path.rfind(':');
  std::FILE *file = colon < path.size() ? std::fopen(path.substr(0, colon).c_str(), "wb") : nullptr;
  if (!file)
    return;
  size_t bytes = std::strtoull(path.c_str() + colon + 1, nullptr, 10);
  mprotect(reinterpret_cast<void *>(at), bytes, PROT_READ);
  std::fwrite(reinterpret_cast<const void *>(at), 1, bytes, file);
  std::fclose(file);
}

Result Machine::allocatePinned(uint64_t bytes, void *&at) {
  if (bytes == 0)
    return 1;
  at = std::malloc(bytes);
  std::fill_n(static_cast<uint8_t *>(at), bytes, uint8_t(0xff));
  pinned[uint64_t(at)] = bytes;
  return 0;
}

Result Machine::releasePinned(void *at) {
  if (pinned.erase(uint64_t(at)) == 0)
    return 1;
  std::free(at);
  return 0;
}

void Machine::protect(int rights) {
  for (const auto &[at, bytes] : device)
    mprotect(reinterpret_cast<void *>(at), bytes, rights);
}

Stream *Machine::createStream() {
  streams.push_back(new Stream);
  return streams.back();
}

void Machine::destroyStream(Stream *stream) {
  runUntil([&] { return stream->operations.empty(); });
  streams.erase(std::find(streams.begin(), streams.end(), stream));
  delete stream;
}

Result Machine::enqueue(Stream *stream, Operation operation) {
  if (std::find(streams.begin(), streams.end(), stream) == streams.end())
    return 400;                          // CUDA_ERROR_INVALID_HANDLE
  constexpr Result kIsolation = 905;     // CUDA_ERROR_STREAM_CAPTURE_ISOLATION
  constexpr Result kCapturedEvent = 907; // CUDA_ERROR_CAPTURED_EVENT
  Capture *from = operation.waits ? operation.waits->capture : nullptr;
  if (from && !stream->capture) { // the capture goes on over here
    stream->capture = from;
    from->others.push_back(stream);
  }
  if (operation.waits && from != stream->capture)
    return kIsolation;
  if (operation.waits && !from && operation.waits->wasCaptured)
    return kCapturedEvent;
  if (operation.records) {
    operation.records->capture = stream->capture;
    operation.records->wasCaptured = stream->capture != nullptr;
  }
  if (stream->capture) {
    stream->capture->entries.push_back({stream, std::move(operation)});
    return 0;
  }
  if (operation.records)
    operation.times = ++operation.records->recorded;
  stream->operations.push_back(std::move(operation));
  return 0;
}

Result Machine::refuseInCapture() {
  Result code = 0;
  for (Stream *stream : streams)
    if (stream->capture) {
      stream->capture->isInvalid = true;
      code = 900; // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    }
  return code;
}

bool Machine::isPending(const Event *event) const {
  return std::any_of(streams.begin(), streams.end(), [&](const Stream *stream) {
    return std::any_of(stream->operations.begin(), stream->operations.end(), [&](const Operation &operation) {
      return operation.waits == event || operation.records == event;
    });
  });
}

bool Capture::isJoined() const {
  return std::all_of(others.begin(), others.end(), [&](const Stream *other) {
    auto last = std::find_if(entries.rbegin(), entries.rend(),
                             [&](const Entry &entry) { return entry.stream == other; });
    return last != entries.rend() && last->operation.records &&
           std::any_of(entries.rbegin(), last, [&](const Entry &entry) {
             return entry.stream == origin && entry.operation.waits == last->operation.records;
           });
  });
}

bool Machine::runOne() {
  std::vector<Stream *> ready;
  for (Stream *stream : streams)
    if (!stream->operations.empty()) {
      const Operation &head = stream->operations.front();
      if (head.waits ? head.waits->happened >= head.times : !head.ready || head.ready())
        ready.push_back(stream);
    }
  if (ready.empty())
    return false;
  random = random * 6364136223846793005u + 1442695040888963407u;
  Stream *chosen = ready[(random >> 33) % ready.size()];
  Operation operation = std::move(chosen->operations.front());
  chosen->operations.pop_front();
  if (operation.run && broken == 0) {
    protect(PROT_READ | PROT_WRITE);
    Result code = operation.run();
    protect(PROT_NONE);
    if (code != 0)
      broken = code;
  }
  if (operation.records)
    operation.records->happened = std::max(operation.records->happened, operation.times);
  return true;
}

bool Machine::runUntil(const std::function<bool()> &condition) {
  auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(kPatience);
  while (!condition()) {
    if (runOne())
      continue;
    bool others = std::any_of(streams.begin(), streams.end(), [](const Stream *stream) {
      return !stream->operations.empty() && stream->operations.front().ready;
    });
    if (!others)
      return false;
    if (std::chrono::steady_clock::now() > limit)
      giveUp(99, "hung: waits for a rank that does not come");
    usleep(20); // whoever yields a busy processor in place of sleeping waits for its next turn there
  }
  return true;
}

Result Machine::runKernel(const std::string &name, const unsigned *grid, const unsigned *block,
                          void **parameters) {
  auto found = failures.find("run:" + name);
  if (found != failures.end() && ++calls["run:" + name] >= found->second.from) {
    if (found->second.code < 0)
      std::raise(int(-found->second.code));
    return Result(found->second.code);
  }
  return kernels && kernels(name.c_str(), grid, block, parameters) == 0 ? 0 : 500;
}

} // namespace accum::fake
