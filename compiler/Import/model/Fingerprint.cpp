// SPDX-License-Identifier: Apache-2.0
// Recognises a weight's bytes again without reading all of them.
#include "compiler/Import/parameters/Parameters.h"
#include <algorithm>
#include <xxhash.h>

namespace accum::import {

std::optional<uint64_t> fingerprint(const Tensor &tensor) {
  constexpr size_t wholeUpTo = size_t(1) << 20, piece = 4096, pieces = 16;
  if (!tensor.data.isPresent())
    return std::nullopt;
  auto bytes = tensor.data.bytes();
  if (bytes.size() <= wholeUpTo)
    return XXH3_64bits(bytes.data(), bytes.size());
  XXH64_hash_t hash = bytes.size();
  for (size_t i = 0; i < pieces; ++i) {
    size_t offset = (bytes.size() - piece) / (pieces - 1) * i;
    hash = XXH3_64bits_withSeed(bytes.data() + offset, piece, hash);
  }
  return hash;
}

} // namespace accum::import
