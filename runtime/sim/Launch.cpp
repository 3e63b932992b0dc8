// SPDX-License-Identifier: Apache-2.0
// Accesses against the operands that a command declared.
#include "runtime/sim/Launch.h"

namespace accum::runtime::sim {
namespace {

const uint8_t *byte(const void *address) { return static_cast<const uint8_t *>(address); }

} // namespace

bool Launch::holds(uint32_t operand, const void *address, uint64_t bytes) const {
  uint64_t size = kernel.operands[operand].bytes;
  uint64_t at = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(args[operand]);
  return at <= size && bytes <= size - at;
}

/// Of an operand that holds it: no byte between two rows.
bool Launch::isInRow(uint32_t operand, const void *address, uint64_t bytes) const {
  const accum_operand &own = kernel.operands[operand];
  uint64_t at = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(args[operand]);
  return own.pitch == 0 || at % own.pitch + bytes <= own.row;
}

/// Bytes behind its start; all of them where nothing is missing.
uint64_t Launch::firstLeftUnwritten(uint32_t result) const {
  const accum_operand &own = kernel.operands[result];
  uint64_t pitch = own.pitch == 0 ? own.bytes : own.pitch, row = own.pitch == 0 ? own.bytes : own.row;
  for (uint64_t at = 0; at < own.bytes; at += pitch)
    if (uint64_t good = written.firstUnwritten(byte(args[result]) + at, row); good != row)
      return at + good;
  return own.bytes;
}

/// A result of its own memory whose old contents mean nothing.
bool Launch::overwrites(uint32_t result) const {
  const accum_operand &own = kernel.operands[result];
  if (own.access != ACCUM_WRITE)
    return false;
  for (uint32_t i = 0; i < kernel.num_operands; ++i)
    if (i != result && kernel.operands[i].access != ACCUM_WRITE &&
        byte(args[i]) < byte(args[result]) + own.bytes &&
        byte(args[result]) < byte(args[i]) + kernel.operands[i].bytes)
      return false; // written in the place of an operand
  return true;
}

void Launch::begin() {
  for (uint32_t i = 0; i < kernel.num_operands; ++i)
    if (overwrites(i))
      written.forget(args[i], kernel.operands[i].bytes);
}

void Launch::end() {
  for (uint32_t i = 0; i < kernel.num_operands && !failed(); ++i) {
    if (!(kernel.operands[i].access & ACCUM_WRITE))
      continue;
    if (uint64_t good = firstLeftUnwritten(i); good != kernel.operands[i].bytes)
      fail({.what = Wrong::LeftUnwritten, .address = byte(args[i]) + good, .bytes = 1, .operand = i});
  }
}

bool Launch::allows(const void *address, uint64_t bytes, uint32_t operand, bool writes, Wrong &wrong) {
  wrong = Wrong::Outside;
  for (uint32_t i = 0; i < kernel.num_operands; ++i) {
    if ((operand != ACCUM_SIM_ANY && operand != i) || !holds(i, address, bytes))
      continue;
    if (!isInRow(i, address, bytes)) {
      wrong = Wrong::BetweenRows;
      continue; // rows of another operand may lie otherwise
    }
    if (writes && !(kernel.operands[i].access & ACCUM_WRITE)) {
      wrong = Wrong::ReadOnly;
      continue; // a result may lie here too
    }
    if (writes) {
      written.wrote(address, bytes);
      return true;
    }
    wrong = Wrong::Unwritten;
    return written.isWritten(address, bytes);
  }
  return false;
}

void Launch::fail(const Violation &violation) {
  std::lock_guard lock(mutex);
  if (!broken.exchange(true))
    first = violation;
}

/// "operand 2 + 128", or how far behind (or before) the nearest operand.
std::string Launch::describe(const void *address, uint32_t operand) const {
  std::string nearest = "no operand";
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < kernel.num_operands; ++i) {
    if (operand != ACCUM_SIM_ANY && operand != i)
      continue;
    int64_t at = byte(address) - byte(args[i]);
    auto size = static_cast<int64_t>(kernel.operands[i].bytes);
    uint64_t off = at < 0 ? uint64_t(-at) : at >= size ? uint64_t(at - size + 1) : 0;
    if (off >= least)
      continue;
    least = off;
    nearest = "operand " + std::to_string(i) + (at < 0 ? " - " : " + ") + std::to_string(at < 0 ? -at : at) +
              " of its " + std::to_string(size) + " bytes";
  }
  return nearest;
}

std::string Launch::sentence() const {
  std::string bytes = std::to_string(first.bytes) + " bytes", other = "thread " + std::to_string(first.other);
  std::string verb = first.writes ? "writes " : "reads ";
  switch (first.what) {
  case Wrong::Outside:
    return verb + bytes + " outside of what the command declared, at " +
           describe(first.address, first.operand);
  case Wrong::BetweenRows:
    return verb + bytes + " that reach between rows, at " + describe(first.address, first.operand);
  case Wrong::ReadOnly:
    return "writes " + bytes + " to what the command only reads, at " +
           describe(first.address, first.operand);
  case Wrong::Unwritten:
    return "reads " + bytes + " that nobody has written, at " + describe(first.address, first.operand);
  case Wrong::LeftUnwritten:
    return "leaves a result unwritten, at " + describe(first.address, first.operand);
  case Wrong::Misaligned:
    return verb + bytes + " that do not begin where they must, at " + describe(first.address, first.operand);
  case Wrong::SharedOutside:
    return verb + bytes + " outside of the block's shared memory";
  case Wrong::SharedUnwritten:
    return "reads " + bytes + " of shared memory that nobody has written";
  case Wrong::SharedRace:
    return verb + bytes + " of shared memory that " + other + " uses too, with no barrier between them";
  case Wrong::SharedPending:
    return verb + bytes + " of shared memory to which " + other +
           " copies, and has not waited for the end of it";
  case Wrong::ShuffleDivergent:
  case Wrong::MatrixDivergent:
    return std::string("waits at ") +
           (first.what == Wrong::ShuffleDivergent ? "shuffle " : "matrix instruction ") +
           std::to_string(first.site) + ", which " + other + " of its warp does not reach";
  case Wrong::BarrierDivergent:
    return "waits at barrier " + std::to_string(first.site) + ", which " + other + " does not reach";
  case Wrong::NoStack:
    return "has no memory for its stack";
  }
  return "";
}

Status Launch::status() const {
  if (!failed())
    return {};
  std::string who = "kernel `" + std::string(kernel.name) + "`";
  if (first.what != Wrong::LeftUnwritten)
    who += ", block " + std::to_string(first.block) + ", thread " + std::to_string(first.thread);
  return Error{kExitRunFailed, who + ": " + sentence(), "sim"};
}

} // namespace accum::runtime::sim
