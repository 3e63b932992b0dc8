// SPDX-License-Identifier: Apache-2.0
// How the runtime reports: an Error carries the process's exit code, one sentence, a stable word and the way
// out.
#ifndef ACCUM_RUNTIME_SYSTEM_STATUS_H
#define ACCUM_RUNTIME_SYSTEM_STATUS_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
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

/// Control characters as `\x00`: what a file holds neither ends a C string nor steers a terminal.
std::string printable(std::string_view text);

/// A name from a file, as messages show it.
inline std::string quotedName(const std::string &name) { return "`" + name + "`"; }

/// What the caller, or the command line, asked for cannot be.
Error usage(const std::string &message, std::vector<std::string> notes = {});
/// A file of samples does not hold what the model needs.
Error badData(const std::string &message);

/// "error: MESSAGE [SLUG]" and one "note: ..." line per note, each ending in a newline; empty for an error
/// without a message, which another rank reports.
std::string format(const Error &error);

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::move(error)) {}
  explicit operator bool() const { return !failure; }
  const Error &error() const { return *failure; }

private:
  std::optional<Error> failure;
};

template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : content(std::move(value)) {}
  Expected(Error error) : content(std::move(error)) {}
  explicit operator bool() const { return std::holds_alternative<T>(content); }
  T &operator*() { return std::get<T>(content); }
  const T &operator*() const { return std::get<T>(content); }
  T *operator->() { return &std::get<T>(content); }
  const T *operator->() const { return &std::get<T>(content); }
  const Error &error() const { return std::get<Error>(content); }

private:
  std::variant<T, Error> content;
};

} // namespace accum::runtime
#endif
