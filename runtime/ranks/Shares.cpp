// SPDX-License-Identifier: Apache-2.0
#include "runtime/ranks/Shares.h"
#include <cstring>

namespace accum::runtime {
namespace {

constexpr uint64_t kTermsBytes = 1 << 20; ///< what waits to be summed, of all ranks together
constexpr uint64_t kLargestPiece = 256 << 10, kLeastPiece = 4 << 10;

template <typename T> void combine(void *into, const void *from, uint64_t count, int32_t reduction) {
  auto *sum = static_cast<T *>(into);
  const auto *term = static_cast<const T *>(from);
  for (uint64_t i = 0; i < count; ++i)
    sum[i] = reduction == ACCUM_MAX ? std::max(sum[i], term[i]) : sum[i] + term[i];
}

void combine(void *into, const void *from, uint64_t count, int32_t dtype, int32_t reduction) {
  if (dtype == ACCUM_I32)
    combine<int32_t>(into, from, count, reduction);
  else if (dtype == ACCUM_I64)
    combine<int64_t>(into, from, count, reduction);
  else if (dtype == ACCUM_F32)
    combine<float>(into, from, count, reduction);
  else
    combine<double>(into, from, count, reduction);
}

} // namespace

void Shares::start(int ownRank, int ranks) {
  own = ownRank;
  count = ranks;
  transfers.resize(size_t(ranks));
  pieceBytes = std::clamp(kTermsBytes / uint64_t(ranks), kLeastPiece, kLargestPiece) / 8 * 8;
  terms.resize(pieceBytes * uint64_t(ranks));
}

bool Shares::isSummable(int32_t dtype) {
  return dtype == ACCUM_I32 || dtype == ACCUM_I64 || dtype == ACCUM_F32 || dtype == ACCUM_F64;
}

void Shares::combineTerms(Share share, int32_t dtype, int32_t reduction) {
  uint64_t elements = share.bytes / sizeOf(dtype);
  uint8_t *sum = own == 0 ? share.data : termOf(0);
  for (int other = 1; other < count; ++other)
    combine(sum, other == own ? share.data : termOf(other), elements, dtype, reduction);
  if (own != 0)
    std::memcpy(share.data, sum, share.bytes);
}

} // namespace accum::runtime
