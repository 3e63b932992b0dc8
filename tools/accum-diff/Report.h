// SPDX-License-Identifier: Apache-2.0
// A comparison as text and as JSON.
#ifndef ACCUM_DIFF_REPORT_H
#define ACCUM_DIFF_REPORT_H

#include "tools/accum-diff/Compare.h"

namespace accum::diff {

/// The `rows` worst tensors, what is missing on either side, and one closing line.
std::string toText(const Comparison &comparison, size_t rows);
std::string toJson(const Comparison &comparison);

} // namespace accum::diff
#endif
