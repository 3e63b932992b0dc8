// SPDX-License-Identifier: Apache-2.0
// One sample at a time: a newer range is taken up at once.
#include "runtime/data/ReadAhead.h"
#include "runtime/system/QuietThread.h"

namespace accum::runtime {
namespace {

constexpr size_t kBuffer = 64 << 10;

} // namespace

ReadAhead::~ReadAhead() {
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_one();
  if (thread.joinable())
    thread.join();
}

void ReadAhead::start(const Window &window, int64_t begin, int64_t end) {
  {
    std::lock_guard lock(mutex);
    range = {window, begin, end};
  }
  changed.notify_one();
  if (!thread.joinable())
    thread = startQuietThread([this] { run(); });
}

/// The sample that comes next, once there is one; nothing at the end.
std::optional<uint64_t> ReadAhead::next(std::unique_lock<std::mutex> &lock) {
  changed.wait(lock, [&] { return ends || range.begin < range.end; });
  if (ends)
    return std::nullopt;
  return order.at(range.window.epoch, range.window.start + uint64_t(range.begin++));
}

void ReadAhead::run() {
  std::vector<uint8_t> buffer(kBuffer);
  std::unique_lock lock(mutex);
  while (auto sample = next(lock)) {
    lock.unlock();
    data.touch(*sample, buffer);
    lock.lock();
  }
}

} // namespace accum::runtime
