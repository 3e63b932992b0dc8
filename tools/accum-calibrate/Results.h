// SPDX-License-Identifier: Apache-2.0
// What has been measured so far, kept in a file: an interrupted calibration continues where it stopped.
#pragma once
#include "runtime/system/Status.h"
#include "tools/accum-calibrate/Sample.h"
#include <cstdio>
#include <map>
#include <string>

namespace accum::calibrate {

/// One JSON line for each sample behind a line that says what measured it. Lines that do not read (a torn
/// last one) count as not measured; a file of another machine, thread count or version is started anew.
class Results {
public:
  /// Slugs `output-failed`, and `in-use` while another process has it open. `heading` identifies machine,
  /// threads and version.
  static runtime::Expected<Results> open(const std::string &path, const std::string &heading);
  Results(Results &&other) noexcept;
  ~Results();

  /// How many samples the file had.
  size_t found() const { return before; }
  const Sample *find(const std::string &key) const;
  /// Seconds of the reference, the median over all samples: the speed that they are brought to.
  double reference() const;
  /// Kept in the file before it returns.
  runtime::Status add(const std::string &key, const Sample &sample);
  /// Forgets the file, whose samples stand in the profile now.
  void remove();

private:
  Results(std::string path, std::FILE *file) : path(std::move(path)), file(file) {}
  std::string path;
  std::FILE *file;
  std::map<std::string, Sample> samples;
  size_t before = 0;
};

} // namespace accum::calibrate
