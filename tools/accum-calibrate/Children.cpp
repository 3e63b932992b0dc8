// SPDX-License-Identifier: Apache-2.0
// posix_spawn in this process's group, so that Ctrl-C reaches the child too.
#include "tools/accum-calibrate/Children.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace accum::calibrate {

using runtime::Error;
using runtime::Expected;
using runtime::Status;

namespace fs = std::filesystem;

std::string besideThis(const std::string &program) {
  std::error_code failed;
  fs::path self = fs::read_symlink("/proc/self/exe", failed);
  fs::path path = self.parent_path() / program;
  return !failed && fs::exists(path, failed) ? path.string() : program;
}

Status runChild(const std::vector<std::string> &words, const std::string &outFile,
                const std::string &errFile) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, outFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, errFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  int failed = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed)
    return Error{runtime::kExitFile, words[0] + ": cannot be started: " + std::strerror(failed),
                 "child-failed"};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {};
  std::ifstream file(errFile);
  std::stringstream said;
  said << file.rdbuf();
  Error error{runtime::kExitRunFailed, fs::path(words[0]).filename().string() + " failed", "child-failed"};
  for (std::string line; std::getline(said, line);)
    error.notes.push_back(line);
  return error;
}

Expected<TemporaryFolder> TemporaryFolder::make() {
  std::error_code failed;
  fs::path base = fs::temp_directory_path(failed);
  std::string pattern = ((failed ? fs::path("/tmp") : base) / "accum-calibrate-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    return Error{runtime::kExitFile, pattern + ": cannot be made: " + std::strerror(errno), "output-failed"};
  return TemporaryFolder(pattern);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other) noexcept : folder(std::move(other.folder)) {
  other.folder.clear();
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!folder.empty())
    fs::remove_all(folder, ignored);
}

} // namespace accum::calibrate
