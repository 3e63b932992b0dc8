// SPDX-License-Identifier: Apache-2.0
// Reports and dumps beside the artifact.
#include "compiler/Driver/TextFile.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace accum::driver {

std::string writeTextFile(const std::string &path, llvm::StringRef text) {
  std::ofstream file(path, std::ios::binary);
  if (!file)
    return std::strerror(errno);
  errno = 0;
  if (file.write(text.data(), static_cast<std::streamsize>(text.size())) && file.flush())
    return "";
  std::string why = std::strerror(errno);
  file.close();
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored))
    std::filesystem::remove(path, ignored);
  return why;
}

} // namespace accum::driver
