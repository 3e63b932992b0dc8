// SPDX-License-Identifier: Apache-2.0
// The command line of accum-run.
#ifndef ACCUM_RUN_OPTIONS_H
#define ACCUM_RUN_OPTIONS_H

#include "runtime/options/RunOptions.h"

namespace accum::run {

struct Options : runtime::RunOptions {
  std::vector<runtime::Setting> given; ///< in the table's order, a text each
  std::vector<std::string> words;      ///< the command line again, for processes that are started with it

  /// Something to print and an exit code of 0, instead of a run: --help, --version, --include-dir.
  std::optional<std::string> answer;
};

/// Exit 2 with the sentence of the caller or of CLI11.
runtime::Error usage(std::string message);

/// Refuses (exit 2) what is wrong, unknown or contradictory.
runtime::Expected<Options> parseOptions(int argc, char **argv);

} // namespace accum::run
#endif
