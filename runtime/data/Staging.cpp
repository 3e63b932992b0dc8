// SPDX-License-Identifier: Apache-2.0
// Places and fills the staging buffers.
#include "runtime/data/Staging.h"

namespace accum::runtime {
namespace {

constexpr uint64_t kAlign = 256;

uint64_t stagedBytes(const Manifest &manifest, const InputSpec &spec) {
  uint64_t bytes = spec.slabBytes() * (spec.batchDim ? manifest.m : 1);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

} // namespace

uint64_t Staging::bytesFor(const Manifest &manifest) {
  uint64_t bytes = 0;
  for (const InputSpec &spec : manifest.inputs)
    bytes += stagedBytes(manifest, spec);
  return bytes;
}

void Staging::place(const Manifest &manifest, uint8_t *base) {
  offsets.assign(manifest.inputs.size(), 0);
  bytes = 0;
  auto placeThose = [&](bool inPrepass) {
    for (size_t input = 0; input < offsets.size(); ++input) {
      const InputSpec &spec = manifest.inputs[input];
      if (spec.inPrepass != inPrepass)
        continue;
      offsets[input] = bytes;
      bytes += stagedBytes(manifest, spec);
    }
  };
  placeThose(true);
  prepassBytes = bytes;
  placeThose(false);
  pointers.clear();
  for (uint64_t offset : offsets)
    pointers.push_back(base + offset);
}

uint64_t Staging::fill(Dataset &dataset, const Share &share, MicroStep at, const SampleAt &sampleAt,
                       uint8_t *block) const {
  uint32_t k = at.k;
  uint64_t end = at.phase == ACCUM_PREPASS ? prepassBytes : bytes;
  size_t models = offsets.size() - 2;
  for (int64_t row = 0; row < share.m; ++row) {
    uint64_t sample = sampleAt(share.sampleOf(k, row));
    for (size_t input = 0; input < models; ++input)
      if (offsets[input] < end)
        dataset.copyRow(input, sample, block + offsets[input], row, share.m);
  }
  int64_t real = share.valid(k);
  for (int64_t row = 0; row < share.m; ++row)
    block[offsets[models] + row] = row < real;
  *reinterpret_cast<int64_t *>(block + offsets[models + 1]) = share.firstRow(k);
  return end;
}

} // namespace accum::runtime
