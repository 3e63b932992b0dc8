// SPDX-License-Identifier: Apache-2.0
// Where a thread keeps the panel that it multiplies with.
#ifndef ACCUM_RUNTIME_HOST_PANELMEMORY_H
#define ACCUM_RUNTIME_HOST_PANELMEMORY_H

#include <cstdint>
#include <memory>
#include <new>

namespace accum::runtime {

/// Aligned to lines of a cache. Not touched before it is needed, so that it takes no more memory than the
/// largest panel.
class PanelMemory {
public:
  explicit PanelMemory(int64_t floats) : memory(new (Release::kAlignment) float[size_t(floats)]) {}
  float *floats() const { return memory.get(); }

private:
  struct Release {
    static constexpr std::align_val_t kAlignment{64};
    void operator()(float *data) const { ::operator delete[](data, kAlignment); }
  };
  std::unique_ptr<float[], Release> memory;
};

/// Floats from a row of `columns` to the next one: a multiple of `lanes`, at which rows do not share sets of
/// the first cache.
inline int64_t leadingOf(int64_t columns, int64_t lanes) {
  constexpr int64_t kSameSets = 256;
  int64_t leading = (columns + lanes - 1) / lanes * lanes;
  return leading % kSameSets == 0 ? leading + lanes : leading;
}

} // namespace accum::runtime
#endif
