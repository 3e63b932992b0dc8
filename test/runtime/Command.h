// SPDX-License-Identifier: Apache-2.0
// Runs a shell command and keeps what it said.
#ifndef ACCUM_TEST_COMMAND_H
#define ACCUM_TEST_COMMAND_H

#include <string>

namespace accum::test {

struct Outcome {
  int code;
  std::string out, err;
};

Outcome runCommand(const std::string &command);

/// accum-run with these words.
inline Outcome accumRun(const std::string &words) { return runCommand(ACCUM_RUN " " + words); }

} // namespace accum::test
#endif
