// SPDX-License-Identifier: Apache-2.0
// Words of the command line, compared over the ranks by their hashes.
#include "tools/accum-run/training/SharedSettings.h"
#include "runtime/system/Hash.h"
#include "runtime/system/Status.h"
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace accum::run {
namespace {

constexpr std::string_view kPaths[] = {"artifact", "--data", "--eval", "--init", "--checkpoint", "--best"};
constexpr std::string_view kOfOneProcess[] = {"--help",     "--version",     "--include-dir", "--launcher",
                                              "--threads",  "--offload-dir", "--save",        "--log",
                                              "--report",   "--profile",     "--progress",    "--tensorboard",
                                              "--describe", "--names",       "--export-dtype"};

template <size_t N> bool isAmong(const std::string_view (&names)[N], const std::string &name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::string textOf(const CLI::Option &option, const std::string &name) {
  if (option.count() == 0)
    return "";
  std::string text = "given";
  bool isFolder = name == "--resume" && option.results().front() != "auto";
  if (isFolder || isAmong(kPaths, name))
    return text;
  for (const std::string &word : option.results())
    text += '\n' + word;
  return text;
}

/// Whether all ranks have this text. Returns 0, or the exit code of what went wrong, which it says.
int compare(accum_session *session, const std::string &text, bool &isSame) {
  runtime::RunningHash hash;
  hash.add(text.data(), text.size());
  auto value = int64_t(hash.value() >> 1); // of which the opposite is a number, too
  int64_t largest = 0, least = 0;
  int code = accum_maximum(session, value, &largest);
  if (code == 0)
    code = accum_maximum(session, -value, &least);
  if (code != 0)
    std::fputs(accum_last_error(), stderr);
  isSame = largest == -least;
  return code;
}

} // namespace

std::vector<Setting> sharedSettings(const CLI::App &app) {
  std::vector<Setting> settings;
  for (const CLI::Option *option : app.get_options())
    if (std::string name = option->get_name(); !isAmong(kOfOneProcess, name))
      settings.emplace_back(name, textOf(*option, name));
  return settings;
}

int requireSameSettings(accum_session *session, bool isFirst, const std::vector<Setting> &settings) {
  std::string all;
  for (const auto &[name, text] : settings)
    all += name + ' ' + text + '\n';
  bool isSame = true;
  if (int code = compare(session, all, isSame); code != 0 || isSame)
    return code;
  for (const auto &[name, text] : settings) {
    if (int code = compare(session, text, isSame))
      return code;
    if (isSame)
      continue;
    runtime::Error error{runtime::kExitUsage,
                         "the ranks of this run were not all given the same " + name,
                         "other-run",
                         {"start all of them with the same options; paths may differ"}};
    if (isFirst)
      std::fputs(format(error).c_str(), stderr);
    return error.exitCode;
  }
  return 0;
}

} // namespace accum::run
