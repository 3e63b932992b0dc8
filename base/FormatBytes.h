// SPDX-License-Identifier: Apache-2.0
// Sizes in memory, as people read them.
#ifndef ACCUM_BASE_FORMATBYTES_H
#define ACCUM_BASE_FORMATBYTES_H

#include <cstdint>
#include <string>

namespace accum {

/// A binary unit: `KiB`, `MiB`, `GiB` or `TiB`.
struct ByteUnit {
  const char *name;
  int64_t bytes;
  double of(int64_t value) const { return static_cast<double>(value) / static_cast<double>(bytes); }
};

/// The largest unit of which `bytes` are one at least; `KiB` for less.
ByteUnit unitOf(int64_t bytes);

/// Three digits at least: `2.79 GiB`, `25.3 GiB`, `1 byte`, `900 bytes`.
std::string formatBytes(int64_t bytes);

/// For a flag that limits memory, never more than `bytes`: `25.31GiB`.
std::string formatLimit(int64_t bytes);

} // namespace accum
#endif
