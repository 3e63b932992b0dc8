// SPDX-License-Identifier: Apache-2.0
// Names the tensors, the reason and the way out.
#include "compiler/Import/parameters/ParameterRefusals.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

namespace accum::import {

Failure computedByExport(const std::vector<std::string> &names, const std::string &reason, bool isTraced) {
  constexpr size_t shown = 4;
  std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
  std::vector<std::string> shownNames(names.begin(), names.begin() + std::min(shown, names.size()));
  std::string others = names.size() > shown ? " ..." : "";
  return {"unsupported",
          backquoted(names.front()) + more,
          reason + " when the model was exported; training it would not train the parameter",
          {isTraced ? "re-export with do_constant_folding=False" : "re-export with optimize=False",
           fmt::format("or leave it as it is: --freeze {}{}", fmt::join(shownNames, " --freeze "), others)}};
}

Failure disagreement(const std::vector<std::string> &names, std::string_view flag) {
  return {
      "lost-in-export",
      fmt::format("`{}`", fmt::join(names, "` and `")),
      "are equal in the file and taken for one parameter, of which one name is trained and another frozen",
      {fmt::format("{} trains what is equal apart", flag),
       "or give all of its names to --freeze or --trainable"}};
}

Failure mergedByExport(const std::vector<std::string> &names) {
  return {"lost-in-export",
          fmt::format("`{}`", fmt::join(names, "` and `")),
          "were equal when the model was exported, and are one tensor in the file: it cannot be trained as "
          "several",
          {"re-export with optimize=False, which keeps them apart"}};
}

static Failure notInFile(std::string option, const std::vector<std::string> &names) {
  std::string more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
  return {"lost-in-export",
          std::move(option),
          fmt::format("matches {}{}, not in the file: unused, equal to another when the model was exported, "
                      "or part of what was computed then",
                      backquoted(names.front()), more),
          {"export with optimize=False, which keeps apart what was equal, and computes nothing"}};
}

Failure matchesNone(std::string_view slug, std::string subject, const std::string &pattern,
                    std::vector<std::string> ofModel, std::string names) {
  std::erase_if(ofModel, [&](const std::string &name) { return !matchesGlob(pattern, name); });
  if (!ofModel.empty())
    return notInFile(std::move(subject), ofModel);
  return {std::string(slug), std::move(subject), "matches no parameter", {std::move(names)}};
}

Failures refuseTypes(const std::vector<const Parameter *> &all) {
  std::map<DType, std::vector<const Parameter *>> trained;
  for (const Parameter *parameter : all)
    trained[computedIn(parameter->dtype)].push_back(parameter);
  DType kept =
      trained.contains(DType::Float32) || !trained.contains(DType::Float64) ? DType::Float32 : DType::Float64;
  Failures failures;
  for (const auto &[dtype, parameters] : trained) {
    if (dtype == kept)
      continue;
    const Parameter &first = *parameters.front();
    size_t others = parameters.size() - 1;
    Failure failure{"unsupported",
                    backquoted(first.name) + (others ? fmt::format(" and {} more", others) : ""),
                    fmt::format("{} of type {}, expected {} of what is trained", others ? "are" : "is",
                                name(dtype), name(kept)),
                    {"export the model in one type: model.float(), or model.double()"}};
    std::vector<std::string> flags;
    for (const Parameter *parameter : parameters)
      flags.push_back("--freeze " + parameter->name);
    constexpr size_t shown = 4;
    if (flags.size() <= shown)
      failure.notes.push_back(
          fmt::format("or leave {} as in the file: {}", others ? "them" : "it", fmt::join(flags, " ")));
    failures.push_back(std::move(failure));
  }
  return failures;
}

} // namespace accum::import
