// SPDX-License-Identifier: Apache-2.0
// The order in which epochs visit the samples: a bijection that is computed, position by position, and never
// a table.
#ifndef ACCUM_RUNTIME_DATA_ORDER_H
#define ACCUM_RUNTIME_DATA_ORDER_H

#include <cstdint>

namespace accum::runtime {

/// Without shuffling the identity. With it a Feistel network over the cells of a rectangle that is little
/// larger than the number of samples; cells beyond them are walked over (J. Black and P. Rogaway, "Ciphers
/// with Arbitrary Finite Domains", 2002). Its round functions are Philox keyed by the seed, with the epoch in
/// the counter: the order depends on seed, epoch and number of samples, and on nothing else.
class Order {
public:
  /// At least one sample.
  Order(int64_t samples, bool shuffle, uint64_t seed);

  int64_t samples() const { return int64_t(count); }
  /// The sample at `position` < samples() of an epoch. Each sample has one position.
  uint64_t at(uint64_t epoch, uint64_t position) const;

private:
  uint64_t encipher(uint64_t epoch, uint64_t cell) const;

  uint64_t count, seed;
  uint64_t rows = 1, columns = 1; ///< of the rectangle
  uint32_t rounds;
  bool shuffle;
};

} // namespace accum::runtime
#endif
