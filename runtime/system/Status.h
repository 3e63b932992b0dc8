// SPDX-License-Identifier: Apache-2.0
// How the runtime reports: an Error carries the process's exit code, one sentence, a stable word and the way
// out.
#ifndef ACCUM_RUNTIME_SYSTEM_STATUS_H
#define ACCUM_RUNTIME_SYSTEM_STATUS_H

#include "base/Expected.h"
#include <string>
#include <vector>

namespace accum::runtime {

/// Exit codes of the tools; see the command-line reference.
enum ExitCode {
  kExitSuccess = 0,
  kExitUsage = 2,
  kExitFile = 3,
  kExitRunFailed = 4,
  kExitStopped = 5,
  kExitInternal = 70
};

struct Error {
  int exitCode;
  std::string message; ///< one lowercase sentence that names the file, array or node
  std::string slug;    ///< stable word, printed last in brackets
  std::vector<std::string> notes = {};
};

/// A name from a file, as messages show it.
inline std::string quotedName(const std::string &name) { return "`" + name + "`"; }

/// What the caller, or the command line, asked for cannot be.
Error usage(const std::string &message, std::vector<std::string> notes = {});
/// A file of samples does not hold what the model needs.
Error badData(const std::string &message);

/// "error: MESSAGE [SLUG]" and one "note: ..." line per note, each ending in a newline; empty for an error
/// without a message, which another rank reports.
std::string format(const Error &error);

using Status = Success<Error>;
template <typename T> using Expected = accum::Expected<T, Error>;

} // namespace accum::runtime
#endif
