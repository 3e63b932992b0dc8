// SPDX-License-Identifier: Apache-2.0
// Checksums as artifacts spell them: XXH3 64 bit, 16 lowercase hexadecimal digits.
#ifndef ACCUM_RUNTIME_SYSTEM_HASH_H
#define ACCUM_RUNTIME_SYSTEM_HASH_H
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace accum::runtime {

/// A hash value as digits.
std::string hashDigits(uint64_t hash);
/// Of bytes in memory.
std::string hashText(const std::string &text);

/// Of bytes that come one after the other.
class RunningHash {
public:
  RunningHash();
  void add(const void *data, uint64_t bytes);
  uint64_t value() const;
  std::string digits() const { return hashDigits(value()); }

private:
  std::unique_ptr<XXH3_state_s, int (*)(XXH3_state_s *)> state;
};

} // namespace accum::runtime

#endif
