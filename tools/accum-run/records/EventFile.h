// SPDX-License-Identifier: Apache-2.0
// A file of TensorBoard's: records with checksums, each an Event of protobuf.
#ifndef ACCUM_RUN_RECORDS_EVENTFILE_H
#define ACCUM_RUN_RECORDS_EVENTFILE_H

#include "runtime/system/Status.h"
#include "tools/accum-run/records/RecordFile.h"
#include <cstdint>
#include <vector>

namespace accum::run {

struct Scalar {
  std::string tag;
  double value;
};

/// CRC-32C (Castagnoli) of the bytes, as RFC 3720 has it.
uint32_t crc32c(const std::string &bytes);

/// Length and checksum, the bytes, their checksum: TFRecord's frame.
std::string framed(const std::string &bytes);

class EventFile {
public:
  /// A new file in the folder, which is made. From step `from` on (counted from 1) it replaces what older
  /// files of the folder say. Slug `unwritable` (exit 3).
  static runtime::Expected<std::unique_ptr<EventFile>> create(const std::string &folder, uint64_t from);
  explicit EventFile(std::unique_ptr<RecordFile> file) : file(std::move(file)) {}

  /// False where it cannot be written; errno says why.
  bool write(uint64_t step, const std::vector<Scalar> &scalars);

private:
  bool append(const std::string &event) { return file->append(framed(event)); }

  std::unique_ptr<RecordFile> file;
};

} // namespace accum::run
#endif
