// SPDX-License-Identifier: Apache-2.0
// Shares.
#include "runtime/data/Window.h"
#include <algorithm>
#include <numeric>

namespace accum::runtime {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

Share::Share(int64_t samples, int64_t m, int ranks, int rank, int64_t rows)
    : samples(samples), m(m), rows(rows > 0 ? rows : m) {
  int64_t block = ceilDiv(samples, ranks);
  begin = std::min(rank * block, samples);
  end = std::min(begin + block, samples);
  steps = uint32_t(ceilDiv(block, this->rows));
}

Share::Share(const std::vector<int64_t> &counts, size_t rank, int64_t m)
    : begin(std::accumulate(counts.begin(), counts.begin() + ptrdiff_t(rank), int64_t(0))),
      end(begin + counts[rank]), samples(std::accumulate(counts.begin(), counts.end(), int64_t(0))), m(m),
      rows(m), steps(uint32_t(ceilDiv(*std::ranges::max_element(counts), m))) {}

uint32_t Share::pieceOf(uint32_t k) const {
  if (reversed)
    return steps - 1 - k;
  return only && *only != kNone ? (k + *only % steps + 1) % steps : k;
}

int64_t Share::valid(uint32_t k) const {
  return only && *only != pieceOf(k) ? 0 : std::clamp<int64_t>(end - firstRow(k), 0, rows);
}

int64_t Share::sampleOf(uint32_t k, int64_t row) const {
  int64_t last = end > begin ? end - 1 : samples - 1;
  return std::min(firstRow(k) + row, last);
}

} // namespace accum::runtime
