// SPDX-License-Identifier: Apache-2.0
// `--on-cross-batch disable`: a graph that relates samples, trained on the whole batch at once.
#pragma once

#include "compiler/Driver/Options.h"
#include "compiler/Planner/Search/Solve.h"

namespace accum::driver {

/// Says on stderr why the batch cannot be cut and what happens instead; false, with an error [usage] or
/// [not-built], where these options leave no whole batch on one device.
bool announceWholeBatch(const Options &options, const std::vector<std::string> &causes);

/// Only the check, without a word.
Options checkAlone(const Options &options);
/// The same compilation without accumulation.
Options wholeBatch(const Options &options);
/// The same up to its plan and without a word: how much memory the whole batch takes. Needs a --batch.
Options wholeBatchTrial(const Options &options);

/// The note below a refusal: how to compile all the same, and whether it fits.
std::string wholeBatchNote(const Options &options, const planner::Search &search);

} // namespace accum::driver
