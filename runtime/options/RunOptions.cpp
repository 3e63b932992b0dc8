// SPDX-License-Identifier: Apache-2.0
// Options of a session by their names.
#include "runtime/options/RunOptions.h"

namespace accum::runtime {
namespace {

/// Of one option that a session takes.
Status take(const RunOption &row, const std::vector<std::string> &texts, RunOptions &options) {
  if (texts.empty()) {
    static const RunOptions unset;
    std::visit(
        [&](auto field) {
          if constexpr (std::is_member_object_pointer_v<decltype(field)>)
            options.*field = unset.*field;
        },
        row.field);
    return {};
  }
  for (const std::string &text : texts) {
    bool isRead = row.isNumber() && numberIn(text); // whose range the optimizer knows
    if (std::string wrong = isRead ? "" : complaint(row, text); !wrong.empty())
      return usage(row.flag() + ": " + wrong);
  }
  assign(row, texts, options);
  return {};
}

} // namespace

std::optional<double> &HyperOptions::given(HyperName name) {
  constexpr std::optional<double> HyperOptions::*kFields[] = {&HyperOptions::momentum, &HyperOptions::beta1,
                                                              &HyperOptions::beta2, &HyperOptions::eps};
  return this->*kFields[size_t(name)];
}

const RunOption *findRunOption(std::string_view name) {
  auto row = std::ranges::find(runOptions(), name,
                               [](const RunOption &each) { return std::string_view(each.name); });
  return row == runOptions().end() ? nullptr : &*row;
}

Status takeSettings(const std::vector<Setting> &settings, RunOptions &options) {
  for (const Setting &setting : settings) {
    const RunOption *row = findRunOption(setting.name);
    if (!row || row->owner == OptionOwner::Process)
      return usage("`" + setting.name + "` is no option of a session");
  }
  for (const RunOption &row : runOptions()) {
    std::vector<std::string> texts;
    bool isNamed = false;
    for (const Setting &setting : settings)
      if (setting.name == row.name) {
        isNamed = true;
        if (setting.text)
          texts.push_back(*setting.text);
      }
    if (Status status = isNamed ? take(row, texts, options) : Status(); !status)
      return status;
  }
  return {};
}

} // namespace accum::runtime
