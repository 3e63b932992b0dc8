// SPDX-License-Identifier: Apache-2.0
// Checksums as artifacts spell them: XXH3 64 bit, 16 lowercase hexadecimal digits.
#ifndef ACCUM_RUNTIME_SYSTEM_HASH_H
#define ACCUM_RUNTIME_SYSTEM_HASH_H
#include <cstdint>
#include <string>

namespace accum::runtime {

/// A hash value as digits.
std::string hashDigits(uint64_t hash);
/// Of bytes in memory.
std::string hashText(const std::string &text);

} // namespace accum::runtime

#endif
