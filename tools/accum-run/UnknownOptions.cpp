// SPDX-License-Identifier: Apache-2.0
// Options of the compiler, and the nearest one of the run.
#include "tools/accum-run/UnknownOptions.h"
#include "base/NearestNames.h"
#include "tools/accum-run/Options.h"
#include <algorithm>
#include <iterator>
#include <string_view>

namespace accum::run {
namespace {

/// Those of accumc's own table.
constexpr std::string_view kOfTheCompiler[] = {
#define GROUP(...)
#define OPTION(name, ...) "--" name,
#include "compiler/Driver/Options.def"
};

std::string nearest(const std::string &flag, const CLI::App &app) {
  std::vector<std::string> flags;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      flags.push_back("--" + name);
  return nearestName(flag, flags);
}

runtime::Error refusal(std::string message, std::string note) {
  return {runtime::kExitUsage, std::move(message), "usage", {std::move(note)}};
}
} // namespace

runtime::Status checkUnknown(const CLI::App &app) {
  std::vector<std::string> words = app.remaining();
  if (words.empty())
    return {};
  auto flag =
      std::find_if(words.begin(), words.end(), [](const auto &word) { return word.starts_with("-"); });
  if (flag == words.end())
    return usage("`" + words.front() + "` is one word too many: one artifact at a time");
  std::string name = flag->substr(0, flag->find('='));
  if (std::find(std::begin(kOfTheCompiler), std::end(kOfTheCompiler), name) != std::end(kOfTheCompiler))
    return refusal(name + " belongs to the compiler",
                   "accumc MODEL.onnx " + name + " ... makes another artifact");
  std::string meant = nearest(name, app);
  return refusal(name + " is no option", meant.empty() ? "accum-run --help lists them" : "nearest: " + meant);
}

} // namespace accum::run
