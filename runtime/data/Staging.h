// SPDX-License-Identifier: Apache-2.0
// The buffers that the program's inputs point to: m rows each, refilled by every begin_micro.
#ifndef ACCUM_RUNTIME_DATA_STAGING_H
#define ACCUM_RUNTIME_DATA_STAGING_H

#include "runtime/data/Dataset.h"
#include "runtime/data/Window.h"
#include "runtime/session/Device.h"

namespace accum::runtime {

class Staging {
public:
  /// Bytes that `place` needs.
  static uint64_t bytesFor(const Manifest &manifest);
  /// Puts the buffers at `base`, which stays the caller's and is not touched.
  void place(const Manifest &manifest, uint8_t *base);
  /// The data set's sample at a position of the window.
  using SampleAt = std::function<uint64_t(int64_t position)>;
  /// Writes the rows of a micro-step to `block`, laid out like the buffers: what an earlier phase reads lies
  /// first. Returns where what this phase reads ends.
  uint64_t fill(Dataset &dataset, const Share &share, MicroStep at, const SampleAt &sampleAt,
                uint8_t *block) const;
  uint8_t *const *inputs() const { return pointers.data(); }

private:
  std::vector<uint8_t *> pointers; ///< one per manifest input
  std::vector<uint64_t> offsets;   ///< of the same
  std::vector<uint64_t> ends;      ///< of what a phase reads, by its number
};

} // namespace accum::runtime
#endif
