// SPDX-License-Identifier: Apache-2.0
// Through files, so that neither stream can block the other.
#include "test/runtime/Command.h"
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace accum::test {
namespace {

std::string contentOf(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

} // namespace

Outcome runCommand(const std::string &command) {
  std::string base = ACCUM_TEST_FOLDER "/command-" + std::to_string(getpid());
  int status = std::system(("(" + command + ") >" + base + ".out 2>" + base + ".err </dev/null").c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contentOf(base + ".out"),
                  contentOf(base + ".err")};
  unlink((base + ".out").c_str());
  unlink((base + ".err").c_str());
  return outcome;
}

} // namespace accum::test
