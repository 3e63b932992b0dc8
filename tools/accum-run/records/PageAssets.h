// SPDX-License-Identifier: Apache-2.0
// Style and script of the page, compiled in.
#ifndef ACCUM_RUN_RECORDS_PAGEASSETS_H
#define ACCUM_RUN_RECORDS_PAGEASSETS_H

#include <string_view>

namespace accum::run {

std::string_view pageStyle();
std::string_view pageScript();

} // namespace accum::run
#endif
