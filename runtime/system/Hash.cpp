// SPDX-License-Identifier: Apache-2.0
// Checksums as artifacts spell them.
#include "runtime/system/Hash.h"
#include <cstdio>
#include <xxhash.h>

namespace accum::runtime {

std::string hashDigits(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

std::string hashText(const std::string &text) { return hashDigits(XXH3_64bits(text.data(), text.size())); }

} // namespace accum::runtime
