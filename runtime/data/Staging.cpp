// SPDX-License-Identifier: Apache-2.0
// Places and fills the staging buffers.
#include "runtime/data/Staging.h"
#include <algorithm>
#include <numeric>

namespace accum::runtime {
namespace {

constexpr uint64_t kAlign = 256;

uint64_t stagedBytes(const LengthSpec &length, const InputSpec &spec) {
  uint64_t bytes = spec.at(length).slabBytes() * (spec.batchDim ? length.m : 1);
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

} // namespace

uint64_t Staging::bytesFor(const Manifest &manifest) {
  uint64_t most = 0;
  for (const LengthSpec &length : manifest.allLengths()) {
    uint64_t bytes = 0;
    for (const InputSpec &spec : manifest.inputs)
      bytes += stagedBytes(length, spec);
    most = std::max(most, bytes);
  }
  return most;
}

void Staging::place(const Manifest &manifest, size_t length, uint8_t *base) {
  const LengthSpec own = manifest.allLengths()[length];
  if (!manifest.lengths.empty())
    padding = own;
  size_t inputs = manifest.inputs.size(), phases = manifest.phases.size();
  auto reads = [&](size_t phase, size_t input) {
    const InputSpec &spec = manifest.inputs[input];
    const PhaseSpec &loop = manifest.phases[phase];
    return loop.isLoop && loop.length == length &&
           (spec.isRuntimeMade || std::ranges::count(loop.inputs, spec.name) > 0);
  };
  offsets.assign(inputs, 0);
  ends.assign(phases, 0);
  std::vector<size_t> firstReader(inputs, 0), order(inputs);
  for (size_t input = 0; input < inputs; ++input)
    while (firstReader[input] < phases && !reads(firstReader[input], input))
      ++firstReader[input];
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](size_t input) { return std::pair(firstReader[input], input); });
  uint64_t bytes = 0;
  for (size_t input : order) {
    offsets[input] = bytes;
    bytes += stagedBytes(own, manifest.inputs[input]);
    for (size_t phase = 0; phase < phases; ++phase)
      if (reads(phase, input))
        ends[phase] = bytes;
  }
  for (size_t input = 0; input < inputs; ++input)
    if (manifest.inputs[input].synthesize == Synthesize::Position)
      position = input;
  pointers.clear();
  for (uint64_t offset : offsets)
    pointers.push_back(base + offset);
}

uint64_t Staging::fill(Dataset &dataset, const Share &share, MicroStep at, const Samples &samples,
                       uint8_t *block) const {
  uint32_t k = at.k;
  uint64_t end = ends[at.phase];
  size_t models = offsets.size() - 2;
  for (int64_t row = 0; row < share.m; ++row) {
    int64_t place = samples.positionAt(share.sampleOf(k, row));
    uint64_t sample = samples.sampleAt(place);
    for (size_t input = 0; input < models; ++input)
      if (offsets[input] < end && input == position)
        reinterpret_cast<int64_t *>(block + offsets[input])[row] = place;
      else if (offsets[input] < end && padding)
        dataset.copyPadded(input, sample, block + offsets[input], row, *padding);
      else if (offsets[input] < end)
        dataset.copyRow(input, sample, block + offsets[input], row, share.m);
  }
  int64_t real = share.valid(k);
  for (int64_t row = 0; row < share.m; ++row)
    block[offsets[models] + row] = row < real;
  *reinterpret_cast<int64_t *>(block + offsets[models + 1]) = share.firstRow(k);
  return end;
}

} // namespace accum::runtime
