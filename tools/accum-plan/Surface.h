// SPDX-License-Identifier: Apache-2.0
// What the two forms of input share: the flags, files, and how an error is shown.
#pragma once
#include "compiler/Planner/Problem/Deadline.h"
#include "compiler/Planner/Problem/Result.h"
#include <cstdint>
#include <string>

namespace accum::planner {

struct Flags {
  std::string input, output, report, memory, target = "host", microBatch = "auto";
  std::string recompute = "auto", shard = "none", offload = "none", prefer = "balanced";
  int64_t batch = 0, devices = 0, steps = 0, capacity = 0, effort = 300;
  uint64_t seed = 0;
  double deadline = 0; ///< seconds, 0: none
  Deadline end = {};   ///< so long behind the start of the process
  bool requireDivisible = false, explain = false, json = false;
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
