// SPDX-License-Identifier: Apache-2.0
// A token stream, cut into samples of the model's sequence length.
#ifndef ACCUM_RUNTIME_DATA_TOKENWINDOWS_H
#define ACCUM_RUNTIME_DATA_TOKENWINDOWS_H

#include "runtime/artifact/Manifest.h"
#include "runtime/files/Tokens.h"

namespace accum::runtime {

/// What the user says of tokens; texts as accum-run takes them.
struct TokenOptions {
  std::string type = {};      ///< of .bin files without a header: "u16" (or empty), "u32"
  std::string separator = {}; ///< the id that ends a document, "index" for Megatron's, or empty
  std::string labels = {};    ///< "same", "next", or empty: by the artifact's loss
};

/// Sample i of a file holds its tokens [i T, (i + 1) T), and where labels are the next tokens the one behind
/// them. Samples do not reach over the end of a file. Tokens are read and checked when a sample is asked for.
class TokenWindows {
public:
  /// What an input gets of a sample.
  enum class Role : uint8_t { None, Tokens, Labels, Positions };

  /// Finds the inputs that take tokens. Slugs `bad-data` (exit 3) and `usage` (exit 2).
  static Expected<TokenWindows> make(const Manifest &manifest, std::vector<TokenFile> files,
                                     const TokenOptions &options);

  /// By manifest input.
  Role roleOf(const InputSpec &spec) const;
  int64_t samples() const { return starts.back(); }
  const std::vector<std::string> &notices() const { return decisions; }
  /// Names and sizes of the files, in order, and the length of a sample.
  std::string identity() const;

  /// The T numbers of a role, until the next call. Fails where a file cannot be read any more, or holds a
  /// token that the model has not: file and position are named.
  Expected<const int64_t *> read(Role role, uint64_t sample);
  /// A part of the sample's bytes at a time into `buffer`; for several threads. Failures are passed over.
  void touch(uint64_t sample, std::vector<uint8_t> &buffer) const;

private:
  Status findInputs(const Manifest &manifest);
  Status chooseLabels(const Manifest &manifest, const std::string &asked);
  Status chooseSeparator(const Manifest &manifest, const std::string &text);
  Status cut();
  std::pair<size_t, int64_t> placeOf(uint64_t sample) const;
  Status load(uint64_t sample);
  Status findDocuments(const TokenFile &file, int64_t first);
  Error badToken(const TokenFile &file, int64_t position, int64_t token) const;

  std::vector<TokenFile> files;
  std::vector<int64_t> starts; ///< of each file its first sample, and one more
  const InputSpec *tokenInput = nullptr, *labelInput = nullptr, *positionInput = nullptr;
  int64_t length = 0;     ///< T
  bool readsNext = false; ///< labels are the next tokens
  int64_t bound = 0;      ///< ids are below
  std::optional<int64_t> separator;
  bool hasDocuments = false; ///< a separator, or Megatron's index, keeps documents apart
  int64_t ignored = -100;
  std::vector<std::string> decisions;

  std::optional<uint64_t> loaded; ///< the sample in the buffers
  std::vector<uint8_t> bytes;     ///< as in the file
  std::vector<int64_t> tokens;    ///< T, or T + 1
  std::vector<uint8_t> isLast;    ///< whether token t is the last of its document; as many
  std::vector<int64_t> made;      ///< labels or positions
};

} // namespace accum::runtime
#endif
