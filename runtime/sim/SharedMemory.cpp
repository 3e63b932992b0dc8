// SPDX-License-Identifier: Apache-2.0
// Races: two threads on one byte between two barriers, one of them writing.
#include "runtime/sim/SharedMemory.h"

namespace accum::runtime::sim {

void SharedMemory::reset(uint32_t size) {
  bytes.assign(size, 0);
  touches.assign(size, Touch());
  epoch = 1;
}

bool SharedMemory::inside(const void *address, uint64_t size, uint64_t &at) const {
  at = static_cast<uint64_t>(static_cast<const uint8_t *>(address) - bytes.data());
  return at <= bytes.size() && size <= bytes.size() - at;
}

SharedMemory::Finding SharedMemory::read(const void *address, uint64_t size, uint32_t thread) {
  uint64_t at = 0;
  if (!inside(address, size, at))
    return Finding::Outside;
  for (uint64_t i = at; i < at + size; ++i) {
    Touch &touch = touches[i];
    rival = touch.writer;
    if (touch.pending)
      return Finding::Pending;
    if (touch.writeEpoch == 0)
      return Finding::Unwritten;
    if (touch.writeEpoch == epoch && touch.writer != thread)
      return Finding::Race;
    bool first = touch.readEpoch != epoch;
    touch.reader = first || touch.reader == thread ? thread : kMany;
    touch.readEpoch = epoch;
  }
  return Finding::None;
}

SharedMemory::Finding SharedMemory::write(const void *address, uint64_t size, uint32_t thread) {
  uint64_t at = 0;
  if (!inside(address, size, at))
    return Finding::Outside;
  for (uint64_t i = at; i < at + size; ++i) {
    Touch &touch = touches[i];
    bool afterWrite = touch.writeEpoch == epoch && touch.writer != thread;
    bool afterRead = touch.readEpoch == epoch && touch.reader != thread;
    rival = afterWrite || touch.pending ? touch.writer : touch.reader;
    if (touch.pending)
      return Finding::Pending;
    if (afterWrite || afterRead)
      return Finding::Race;
    touch.writer = thread;
    touch.writeEpoch = epoch;
  }
  return Finding::None;
}

SharedMemory::Finding SharedMemory::expect(const void *address, uint64_t size, uint32_t thread) {
  Finding finding = write(address, size, thread);
  uint64_t at = 0;
  if (finding == Finding::None && inside(address, size, at))
    for (uint64_t i = at; i < at + size; ++i)
      touches[i].pending = true;
  return finding;
}

/// Written in this epoch, too: who reads it needs a barrier behind the end of the copy.
void SharedMemory::land(const void *address, uint64_t size, uint32_t thread) {
  uint64_t at = 0;
  if (inside(address, size, at))
    for (uint64_t i = at; i < at + size; ++i)
      touches[i] = {epoch, thread, touches[i].readEpoch, touches[i].reader, false};
}

} // namespace accum::runtime::sim
