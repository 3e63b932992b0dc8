// SPDX-License-Identifier: Apache-2.0
// Warps run until their threads meet; shuffles and matrix instructions are done for a warp, barriers for a
// block. When nobody can go on and not all have ended, somebody waits for a thread that will not come.
#include "runtime/sim/Block.h"
#include "runtime/sim/WarpMatrix.h"
#include <cmath>
#include <cstring>
#include <limits>

namespace accum::runtime::sim {
namespace {

thread_local Block *current = nullptr;

float exp2(float power) {
  float value = std::exp2(power);
  return value < std::numeric_limits<float>::min() ? 0 : value;
}

} // namespace

const accum_sim_hooks *Block::hooks() {
  static const accum_sim_hooks table = {special,  load,   store,     shared,    barrier,
                                        exchange, matrix, sim::exp2, startCopy, finishCopies};
  return &table;
}

uint32_t Block::special(uint32_t which) {
  return which == ACCUM_SIM_THREAD ? current->running->number : current->number;
}

void Block::load(const void *address, uint64_t bytes, uint32_t operand, uint32_t alignment) {
  current->access(address, bytes, operand, alignment, false);
}

void Block::store(void *address, uint64_t bytes, uint32_t operand, uint32_t alignment) {
  current->access(address, bytes, operand, alignment, true);
}

uint8_t *Block::shared() { return current->sharedMemory.data(); }

void Block::barrier(uint32_t site) {
  Thread &self = *current->running;
  self.state = State::AtBarrier;
  self.site = site;
  self.fiber.yield();
}

uint32_t Block::exchange(uint32_t mask, uint32_t value, uint32_t distance, uint32_t site) {
  Thread &self = *current->running;
  self.state = State::AtShuffle;
  self.site = site;
  self.mask = mask;
  self.value = value;
  self.distance = distance;
  self.fiber.yield();
  return self.value;
}

void Block::matrix(uint32_t kind, uint32_t *words, uint32_t site) {
  Thread &self = *current->running;
  self.state = State::AtMatrix;
  self.site = site;
  self.mask = UINT32_MAX;
  self.kind = kind;
  self.words = words;
  self.fiber.yield();
}

void Block::enter(void *argument) {
  auto *self = static_cast<Thread *>(argument);
  self->block->launch->kernel.thread(self->block->launch->args);
  self->state = State::Ended;
}

void Block::fail(Violation violation, const Thread &thread) {
  violation.block = number;
  violation.thread = thread.number;
  launch->fail(violation);
}

void Block::stop() {
  running->state = State::Ended;
  running->fiber.yield(); // never resumed
}

void Block::access(const void *address, uint64_t bytes, uint32_t operand, uint32_t alignment, bool writes) {
  Violation violation{.address = address, .bytes = bytes, .operand = operand, .writes = writes};
  if (reinterpret_cast<uint64_t>(address) % alignment != 0) {
    violation.what = Wrong::Misaligned;
  } else if (sharedMemory.holds(address)) {
    return judge(writes ? sharedMemory.write(address, bytes, running->number)
                        : sharedMemory.read(address, bytes, running->number),
                 address, bytes, writes);
  } else if (launch->allows(address, bytes, operand, writes, violation.what)) {
    return;
  }
  fail(violation, *running);
  stop();
}

void Block::judge(SharedMemory::Finding finding, const void *address, uint64_t bytes, bool writes) {
  using Finding = SharedMemory::Finding;
  if (finding == Finding::None)
    return;
  Wrong what = finding == Finding::Outside     ? Wrong::SharedOutside
               : finding == Finding::Unwritten ? Wrong::SharedUnwritten
               : finding == Finding::Pending   ? Wrong::SharedPending
                                               : Wrong::SharedRace;
  fail({.what = what, .other = sharedMemory.other(), .address = address, .bytes = bytes, .writes = writes},
       *running);
  stop();
}

/// A card may copy at once or at the end: both ends are checked, the bytes come at the end.
void Block::startCopy(void *to, const void *from, uint32_t bytes, uint32_t present, uint32_t operand) {
  Block &self = *current;
  if (present > 0)
    self.access(from, present, operand, bytes, false);
  if (reinterpret_cast<uint64_t>(to) % bytes != 0) {
    self.fail({.what = Wrong::Misaligned, .address = to, .bytes = bytes, .writes = true}, *self.running);
    self.stop();
  }
  self.judge(self.sharedMemory.expect(to, bytes, self.running->number), to, bytes, true);
  self.running->copies.push_back({to, from, bytes, present});
}

void Block::finishCopies() {
  Thread &self = *current->running;
  for (const Copy &copy : self.copies) {
    current->sharedMemory.land(copy.to, copy.bytes, self.number);
    std::memcpy(copy.to, copy.from, copy.present);
    std::memset(static_cast<char *>(copy.to) + copy.present, 0, copy.bytes - copy.present);
  }
  self.copies.clear();
}

bool Block::startThreads() {
  if (threads.size() < count)
    threads.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    Thread &thread = threads[i];
    thread.block = this;
    thread.number = i;
    thread.state = State::Ready;
    thread.copies.clear();
    if (!thread.fiber.start(enter, &thread)) {
      fail({.what = Wrong::NoStack}, thread);
      return false;
    }
  }
  return true;
}

