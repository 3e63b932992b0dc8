// SPDX-License-Identifier: Apache-2.0
// A value, or one sentence that says why there is none: the planner's only way to report what a file or a
// flag caused.
#pragma once
#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace accum::planner {

/// `message` is one lower-case sentence without the slug; `slug` is the stable word the driver prints last,
/// in brackets. `line` is the 1-based line of the text the message is about, 0 where there is none.
struct Error {
  std::string message;
  std::string slug;
  std::vector<std::string> notes = {};
  int line = 0;
};

template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::move(value)) {}
  Result(Error error) : state(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(state); }
  T &operator*() { return std::get<T>(state); }
  const T &operator*() const { return std::get<T>(state); }
  T *operator->() { return &std::get<T>(state); }
  const T *operator->() const { return &std::get<T>(state); }
  const Error &error() const { return std::get<Error>(state); }

private:
  std::variant<T, Error> state;
};

/// Success or an Error, where there is no value to return.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failed(true), what(std::move(error)) {}

  explicit operator bool() const { return !failed; }
  const Error &error() const {
    assert(failed);
    return what;
  }

private:
  bool failed = false;
  Error what;
};

} // namespace accum::planner
