// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a counter in, 128
// random bits out. Everything random in a run is drawn from it, so that no result depends on ranks, threads
// or micro-batches.
#ifndef ACCUM_RUNTIME_DATA_PHILOX_H
#define ACCUM_RUNTIME_DATA_PHILOX_H

#include <array>
#include <cmath>
#include <cstdint>

namespace accum::runtime {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * counter[0], b = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b), uint32_t(a >> 32) ^ counter[3] ^ key[1],
               uint32_t(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// A sequence of draws: the counter is (draw number, stream), the key the seed. Streams keep uses apart.
class Draws {
public:
  Draws(uint64_t seed, uint64_t stream) : seed(seed), stream(stream) {}

  /// Leaves out so many draws of bits.
  void skip(uint64_t draws) { count += draws; }

  uint64_t bits() {
    auto words = philox({uint32_t(count), uint32_t(count >> 32), uint32_t(stream), uint32_t(stream >> 32)},
                        {uint32_t(seed), uint32_t(seed >> 32)});
    ++count;
    return uint64_t(words[1]) << 32 | words[0];
  }

  /// Uniform in [0, bound), without bias: draws that would favour small values are thrown away.
  uint64_t below(uint64_t bound) {
    uint64_t reject = (0 - bound) % bound, drawn;
    do
      drawn = bits();
    while (drawn < reject);
    return drawn % bound;
  }

  /// Uniform in (0, 1].
  double uniform() { return double((bits() >> 11) + 1) * 0x1p-53; }

  static constexpr uint64_t kBitsOfNormal = 2; ///< draws of bits that `normal` takes
  /// Normal with mean 0 and deviation 1 (Box-Muller, one of the pair).
  double normal() {
    double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

private:
  uint64_t seed, stream, count = 0;
};

} // namespace accum::runtime
#endif
