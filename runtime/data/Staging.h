// SPDX-License-Identifier: Apache-2.0
// The buffers that the program's inputs point to: m rows each, refilled by every begin_micro.
#ifndef ACCUM_RUNTIME_DATA_STAGING_H
#define ACCUM_RUNTIME_DATA_STAGING_H

#include "runtime/data/Dataset.h"
#include "runtime/data/Window.h"
#include "runtime/device/Device.h"
#include <optional>

namespace accum::runtime {

/// Inputs of one length.
class Staging {
public:
  /// Bytes that `place` needs, of whichever length needs most.
  static uint64_t bytesFor(const Manifest &manifest);
  /// Puts the buffers at `base`, which stays the caller's and is not touched.
  void place(const Manifest &manifest, size_t length, uint8_t *base);
  /// From a place in a share to a position of the window, and from there to the data set's sample.
  struct Samples {
    std::function<int64_t(int64_t place)> positionAt;
    std::function<uint64_t(int64_t position)> sampleAt;
  };
  /// Writes the rows of a micro-step to `block`, laid out like the buffers: what an earlier phase reads lies
  /// first. Returns where what this phase reads ends.
  uint64_t fill(Dataset &dataset, const Share &share, MicroStep at, const Samples &samples,
                uint8_t *block) const;
  uint8_t *const *inputs() const { return pointers.data(); }

private:
  std::vector<uint8_t *> pointers;   ///< one per manifest input
  std::vector<uint64_t> offsets;     ///< of the same
  std::vector<uint64_t> ends;        ///< of what a phase reads, by its number
  std::optional<size_t> position;    ///< the input that holds positions of the window
  std::optional<LengthSpec> padding; ///< where there are several lengths: this one
};

} // namespace accum::runtime
#endif
