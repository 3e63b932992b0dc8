// SPDX-License-Identifier: Apache-2.0
// What a command line may have meant by a word that is no option.
#ifndef ACCUM_RUN_UNKNOWNOPTIONS_H
#define ACCUM_RUN_UNKNOWNOPTIONS_H

#include "runtime/system/Status.h"
#include <CLI/CLI.hpp>

namespace accum::run {

/// Exit 2 for the first word that the parsed `app` could not place, with the option that it is nearest to.
runtime::Status checkUnknown(const CLI::App &app);

} // namespace accum::run
#endif
