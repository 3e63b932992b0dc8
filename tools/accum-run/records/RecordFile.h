// SPDX-License-Identifier: Apache-2.0
// A file that grows record by record.
#ifndef ACCUM_RUN_RECORDS_RECORDFILE_H
#define ACCUM_RUN_RECORDS_RECORDFILE_H

#include <memory>
#include <string>

namespace accum::run {

/// Each record is in it when `append` returns, so that it can be followed; one that does not fit (a full
/// disk) leaves none of its bytes.
class RecordFile {
public:
  /// `flags` of open(2) beside those that a file needs to grow. Null, with errno, where it cannot be opened.
  static std::unique_ptr<RecordFile> open(const std::string &path, int flags);
  /// Standard output, behind what is printed there.
  static std::unique_ptr<RecordFile> ofStdout();
  RecordFile(const RecordFile &) = delete;
  RecordFile &operator=(const RecordFile &) = delete;
  ~RecordFile();

  /// False where it cannot be written; errno says why.
  bool append(const std::string &record);

private:
  explicit RecordFile(int descriptor) : descriptor(descriptor) {}

  int descriptor;
};

} // namespace accum::run
#endif
