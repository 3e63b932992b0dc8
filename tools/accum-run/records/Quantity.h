// SPDX-License-Identifier: Apache-2.0
// Numbers and times as people read them.
#ifndef ACCUM_RUN_RECORDS_QUANTITY_H
#define ACCUM_RUN_RECORDS_QUANTITY_H

#include <string>

namespace accum::run {

/// `2.08M`: three digits, and k, M, G or T.
std::string withPrefix(double value);
/// Of seconds: `45s`, `12m05s`, `2h38m`.
std::string duration(double seconds);

} // namespace accum::run
#endif
