// SPDX-License-Identifier: Apache-2.0
// Options that the command-line reference names and this version does not have.
#ifndef ACCUM_RUN_NOTBUILT_H
#define ACCUM_RUN_NOTBUILT_H

#include "runtime/system/Status.h"

namespace accum::run {

/// An error (exit 2) that names the first such option among the words.
runtime::Status refuseNotBuilt(const std::vector<std::string> &words);

} // namespace accum::run
#endif
