// SPDX-License-Identifier: Apache-2.0
// Parts of the state, in the order of the file.
#include "runtime/checkpoints/FileShares.h"
#include <algorithm>

namespace accum::runtime {
namespace {

/// Two ranks do not write into one page of the file.
constexpr uint64_t kPage = 4096;

/// Where the share of a rank begins in a file that all of them could write.
uint64_t beginOf(int rank, uint64_t total, int ranks) {
  uint64_t even = total / uint64_t(ranks) * uint64_t(rank);
  return rank == ranks ? total : even / kPage * kPage;
}

} // namespace

std::vector<FileShare> sharesOf(uint64_t header, const std::vector<ParameterSpec> &tensors,
                                const StateMemory &memory, int ranks) {
  uint64_t at = header, total = header;
  for (const ParameterSpec &tensor : tensors)
    total += tensor.bytes();
  std::vector<FileShare> shares = {{0, header, FileShare::kHeader, 0, 0}};
  std::vector<uint64_t> before(ranks, 0);
  auto add = [&](const StateMemory::Part &part) {
    for (int rank = 0; rank < ranks; ++rank) {
      bool isShared = part.rank == StateMemory::kAll;
      uint64_t from = isShared ? std::max(at, beginOf(rank, total, ranks)) : at;
      uint64_t end = isShared ? std::min(at + part.bytes, beginOf(rank + 1, total, ranks)) : at + part.bytes;
      if (from >= end || (!isShared && rank != part.rank))
        continue;
      shares.push_back({from, end - from, part.offset + (from - at), rank, before[rank]});
      before[rank] += end - from;
    }
    at += part.bytes;
  };
  for (const ParameterSpec &tensor : tensors)
    for (const StateMemory::Part &part : memory.partsOf(tensor.stateOffset, tensor.bytes()))
      add(part);
  return shares;
}

size_t endOfRun(const std::vector<FileShare> &shares, size_t first) {
  size_t end = first + 1;
  while (end < shares.size() && shares[end].rank == shares[first].rank)
    ++end;
  return end;
}

} // namespace accum::runtime
