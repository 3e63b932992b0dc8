// SPDX-License-Identifier: Apache-2.0
// The samples of a run: one source per model input. Arrays are checked as a whole before any step, tokens
// when they are read.
#ifndef ACCUM_RUNTIME_DATA_DATASET_H
#define ACCUM_RUNTIME_DATA_DATASET_H

#include "runtime/artifact/Manifest.h"
#include "runtime/data/TokenWindows.h"
#include "runtime/files/DataFiles.h"

namespace accum::runtime {

/// Where one input's values come from. Without an array they are tokens, or made: by the input's rule, or at
/// random.
struct Column {
  const InputSpec *spec = nullptr;
  std::vector<Array> shards = {};   ///< of one array, one behind the other
  std::vector<int64_t> starts = {}; ///< of each its first sample, and the number of all
  TokenWindows::Role role = TokenWindows::Role::None;
  bool random = false;
  /// Of each shard that holds samples of their own lengths, one after the other: where each begins, and the
  /// end of the last. Empty: all samples have the array's length.
  std::vector<std::vector<int64_t>> offsets = {};
};

class Dataset {
public:
  /// Matches arrays to the manifest's inputs and checks names, dtypes, shapes, sample counts and every value.
  /// Refuses (exit 3) naming the array, the index and what was expected. The manifest must outlive the data
  /// set. `truncates`: samples that are longer than the largest of several lengths are cut. `predicts`:
  /// inputs that no prediction reads may be missing, and are not looked at.
  static Expected<Dataset> fromArrays(const Manifest &manifest, std::vector<Array> arrays,
                                      bool truncates = false, bool predicts = false);
  /// The same for arrays in shards, and for tokens, whose values are checked when they are read.
  static Expected<Dataset> fromFiles(const Manifest &manifest, DataFiles files, const TokenOptions &options,
                                     bool truncates = false, bool predicts = false);

  /// `samples` random ones: indices below their bound, floats standard normal, what has a rule by its rule.
  /// The same for one seed everywhere.
  static Dataset synthetic(const Manifest &manifest, int64_t samples, uint64_t seed);

  int64_t samples() const { return count; }
  /// Takes the last `samples` of them out, and returns them as a data set of their own. At most all.
  Dataset splitOff(int64_t samples);
  /// The same for "P%", rounded down, or a number as text; nothing for an empty one. Slug `usage` (exit 2)
  /// for other texts, and where one of the two would have no sample.
  Expected<std::optional<Dataset>> splitOff(const std::string &text);
  /// What was decided for the user, one line each.
  const std::vector<std::string> &notices() const { return decisions; }

  /// Writes sample `sample` of input number `input` as row `row` of a staging buffer of m rows; axis
  /// batch_dim of the buffer is outer x m x rows. Allocates nothing. Where a file cannot be read any more the
  /// row is left as it was, and `health` says so.
  void copyRow(size_t input, uint64_t sample, uint8_t *staging, int64_t row, int64_t m);
  /// The same at one of several lengths: what is longer is cut, and after a sample's end stands the input's
  /// padding.
  void copyPadded(size_t input, uint64_t sample, uint8_t *staging, int64_t row, const LengthSpec &length);
  bool hasLengths() const { return !needs.empty(); }
  /// The first of the manifest's lengths that holds the sample.
  uint8_t needOf(uint64_t sample) const { return needs[first + sample]; }

  /// The same for the same files in any folder: their names and sizes, and how tokens are cut. Empty for what
  /// is in no file.
  std::string identity() const;
  /// A checksum of the values in memory, with their shapes: the same for the same samples in the same order.
  uint64_t contents() const;
  /// Whether some of it is read when it is asked for.
  bool isInFiles() const;
  /// The first failure to read a row, if there was one.
  const Status &health() const { return failure; }
  /// Reads what a sample needs of its files into nowhere, so that the system keeps it at hand, a buffer at a
  /// time. May run beside `copyRow`.
  void touch(uint64_t sample, std::vector<uint8_t> &buffer) const;

private:
  using Shards = std::vector<Array>;
  static Expected<Dataset> fromShards(const Manifest &manifest, std::vector<Shards> arrays, bool truncates,
                                      bool predicts);
  static Dataset fromTokens(const Manifest &manifest, TokenWindows windows);
  Status matchArrays(const Manifest &manifest, std::vector<Shards> arrays, bool predicts);
  Status matchInput(const InputSpec &spec, std::vector<Shards> &arrays);
  Status matchType(const InputSpec &spec, const Array &array);
  Status countSamples(Column &column);
  Status notePadding(const Manifest &manifest);
  void makeRoom();
  void makeSlab(const Column &column, size_t input, uint64_t sample);
  const uint8_t *rowOf(const Column &column, size_t input, uint64_t sample);
  const uint8_t *shardRow(const Column &column, uint64_t sample);
  Status matchOffsets(std::vector<Shards> &arrays, Column &column);
  Status findNeeds(const Manifest &manifest);
  void takeLargest(const Manifest &manifest);
  Status noteNeeds(const Column &column, std::vector<int32_t> &needed) const;
  bool noteMadeMask(const Column &column, std::vector<int32_t> &needed) const;
  int64_t lengthOf(int64_t dim, uint64_t sample) const;
  template <typename T> const uint8_t *kept(const Expected<T> &row);

  std::vector<Column> columns; ///< in manifest order, without the two runtime-made inputs
  std::optional<TokenWindows> tokens;
  std::vector<uint8_t> slab; ///< room for the largest sample
  /// Where there are several lengths: of each sample of the sources the first that holds it.
  std::vector<uint8_t> needs;
  bool truncates = false;
  int64_t longestRow = 0; ///< of inputs that are padded, along their axis
  std::vector<std::string> decisions;
  uint64_t first = 0; ///< of its samples, in the sources
  int64_t count = 0;
  uint64_t seed = 0;
  Status failure;
};

/// Every element of the array against the input's bound, or NaN for floats.
Status checkValues(const InputSpec &spec, const Array &array);
/// Where the first 0 of the array is, or -1.
Expected<int64_t> findZero(const Array &array);

/// Where a sample's row of a shard lies, and how long it is along the axis that is padded (1 where none is).
struct RowPlace {
  uint64_t offset = 0, bytes = 0;
  int64_t length = 1;
};
RowPlace placeOfRow(const Column &column, size_t shard, uint64_t sample);

/// Samples that `array` holds for `spec`, or the sentence that says which shapes would do.
Expected<int64_t> samplesOf(const InputSpec &spec, const Array &array);

/// `count` elements of an input's dtype become `value`.
void fillNumber(uint8_t *to, DType dtype, int64_t count, double value);

/// The value of an iota input at flat slab index `index`.
int64_t iotaAt(const InputSpec &spec, int64_t index);

} // namespace accum::runtime
#endif
