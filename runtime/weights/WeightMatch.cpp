// SPDX-License-Identifier: Apache-2.0
// Names first, with one prefix for all; then layouts, one convention for all.
#include "runtime/weights/WeightMatch.h"
#include "runtime/weights/WeightNames.h"
#include <algorithm>

namespace accum::runtime {
namespace {

using Aliases = std::vector<AliasSpec>;

Aliases onnxNames(const ParameterSpec &param) {
  Aliases all = {{param.onnxName, false}};
  all.insert(all.end(), param.aliases.begin(), param.aliases.end());
  return all;
}

const AliasSpec *find(const Aliases &aliases, const std::string &name) {
  auto found = std::ranges::find(aliases, name, &AliasSpec::name);
  return found == aliases.end() ? nullptr : &*found;
}

bool isSameLayout(const AliasSpec &a, const AliasSpec &b) {
  return a.transposed == b.transposed && a.added == b.added;
}

bool fits(const Array &array, const ParameterSpec &param, const AliasSpec &as) {
  std::vector<int64_t> shape = param.shape;
  if (as.transposed)
    std::swap(shape[0], shape[1]);
  return array.shape == shape;
}

class Matcher {
public:
  Matcher(const Manifest &manifest, const std::vector<Array> &arrays, const std::string &path)
      : manifest(manifest), path(path) {
    for (const Array &array : arrays)
      byName[array.name] = &array;
  }

  Expected<WeightMatch> match(const std::string &names);

private:
  const Array *arrayOf(const std::string &modelName) const {
    auto found = byName.find(prefix.fileName(modelName));
    // `lm_head.weight` stands beside the module whose names have the prefix.
    found = found == byName.end() ? byName.find(modelName) : found;
    return found == byName.end() ? nullptr : found->second;
  }
  void choosePrefix();
  Status chooseConvention();
  void weigh(const ParameterSpec &param, const AliasSpec &as);
  Aliases namesOf(const ParameterSpec &param) const;

  const Manifest &manifest;
  const std::string &path;
  std::map<std::string, const Array *> byName;
  NamePrefix prefix;
  std::string convention; ///< "onnx" or "framework": of names that have two layouts
  // What speaks for each, and a name that needs the decision.
  size_t forOnnx = 0, forFramework = 0;
  std::string open;
};

void Matcher::choosePrefix() {
  std::vector<std::string> model;
  std::set<std::string> file;
  for (const ParameterSpec &param : manifest.params)
    for (const Aliases &aliases : {onnxNames(param), param.framework})
      for (const AliasSpec &alias : aliases)
        model.push_back(alias.name);
  for (const auto &[name, array] : byName)
    file.insert(name);
  prefix = bestPrefix(model, file);
}

/// What a name that is the framework's says about the file.
void Matcher::weigh(const ParameterSpec &param, const AliasSpec &as) {
  const Array *array = arrayOf(as.name);
  Aliases own = onnxNames(param);
  const AliasSpec *other = find(own, as.name);
  if (!array || (other && isSameLayout(*other, as)))
    return;
  bool isThis = fits(*array, param, as), isOther = other && fits(*array, param, *other);
  forFramework += isThis && !isOther;
  forOnnx += isOther && !isThis;
  if (isThis && isOther && open.empty())
    open = as.name;
}

Status Matcher::chooseConvention() {
  for (const ParameterSpec &param : manifest.params) {
    for (const AliasSpec &as : param.framework)
      weigh(param, as);
    for (const AliasSpec &as : onnxNames(param))
      forOnnx += arrayOf(as.name) && !param.framework.empty() && !find(param.framework, as.name);
  }
  convention = forFramework > forOnnx ? "framework" : "onnx";
  if (open.empty() || (forFramework == 0) != (forOnnx == 0))
    return {};
  return Error{kExitFile,
               path + ": does not tell whether `" + open + "` has the model file's layout or the framework's",
               "weights",
               {"--init-names onnx (as accum-run saves by default) or --init-names framework says it"}};
}

/// Without doubles: the convention's layout comes first.
Aliases Matcher::namesOf(const ParameterSpec &param) const {
  Aliases all = onnxNames(param), more = param.framework;
  if (convention == "framework")
    std::swap(all, more);
  for (const AliasSpec &alias : more)
    if (!find(all, alias.name))
      all.push_back(alias);
  return all;
}

Expected<WeightMatch> Matcher::match(const std::string &names) {
  choosePrefix();
  convention = names;
  if (names.empty())
    if (Status status = chooseConvention(); !status)
      return status.error();
  WeightMatch result;
  if (!prefix.text.empty())
    result.prefix = prefix.inFile ? "with `" + prefix.text + "` before the model's"
                                  : "without the model's `" + prefix.text + "`";
  std::set<std::string> used;
  for (size_t p = 0; p < manifest.params.size(); ++p) {
    const ParameterSpec &param = manifest.params[p];
    std::vector<WeightChoice> &choices = result.choices.emplace_back();
    bool isMisfit = false;
    for (const AliasSpec &as : namesOf(param)) {
      const Array *array = arrayOf(as.name);
      if (!array)
        continue;
      used.insert(array->name);
      if (fits(*array, param, as)) {
        choices.push_back({array, as});
        continue;
      }
      result.misfits.push_back({p, {array, as}});
      isMisfit = true;
    }
    if (choices.empty() && param.trained && !isMisfit)
      result.missing.push_back(p);
  }
  for (const auto &[name, array] : byName)
    if (!used.contains(name))
      result.leftOver.push_back(name);
  return result;
}

} // namespace

Expected<WeightMatch> matchWeights(const Manifest &manifest, const std::vector<Array> &arrays,
                                   const std::string &path, const std::string &names) {
  return Matcher(manifest, arrays, path).match(names);
}

} // namespace accum::runtime
