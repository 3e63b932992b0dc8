// SPDX-License-Identifier: Apache-2.0
// Megatron's index of a file of tokens: their type, and where documents begin.
#ifndef ACCUM_RUNTIME_FILES_MEGATRON_H
#define ACCUM_RUNTIME_FILES_MEGATRON_H

#include "runtime/files/DType.h"
#include "runtime/files/File.h"

namespace accum::runtime {

/// FILE.idx beside FILE.bin, as Megatron-LM's megatron/core/datasets/indexed_dataset.py writes it:
/// "MMIDIDX\0\0", version 1 (u64), a code of the type (u8), the numbers of sequences and of document entries
/// (u64), then each sequence's length (i32) and place in bytes (i64), and each document's first sequence
/// (i64), with one entry behind the last document. Nothing of these lists is read before it is asked for.
class MegatronIndex {
public:
  /// Slug `malformed` (exit 3) for what is cut off or no index.
  static Expected<std::shared_ptr<const MegatronIndex>> open(const std::string &path);

  DType dtype() const { return type; }
  /// Tokens of the sequences.
  int64_t tokens() const { return count; }
  /// The first token of the first document that begins behind token `position`; tokens() where none does.
  Expected<int64_t> nextDocument(int64_t position) const;

private:
  template <typename T> Expected<T> numberAt(uint64_t offset) const;
  Expected<int64_t> placeOf(uint64_t sequence) const;
  Error malformed(const std::string &what) const;
  Status readHeader();

  std::shared_ptr<const MappedFile> file;
  DType type = ACCUM_U16;
  uint64_t sequences = 0, documents = 0; ///< documents: entries of their list
  int64_t count = 0;
};

} // namespace accum::runtime
#endif
