// SPDX-License-Identifier: Apache-2.0
// Whole offsets to those of a rank, and parts from the ranks that have them.
#include "runtime/device/StateMemory.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace accum::runtime {

template <typename Body>
Status StateMemory::overOwn(uint64_t offset, uint64_t bytes, bool isOwner, Body &&body) const {
  auto rank = uint64_t(ranks->rank()), count = uint64_t(ranks->ranks());
  for (const StateSegment &segment : manifest->shard.segments) {
    bool inParts = segment.isCut || (segment.isOwned && isOwner);
    uint64_t part = inParts ? segment.bytes / count : segment.bytes;
    uint64_t start = segment.offset + (inParts ? rank * part : 0);
    if (!inParts && isOwner && rank != 0) // all have it, and one is enough
      continue;
    uint64_t from = std::max(offset, start), to = std::min(offset + bytes, start + part);
    if (from >= to)
      continue;
    uint64_t inside = from - (segment.isCut ? start : segment.offset);
    if (Status status = body({from, segment.local + inside, to - from, segment.isOffloaded}); !status)
      return status;
  }
  return {};
}

/// Where a rank that has the whole state has all of a range; nothing where that lies in several segments.
std::optional<StateMemory::Piece> StateMemory::inOne(uint64_t offset, uint64_t bytes) const {
  if (isPlain())
    return Piece{offset, offset, bytes, false};
  for (const StateSegment &segment : manifest->shard.segments)
    if (!isSharded() && offset >= segment.offset && offset + bytes <= segment.offset + segment.bytes)
      return Piece{offset, segment.local + (offset - segment.offset), bytes, segment.isOffloaded};
  return std::nullopt;
}

uint64_t StateMemory::local(uint64_t offset) const {
  for (const StateSegment &segment : manifest->shard.segments)
    if (offset >= segment.offset && offset - segment.offset < segment.bytes)
      return segment.local + (offset - segment.offset);
  return offset;
}

uint64_t StateMemory::keptBytes() const {
  const StateSegment &last = manifest->shard.segments.back(); // scalars, which are never offloaded
  return last.local + (last.isCut ? last.bytes / uint64_t(ranks->ranks()) : last.bytes);
}

Status StateMemory::write(const Piece &piece, const Device::Fill &fill) {
  return piece.isOffloaded ? device->writeOffloaded(piece.local, piece.bytes, fill)
                           : device->write(base + piece.local, piece.bytes, fill);
}

Expected<const uint8_t *> StateMemory::view(const Piece &piece) {
  return piece.isOffloaded ? device->viewOffloaded(piece.local, piece.bytes)
                           : device->view(base + piece.local, piece.bytes);
}

Status StateMemory::write(uint64_t offset, uint64_t bytes, const Device::Fill &fill) {
  if (auto whole = inOne(offset, bytes))
    return write(*whole, fill);
  filled.resize(bytes);
  bool isFilled = false;
  return overOwn(offset, bytes, /*isOwner=*/false, [&](const Piece &piece) {
    if (!std::exchange(isFilled, true))
      fill(filled.data());
    return write(piece,
                 [&](uint8_t *to) { std::memcpy(to, filled.data() + (piece.offset - offset), piece.bytes); });
  });
}

Expected<const uint8_t *> StateMemory::viewTogether(uint64_t offset, uint64_t bytes) {
  if (auto whole = inOne(offset, bytes))
    return view(*whole);
  gathered.assign((bytes + 3) / 4, 0);
  auto *to = reinterpret_cast<uint8_t *>(gathered.data());
  Status status = overOwn(offset, bytes, /*isOwner=*/isSharded(), [&](const Piece &piece) -> Status {
    for (uint64_t done = 0; done < piece.bytes; done += Device::kPieceBytes) {
      uint64_t size = std::min(piece.bytes - done, Device::kPieceBytes);
      auto own = view({piece.offset + done, piece.local + done, size, piece.isOffloaded});
      if (!own)
        return own.error();
      std::memcpy(to + (piece.offset - offset) + done, *own, size);
    }
    return {};
  });
  // Each byte is one rank's and zero on all others, so that the sum of whole words has no carry.
  if (status && isSharded())
    status = ranks->allReduce(gathered.data(), gathered.size(), ACCUM_I32);
  return status ? Expected<const uint8_t *>(to) : status.error();
}

Expected<const uint8_t *> StateMemory::view(uint64_t offset, uint64_t bytes) {
  if (!isSharded())
    return viewTogether(offset, bytes);
  // Rank 0's plus the zeros of all others, whether they assist or view the same.
  bool isFirst = ranks->rank() == 0;
  int64_t request[2] = {isFirst ? int64_t(offset) : 0, isFirst ? int64_t(bytes) : 0};
  if (Status status = ranks->allReduce(request, 2, ACCUM_I64); !status)
    return status.error();
  return viewTogether(offset, bytes);
}

std::vector<StateMemory::Part> StateMemory::partsOf(uint64_t offset, uint64_t bytes) const {
  if (isPlain())
    return {{offset, bytes, kAll}};
  std::vector<Part> parts;
  auto count = uint64_t(ranks->ranks());
  uint64_t end = offset + bytes;
  for (const StateSegment &segment : manifest->shard.segments) {
    bool inParts = segment.isCut || segment.isOwned;
    uint64_t size = inParts ? segment.bytes / count : segment.bytes;
    for (uint64_t part = 0; part < (inParts ? count : 1); ++part) {
      uint64_t start = segment.offset + part * size;
      uint64_t from = std::max(offset, start), to = std::min(end, start + size);
      if (from < to)
        parts.push_back({from, to - from, inParts ? int(part) : kAll});
    }
  }
  std::ranges::sort(parts, {}, &Part::offset);
  return parts;
}

std::vector<StateMemory::Own> StateMemory::own(uint64_t offset, uint64_t bytes) const {
  if (isPlain())
    return {{offset, bytes}};
  std::vector<Own> ranges;
  (void)overOwn(offset, bytes, /*isOwner=*/isSharded(), [&](const Piece &piece) -> Status {
    ranges.push_back({piece.local, piece.bytes});
    return {};
  });
  return ranges;
}

Expected<const uint8_t *> StateMemory::viewOwn(uint64_t offset, uint64_t bytes) {
  if (isPlain())
    return view(Piece{offset, offset, bytes, false});
  for (const StateSegment &segment : manifest->shard.segments) {
    if (offset < segment.offset || offset - segment.offset >= segment.bytes)
      continue;
    uint64_t before =
        segment.isCut ? uint64_t(ranks->rank()) * (segment.bytes / uint64_t(ranks->ranks())) : 0;
    return view(
        Piece{offset, segment.local + (offset - segment.offset) - before, bytes, segment.isOffloaded});
  }
  return Error{kExitInternal, "no part of the state has the byte at " + std::to_string(offset), "internal"};
}

Status StateMemory::assist() {
  if (!isSharded())
    return {};
  while (true) {
    int64_t request[2] = {0, 0};
    if (Status status = ranks->allReduce(request, 2, ACCUM_I64); !status || request[1] == 0)
      return status;
    if (auto sent = viewTogether(uint64_t(request[0]), uint64_t(request[1])); !sent)
      return sent.error();
  }
}

} // namespace accum::runtime
