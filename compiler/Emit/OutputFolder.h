// SPDX-License-Identifier: Apache-2.0
// A folder that appears whole or not at all, and never takes anything of the user's with it.
#pragma once

#include "compiler/Emit/RemoveOnSignal.h"
#include "runtime/system/Status.h"
#include <filesystem>
#include <memory>

namespace accum::emit {

class OutputFolder {
public:
  /// Makes a temporary folder beside `place`, and removes those of runs that were killed outright. Refuses,
  /// before anything is touched, a place that is not free: a file, or a folder with anything but the files of
  /// an artifact's manifest [output-not-ours].
  static runtime::Expected<std::unique_ptr<OutputFolder>> create(const std::filesystem::path &place);
  /// Without commit the temporary folder disappears, also where a signal ends the process.
  ~OutputFolder();
  OutputFolder(const OutputFolder &) = delete;
  OutputFolder &operator=(const OutputFolder &) = delete;

  /// Where a file is written until commit.
  std::filesystem::path file(const std::string &name) const { return temporary / name; }
  /// The folder itself, until commit.
  const std::filesystem::path &folder() const { return temporary; }
  runtime::Status writeText(const std::string &name, const std::string &text);
  /// [output-failed] where the disk has less room: linkers crash on a full one.
  runtime::Status requireRoom(uint64_t bytes) const;
  /// Puts the folder in its place, instead of an older artifact.
  runtime::Status commit();

private:
  OutputFolder(std::filesystem::path place, std::filesystem::path temporary);

  std::filesystem::path place, temporary;
  RemoveOnSignal interrupted;
  int lock; ///< descriptor of the temporary folder: others see that it is in use
};

/// `subject` cannot be written, because of `reason` [output-failed].
runtime::Error outputFailed(const std::filesystem::path &subject, const std::string &reason);

} // namespace accum::emit
