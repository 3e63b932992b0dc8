// SPDX-License-Identifier: Apache-2.0
// Programs of ours that are run as children, and folders that go away again.
#pragma once
#include "runtime/system/Status.h"
#include <string>
#include <vector>

namespace accum::calibrate {

/// A program beside this one, else its bare name for the path.
std::string besideThis(const std::string &program);

/// Runs words with its output in files; its exit code, or an error with what it said to stderr (slug
/// `child-failed`). A signal that stops this program stops the child.
runtime::Status runChild(const std::vector<std::string> &words, const std::string &outFile,
                         const std::string &errFile);

/// A new folder below TMPDIR, removed with everything in it.
class TemporaryFolder {
public:
  static runtime::Expected<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder &&other) noexcept;
  ~TemporaryFolder();
  const std::string &path() const { return folder; }

private:
  explicit TemporaryFolder(std::string path) : folder(std::move(path)) {}
  std::string folder;
};

} // namespace accum::calibrate