void Block::resume(Thread &thread) {
  running = &thread;
  thread.fiber.resume();
}

/// Whether `thread` asks for the same.
bool Block::isWith(const Thread &waits, const Thread &thread) const {
  if (thread.state != waits.state || thread.site != waits.site || thread.mask != waits.mask)
    return false;
  return waits.state == State::AtShuffle ? thread.distance == waits.distance : thread.kind == waits.kind;
}

void Block::exchangeWarp(uint32_t first, const Thread &waits) {
  uint32_t values[kWarp];
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    values[lane] = threads[first + lane].value;
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    if (waits.mask >> lane & 1)
      threads[first + lane].value = values[(lane ^ waits.distance) % kWarp];
}

void Block::multiplyWarp(uint32_t first, const Thread &waits) {
  uint32_t *words[kWarp];
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    words[lane] = threads[first + lane].words;
  if (waits.kind == ACCUM_SIM_MULTIPLY)
    multiplyTiles(words);
  else if (waits.kind == ACCUM_SIM_MULTIPLY_TF32)
    multiplyTf32Tiles(words);
  else
    loadTiles(words, waits.kind == ACCUM_SIM_LOAD_TRANSPOSED);
}

/// All lanes that the first waiting one names are there, with the same question: everybody gets the answer.
bool Block::meetWarp(uint32_t first) {
  Thread *waits = nullptr;
  for (uint32_t lane = 0; lane < kWarp && !waits; ++lane)
    if (State state = threads[first + lane].state; state == State::AtShuffle || state == State::AtMatrix)
      waits = &threads[first + lane];
  if (!waits)
    return false;
  bool shuffles = waits->state == State::AtShuffle;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    const Thread &thread = threads[first + lane];
    if (isWith(*waits, thread) == bool(waits->mask >> lane & 1))
      continue;
    Wrong what = shuffles ? Wrong::ShuffleDivergent : Wrong::MatrixDivergent;
    fail({.what = what, .other = thread.number, .site = waits->site}, *waits);
    return false;
  }
  shuffles ? exchangeWarp(first, *waits) : multiplyWarp(first, *waits);
  uint32_t mask = waits->mask;
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    if (mask >> lane & 1)
      threads[first + lane].state = State::Ready;
  return true;
}

void Block::runWarp(uint32_t first) {
  do
    for (uint32_t lane = 0; lane < kWarp && !launch->failed(); ++lane)
      if (threads[first + lane].state == State::Ready)
        resume(threads[first + lane]);
  while (!launch->failed() && meetWarp(first));
}

/// False where all have ended.
bool Block::passBarrier() {
  const Thread *waits = nullptr, *misses = nullptr;
  for (uint32_t i = 0; i < count; ++i)
    if (threads[i].state == State::AtBarrier && !waits)
      waits = &threads[i];
  if (!waits)
    return false;
  for (uint32_t i = 0; i < count && !misses; ++i)
    if (threads[i].state != State::AtBarrier || threads[i].site != waits->site)
      misses = &threads[i];
  if (misses) {
    fail({.what = Wrong::BarrierDivergent, .other = misses->number, .site = waits->site}, *waits);
    return false;
  }
  for (uint32_t i = 0; i < count; ++i)
    threads[i].state = State::Ready;
  sharedMemory.barrier();
  return true;
}

void Block::run(Launch &of, uint32_t block) {
  launch = &of;
  number = block;
  count = of.kernel.block_threads;
  current = this;
  sharedMemory.reset(of.kernel.shared_bytes);
  if (!startThreads())
    return;
  do
    for (uint32_t first = 0; first < count && !launch->failed(); first += kWarp)
      runWarp(first);
  while (!launch->failed() && passBarrier());
}

} // namespace accum::runtime::sim
