// SPDX-License-Identifier: Apache-2.0
// A row of a table as an option of CLI11, for the tools.
#ifndef ACCUM_RUNTIME_OPTIONS_COMMANDLINE_H
#define ACCUM_RUNTIME_OPTIONS_COMMANDLINE_H

#include "runtime/options/OptionRow.h"
#include <CLI/CLI.hpp>

namespace accum::runtime {

/// Its text is checked by `check(row, text)`, which returns a complaint, while it is parsed, and assigned to
/// `options` after. The row lives as long as the app.
template <typename Options, typename Check>
CLI::Option *declare(CLI::App &app, const OptionRow<Options> &row, Options &options, const std::string &shown,
                     Check check) {
  app.option_defaults()->group(row.help.empty() ? "" : row.group); // "": not listed
  std::string flag = row.letter ? std::string("-") + row.letter + "," + row.flag() : row.flag();
  if (const auto *isSet = std::get_if<bool Options::*>(&row.field))
    return app.add_flag(row.isNegatable ? flag + ",!--no-" + row.name : flag, options.*(*isSet), row.help);
  CLI::callback_t read = [&](const std::vector<std::string> &texts) {
    assign(row, texts, options);
    return true;
  };
  CLI::Option *option = app.add_option(flag, read, row.help)->type_name(shown);
  option->check([&row, check](const std::string &text) { return check(row, text); });
  if (row.isList())
    option->expected(CLI::detail::expected_max_vector_size)->allow_extra_args(row.takesMore);
  return option;
}

} // namespace accum::runtime
#endif
