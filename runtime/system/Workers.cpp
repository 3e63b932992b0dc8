// SPDX-License-Identifier: Apache-2.0
// One number that idle workers wait for, and one that counts those inside.
#include "runtime/system/Workers.h"
#include "runtime/system/Fork.h"
#include "runtime/system/Futex.h"
#include "runtime/system/SignalStack.h"
#include <algorithm>
#include <system_error>

namespace accum::runtime {

void Workers::resize(int threads) {
  if (isOrphan())
    return;
  std::lock_guard lock(busy);
  if (threads == count)
    return;
  endWorkers();
  startWorkers(threads - 1);
  count = int(workers.size()) + 1;
}

void Workers::startWorkers(int wanted) {
  if (wanted > 0)
    expectThreads();
  workers.reserve(size_t(std::max(wanted, 0)));
  try {
    while (int(workers.size()) < wanted)
      workers.emplace_back([this, seen = ticket.load()] { work(seen); });
  } catch (const std::system_error &) { // the system's limit: fewer do it too
  }
}

void Workers::endWorkers() {
  ends = true;
  ++ticket;
  wake(ticket, int(workers.size()));
  for (std::thread &worker : workers)
    worker.join();
  workers.clear();
  ends = false;
}

/// The order of both sides matters: the worker says that it sleeps before it looks at the ticket for the last
/// time, the caller changes the ticket before it asks who sleeps.
void Workers::work(uint32_t seen) {
  needSignalStack();
  Patience own;
  while (!ends) {
    if (!own.spin([&] { return ticket.load(std::memory_order_acquire) != seen; })) {
      ++sleepers;
      while (ticket.load() == seen)
        sleepWhile(ticket, seen);
      --sleepers;
    }
    seen = ticket.load(std::memory_order_acquire);
    if (!enter())
      continue;
    present->run(present->data);
    leave();
  }
}

bool Workers::enter() {
  uint32_t state = gate.load(std::memory_order_relaxed);
  while (state & kOpen)
    if (gate.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  return false;
}

void Workers::leave() {
  if (gate.fetch_sub(1, std::memory_order_release) - 1 == kSleeps)
    wake(gate, 1);
}

void Workers::wakeFor(int64_t wanted) {
  int asleep = sleepers.load();
  int64_t awake = int64_t(workers.size()) - asleep;
  if (asleep > 0 && wanted > awake)
    wake(ticket, int(std::min<int64_t>(asleep, wanted - awake)));
}

void Workers::waitUntilLeft() {
  uint32_t state = gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  if (state == 0 || patience.spin([&] { return gate.load(std::memory_order_acquire) == 0; }))
    return;
  state = gate.fetch_or(kSleeps, std::memory_order_acq_rel) | kSleeps;
  for (; state != kSleeps; state = gate.load(std::memory_order_acquire))
    sleepWhile(gate, state);
}

bool Workers::run(const Job &job, int64_t most) {
  std::unique_lock lock(busy, std::try_to_lock);
  if (!lock || isOrphan())
    return false;
  if (most > 1 && !workers.empty()) {
    present = &job;
    gate.store(kOpen, std::memory_order_release);
    ++ticket;
    wakeFor(most - 1);
    job.run(job.data);
    waitUntilLeft();
  } else {
    job.run(job.data);
  }
  return true;
}

} // namespace accum::runtime
