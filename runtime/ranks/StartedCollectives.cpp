// SPDX-License-Identifier: Apache-2.0
// A queue and the thread that works it off.
#include "runtime/ranks/StartedCollectives.h"
#include "runtime/system/QuietThread.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {

static constexpr size_t kMostWaiting = 64; // of a few units

StartedCollectives::StartedCollectives(const accum_collectives_v1 &table, int rank)
    : table(table), rank(rank) {
  waiting.reserve(kMostWaiting);
  begun.reserve(kMostWaiting);
  worker = startQuietThread([this] { work(); });
}

StartedCollectives::~StartedCollectives() {
  settle();
  {
    std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_all();
  worker.join();
}

Status StartedCollectives::make(const Call &call) const {
  int code;
  if (call.from) {
    uint8_t *own = call.data + uint64_t(rank) * call.n;
    if (own != call.from)
      std::memcpy(own, call.from, call.n);
    code = table.all_gather(call.data, call.n, call.watchdog);
  } else {
    code = table.reduce_scatter(call.data, call.n, call.dtype, call.watchdog);
  }
  if (code == 0)
    return {};
  return Error{kExitRunFailed, table.error_text(), "rank-stalled"};
}

void StartedCollectives::work() {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ends || !waiting.empty(); });
    if (ends)
      return;
    if (outcome) {
      Call next = waiting.front();
      lock.unlock();
      Status status = make(next);
      lock.lock();
      outcome = status;
    }
    waiting.erase(waiting.begin());
    changed.notify_all();
  }
}

void StartedCollectives::start(const Call &call) {
  {
    std::lock_guard lock(mutex);
    waiting.push_back(call);
    begun.push_back(call.data);
  }
  changed.notify_all();
}

bool StartedCollectives::isStarted(const void *data) const {
  std::lock_guard lock(mutex);
  return std::find(begun.begin(), begun.end(), data) != begun.end();
}

Status StartedCollectives::end(const void *data) {
  std::unique_lock lock(mutex);
  std::erase(begun, data);
  changed.wait(lock, [&] {
    return std::none_of(waiting.begin(), waiting.end(), [&](const Call &call) { return call.data == data; });
  });
  return outcome;
}

void StartedCollectives::settle() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return waiting.empty(); });
}

void StartedCollectives::forget() {
  settle();
  begun.clear();
}

} // namespace accum::runtime
