// SPDX-License-Identifier: Apache-2.0
// The data options of a command line, as the runtime takes them.
#ifndef ACCUM_RUN_TRAINING_RUNDATA_H
#define ACCUM_RUN_TRAINING_RUNDATA_H

#include "runtime/accum_runtime.h"
#include "tools/accum-run/Options.h"

namespace accum::run {

/// Valid as long as the options.
accum_data_options dataOptions(const Options &options);
std::vector<const char *> pathsOf(const std::vector<std::string> &words);
/// What is trained on, where something is given. An exit code.
int bindData(const Options &options, accum_session *session);

} // namespace accum::run
#endif
