// SPDX-License-Identifier: Apache-2.0
// What the words of --data name: files, folders and patterns, as arrays or as tokens.
#ifndef ACCUM_RUNTIME_FILES_DATAFILES_H
#define ACCUM_RUNTIME_FILES_DATAFILES_H

#include "runtime/files/Tokens.h"

namespace accum::runtime {

/// Arrays, or one line of tokens; in shards, which follow each other.
struct DataFiles {
  std::vector<std::vector<Array>> arrays; ///< each with its shards
  std::vector<TokenFile> tokens;
};

/// A word is FILE.safetensors, FILE.npz, NAME=FILE.npy, or for tokens FILE.bin, FILE.npy or what Megatron
/// calls a prefix; or a folder or a pattern of *, ? and [ that stands for several of one kind, in the order
/// of their names. Shards hold the same names and types. Slugs `usage` (2), `missing-file`, `bad-data`,
/// `malformed` and `unreadable` (3).
Expected<DataFiles> readData(const std::vector<std::string> &words, const std::string &tokenType);

} // namespace accum::runtime
#endif
