// SPDX-License-Identifier: Apache-2.0
// How the import library says no: a list of failures, so that everything wrong with a model is told at once.
#pragma once
#include "base/Expected.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace accum::import {

/// One thing wrong with the user's model, file or flag. Printed as
/// `error: <subject>: <message> [<slug>]`, then one `note:` line for each note.
/// The slugs of this library and the exit codes they stand for:
///   malformed-model (3), missing-file (3), unsupported (1),
///   no-trainable-parameter (1), no-such-parameter (2).
struct Failure {
  std::string slug;               ///< stable word, without brackets
  std::string subject;            ///< the file, or the node's, tensor's or flag's name in backquotes
  std::string message;            ///< one lowercase sentence without a full stop
  std::vector<std::string> notes; ///< ways out, each one sentence
};
using Failures = std::vector<Failure>;

/// A value, or why there is none. Never both; the list of failures is never empty.
template <class T> class [[nodiscard]] Result : public Expected<T, Failures> {
public:
  using Expected<T, Failures>::Expected;
  Result(Failure failure) : Expected<T, Failures>(Failures{std::move(failure)}) {}

  const Failures &failures() const { return this->error(); }
  Failures takeFailures() { return std::move(this->error()); }
};

/// What Result holds for functions that only check or rewrite.
struct Done {};

/// How names appear in subjects and messages.
inline std::string backquoted(std::string_view name) { return "`" + std::string(name) + "`"; }

} // namespace accum::import
