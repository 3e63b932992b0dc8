// SPDX-License-Identifier: Apache-2.0
// From MLIR diagnostics to messages for people and an exit code.
#pragma once

#include "compiler/Driver/Output.h"
#include "mlir/IR/Diagnostics.h"
#include <string>
#include <vector>

namespace accum::driver {

/// Exit code of the slug that `message` ends in; 70, an internal error, where it ends in none of Errors.def.
int exitCodeOf(llvm::StringRef message);

/// Errors and notices in the order in which they came.
class Messages {
public:
  explicit Messages(std::string subject) : subject(std::move(subject)) {}

  /// Errors from rooms that do not use MLIR.
  void add(const std::string &message, const std::vector<std::string> &notes = {});
  void addNotice(const std::string &text);
  /// From now on notices are left out, as of a model that is compiled once more.
  void quietNotices(bool quiet) { isQuiet = quiet; }
  /// Those of work that was done alongside.
  void append(const Messages &others);

protected:
  std::string subject;
  std::vector<Message> messages;
  bool isQuiet = false;
};

/// Collects what phases report. Passes only fail; this decides what is printed and what the process returns.
class Diagnostics : public Messages {
public:
  /// `subject` goes in front of messages, e.g. the model's file name.
  Diagnostics(mlir::MLIRContext &context, std::string subject);

  /// Says everything in order, errors with their notes.
  void say(Output &output) const;
  /// That of the first error; 70 where something failed without saying why.
  int exitCode() const;
  /// The slug of the first error; "internal" where it has none.
  std::string reason() const;
  std::vector<std::string> errors() const;
  /// Below the last message.
  void addNote(const std::string &text);
  /// Something failed, and all of it because the graph relates samples.
  bool onlyCrossBatch() const;

  /// Those that begin so, which what followed has overtaken.
  void dropNotices(llvm::StringRef prefix);

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  const Message *firstError() const;

  mlir::ScopedDiagnosticHandler handler;
};

} // namespace accum::driver
