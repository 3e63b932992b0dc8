// SPDX-License-Identifier: Apache-2.0
// Options that all ranks of a run must have been given alike.
#ifndef ACCUM_RUN_TRAINING_SHAREDSETTINGS_H
#define ACCUM_RUN_TRAINING_SHAREDSETTINGS_H

#include "runtime/accum_runtime.h"
#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

namespace accum::run {

/// An option's name, and what was given for it.
using Setting = std::pair<std::string, std::string>;

/// Of every option, in the order of their declaration, whether it was given or not. Of files and folders,
/// which may lie elsewhere on another machine, only whether they were given; what concerns one process alone
/// is left out.
std::vector<Setting> sharedSettings(const CLI::App &app);

/// Refuses (exit 2) what is not the same on all ranks, on each of them; rank 0 names it on stderr. Slug
/// `other-run`.
int requireSameSettings(accum_session *session, bool isFirst, const std::vector<Setting> &settings);

} // namespace accum::run
#endif
