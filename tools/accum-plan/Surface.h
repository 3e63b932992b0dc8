// SPDX-License-Identifier: Apache-2.0
// What the two forms of input share: the flags, files, and how an error is shown.
#pragma once
#include "compiler/Planner/Problem/Options.h"
#include "compiler/Planner/Problem/Result.h"
#include <cstdint>
#include <string>

namespace accum::planner {

/// batch, devices: 0, what the problem says.
struct Flags : Options {
  Flags() { batch = devices = 0; }

  std::string input, output, report, memory, target = "host", microBatchText = "auto";
  int64_t capacity = 0, effort = 300;
  double seconds = 0; ///< until the deadline, 0: none
  bool explain = false, json = false;
  std::string commandLine;
};

/// Prints an error and its notes; returns the exit code of its slug.
int fail(const Error &error);

/// Prints a notice.
void note(const std::string &notice);

/// A whole file of at most 2 GiB. Slug `file-unreadable`.
Result<std::string> readInput(const std::string &path);

/// Writes to a file, or to the standard output where no name is given. A file appears whole or not at all.
/// Slug `output-failed`.
Status writeOutput(const std::string &path, const std::string &text);

/// Packs the rectangles of a CSV; returns the exit code.
int packTable(const Flags &flags, const std::string &text);

/// Plans a problem in text form; returns the exit code.
int planProblem(const Flags &flags, const std::string &text);

} // namespace accum::planner
