// SPDX-License-Identifier: Apache-2.0
// Files of one token stream: raw ones, llm.c's, NumPy's and Megatron's.
#ifndef ACCUM_RUNTIME_FILES_TOKENS_H
#define ACCUM_RUNTIME_FILES_TOKENS_H

#include "runtime/files/Array.h"
#include "runtime/files/Megatron.h"

namespace accum::runtime {

struct TokenFile {
  Array tokens;                               ///< one axis, integers, in a file
  std::shared_ptr<const MegatronIndex> index; ///< where the file has one
  bool isGuessed = false;                     ///< nothing says the type
};

/// PATH.bin, or PATH.npy with one axis. The type is the header's or the index's; a .bin without either has
/// that of `type`: "u16" (or empty) or "u32". Of the tokens none is read. Slug `malformed` (exit 3) for a
/// file that is cut off, or has the header of something else.
Expected<TokenFile> readTokens(const std::string &path, const std::string &type);

} // namespace accum::runtime
#endif
