// SPDX-License-Identifier: Apache-2.0
// Words of the command line, compared over the ranks by their hashes.
#include "tools/accum-run/training/SharedSettings.h"
#include "runtime/system/Hash.h"
#include <cstdio>

namespace accum::run {
namespace {

/// Of one option, with what it was given; `auto` is no path.
std::string textOf(const runtime::RunOption &row, const std::vector<runtime::Setting> &given) {
  bool isPath = row.agreement == runtime::Agreement::Presence;
  std::string text;
  for (const runtime::Setting &setting : given)
    if (setting.name == row.name)
      text = isPath && setting.text != "auto" ? "given" : text + '\n' + *setting.text;
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

int requireSameSettings(accum_session *session, bool isFirst, const std::vector<runtime::Setting> &given) {
  std::string all;
  for (const runtime::RunOption &row : runtime::runOptions())
    if (row.agreement != runtime::Agreement::None)
      all += row.flag() + ' ' + textOf(row, given) + '\n';
  bool isSame = true;
  if (int code = compare(session, all, isSame); code != 0 || isSame)
    return code;
  for (const runtime::RunOption &row : runtime::runOptions()) {
    if (row.agreement == runtime::Agreement::None)
      continue;
    if (int code = compare(session, textOf(row, given), isSame))
      return code;
    if (isSame)
      continue;
    runtime::Error error{runtime::kExitUsage,
                         "the ranks of this run were not all given the same " + row.flag(),
                         "other-run",
                         {"start all of them with the same options; paths may differ"}};
    if (isFirst)
      std::fputs(format(error).c_str(), stderr);
    return error.exitCode;
  }
  return 0;
}

} // namespace accum::run
