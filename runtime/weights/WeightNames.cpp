// SPDX-License-Identifier: Apache-2.0
// Prefixes are counted at every dot.
#include "runtime/weights/WeightNames.h"
#include "base/NearestNames.h"
#include <algorithm>

namespace accum::runtime {
namespace {

/// prefix(head) for each way to cut a name behind a dot whose tail is one of `names`.
template <typename Use>
void forEachKnownTail(const std::string &name, const std::set<std::string> &names, Use &&use) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (names.contains(name.substr(dot + 1)))
      use(name.substr(0, dot + 1));
}

} // namespace

std::string NamePrefix::fileName(const std::string &model) const {
  if (inFile)
    return text + model;
  return model.starts_with(text) ? model.substr(text.size()) : "";
}

NamePrefix bestPrefix(const std::vector<std::string> &model, const std::set<std::string> &file) {
  std::set<std::string> modelNames(model.begin(), model.end());
  std::map<std::string, size_t> ofModel, ofFile;
  size_t plain = 0;
  for (const std::string &name : modelNames) {
    plain += file.contains(name);
    forEachKnownTail(name, file, [&](const std::string &head) { ++ofModel[head]; });
  }
  for (const std::string &name : file)
    forEachKnownTail(name, modelNames, [&](const std::string &head) { ++ofFile[head]; });
  NamePrefix best;
  size_t most = plain;
  for (const auto &[counts, inFile] : {std::pair(&ofModel, false), std::pair(&ofFile, true)})
    for (const auto &[head, count] : *counts)
      if (count > most) {
        most = count;
        best = {head, inFile};
      }
  return best;
}

} // namespace accum::runtime
