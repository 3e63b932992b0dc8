// SPDX-License-Identifier: Apache-2.0
// From MLIR diagnostics to messages for people and an exit code.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include <string>
#include <vector>

namespace accum::driver {

/// Exit code of the slug that `message` ends in; 70, an internal error, where it ends in none of Errors.def.
int exitCodeOf(llvm::StringRef message);

/// Collects what phases report. Passes only fail; this decides what is printed and what the process returns.
class Diagnostics {
public:
  /// `subject` goes in front of messages, e.g. the model's file name.
  Diagnostics(mlir::MLIRContext &context, std::string subject);

  /// Prints everything to stderr in order, errors with their notes.
  void print() const;
  /// That of the first error; 70 where something failed without saying why.
  int exitCode() const;
  /// The slug of the first error; "internal" where it has none.
  std::string reason() const;
  const std::vector<std::string> &errors() const { return messages; }
  /// Errors from rooms that do not use MLIR.
  void add(const std::string &message, const std::vector<std::string> &notes = {});
  void addNotice(const std::string &text);
  /// Below the last error.
  void addNote(const std::string &text);
  /// Something failed, and all of it because the graph relates samples.
  bool onlyCrossBatch() const;

private:
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  std::string subject;
  std::vector<std::string> messages; // errors only
  std::vector<std::string> lines;    // all, as printed
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace accum::driver
