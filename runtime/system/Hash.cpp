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

RunningHash::RunningHash()
    : state(XXH3_createState(), [](XXH3_state_s *own) { return int(XXH3_freeState(own)); }) {
  XXH3_64bits_reset(state.get());
}

void RunningHash::add(const void *data, uint64_t bytes) { XXH3_64bits_update(state.get(), data, bytes); }

uint64_t RunningHash::value() const { return XXH3_64bits_digest(state.get()); }

} // namespace accum::runtime
