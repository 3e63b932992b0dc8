// SPDX-License-Identifier: Apache-2.0
// Files in and out, errors on the terminal.
#include "tools/accum-plan/Surface.h"
#include "base/Printable.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <map>
#include <unistd.h>

namespace accum::planner {

namespace {

constexpr size_t kLargestFile = size_t{1} << 31;
/// A sentence is cut behind so many bytes: a word of a damaged file may be the whole file.
constexpr size_t kLongestMessage = 600;

std::string shown(const std::string &message) {
  std::string text = printable(message.substr(0, kLongestMessage));
  return message.size() > kLongestMessage ? text + "..." : text;
}

Error unwritable(const std::string &path) { return {path + ": cannot be written", "output-failed"}; }

/// A device or a pipe is written to; everything else is replaced.
bool isReplaced(const std::filesystem::path &path) {
  std::error_code failed;
  auto status = std::filesystem::status(path, failed);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

} // namespace

int fail(const Error &error) {
  static const std::map<std::string, int> codes = {
#define ACCUM_ERROR(slug, exitCode, meaning) {slug, exitCode},
#include "compiler/Driver/Errors.def"
  };
  std::cerr << fmt::format("error: {} [{}]\n", shown(error.message), error.slug);
  for (const std::string &note : error.notes)
    std::cerr << "note: " << shown(note) << "\n";
  auto code = codes.find(error.slug);
  return code == codes.end() ? 70 : code->second;
}

void note(const std::string &notice) { std::cerr << "notice: " << shown(notice) << "\n"; }

Result<std::string> readInput(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::string block(1 << 20, '\0');
  while (file && text.size() <= kLargestFile) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block, 0, static_cast<size_t>(file.gcount()));
  }
  if (text.size() > kLargestFile)
    return Error{fmt::format("{}: is larger than {} bytes", path, kLargestFile), "file-unreadable"};
  if (!file.eof() || file.bad())
    return Error{fmt::format("{}: cannot be read", path), "file-unreadable"};
  return text;
}

Status writeOutput(const std::string &path, const std::string &text) {
  if (path.empty()) {
    std::cout << text << std::flush;
    return std::cout ? Status() : unwritable("standard output");
  }
  bool replaces = isReplaced(path);
  std::error_code failed;
  std::filesystem::path target = std::filesystem::weakly_canonical(path, failed);
  if (failed)
    return unwritable(path);
  std::string written = replaces ? fmt::format("{}.{}.tmp", target.string(), ::getpid()) : path;
  std::ofstream file(written, std::ios::binary);
  bool isWritten = file && file << text && file.flush();
  file.close();
  if (isWritten && replaces)
    std::filesystem::rename(written, target, failed);
  if (isWritten && !failed)
    return {};
  if (replaces)
    std::filesystem::remove(written, failed);
  return unwritable(path);
}

} // namespace accum::planner
