// SPDX-License-Identifier: Apache-2.0
// Rows, with the defaults of the framework or paper that each is measured against (docs/training.md).
#include "runtime/artifact/Optimizers.h"
#include <algorithm>
#include <cmath>
#include <sstream>

namespace accum::runtime {
namespace {

/// The first update sets the buffer instead of adding to it.
void keepsFromSecond(uint64_t t, double values[ACCUM_HYPER_COUNT]) {
  values[ACCUM_HYPER_CORRECTION1] = t == 1 ? 0 : 1;
}

/// Of moments that start at zero.
void unbias(uint64_t t, double values[ACCUM_HYPER_COUNT]) {
  values[ACCUM_HYPER_CORRECTION1] = 1 - std::pow(values[ACCUM_HYPER_BETA1], double(t));
  values[ACCUM_HYPER_CORRECTION2] = std::sqrt(1 - std::pow(values[ACCUM_HYPER_BETA2], double(t)));
}

/// The weight of a fresh second moment, and the bound of the rate: PyTorch's beta2_decay of -0.8.
void decayMoment(uint64_t t, double values[ACCUM_HYPER_COUNT]) {
  values[ACCUM_HYPER_CORRECTION1] = std::pow(double(t), -0.8);
  values[ACCUM_HYPER_CORRECTION2] = 1 / std::sqrt(double(t));
}

using enum HyperName;

/// Names by their value, in the table's order of both; the value that most have stands first where it has no
/// names.
std::string grouped(const std::vector<std::pair<std::string, double>> &rows, bool nameless) {
  std::vector<std::pair<double, std::vector<std::string>>> groups;
  for (const auto &[name, value] : rows) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](auto &each) { return each.first == value; });
    if (group == groups.end())
      group = groups.insert(groups.end(), {value, {}});
    group->second.push_back(name);
  }
  std::ostringstream text;
  for (const auto &[value, names] : groups) {
    text << (text.tellp() == 0 ? "" : "; ");
    if (!nameless || text.tellp() != 0)
      for (const std::string &name : names)
        text << (name == names.front() ? "" : ", ") << name << (name == names.back() ? ": " : "");
    text << value;
  }
  return text.str();
}

} // namespace

std::optional<std::vector<int64_t>> slotShape(SlotExtent extent, const std::vector<int64_t> &parameter) {
  bool isMatrix = parameter.size() >= 2;
  if (extent != SlotExtent::Whole && isMatrix == (extent == SlotExtent::OfVectors))
    return std::nullopt;
  std::vector<int64_t> shape = parameter;
  if (extent == SlotExtent::Rows)
    shape.back() = 1;
  if (extent == SlotExtent::Columns)
    shape[shape.size() - 2] = 1;
  return shape;
}

const char *flagOf(HyperName name) {
  constexpr const char *kFlags[] = {"--momentum", "--beta1", "--beta2", "--eps"};
  return kFlags[size_t(name)];
}

double endOf(HyperName name) { return name == Eps ? HUGE_VAL : 1; }

accum_hyper_slot placeOf(HyperName name) {
  return name == Beta2 ? ACCUM_HYPER_BETA2 : name == Eps ? ACCUM_HYPER_EPS : ACCUM_HYPER_BETA1;
}

const HyperPreset *OptimizerSpec::find(HyperName hyper) const {
  auto found = std::find_if(hypers.begin(), hypers.end(),
                            [&](const HyperPreset &preset) { return preset.name == hyper; });
  return found == hypers.end() ? nullptr : &*found;
}

std::string OptimizerSpec::baseName() const {
  return keepsAverage ? name.substr(0, name.size() - withAverage("").size()) : name;
}

const std::vector<OptimizerSpec> &optimizers() {
  static const std::vector<OptimizerSpec> table = {
      {"adamw", UpdateRule::AdamW, {{"m"}, {"v"}}, 1e-3, {{Beta1, 0.9}, {Beta2, 0.999}, {Eps, 1e-8}}, unbias},
      {"adam", UpdateRule::Adam, {{"m"}, {"v"}}, 1e-3, {{Beta1, 0.9}, {Beta2, 0.999}, {Eps, 1e-8}}, unbias},
      {"sgd", UpdateRule::Sgd, {}, 1e-3, {}, nullptr},
      // PyTorch's momentum is 0 unless given; a name that asks for one gets one.
      {"sgd-momentum", UpdateRule::SgdMomentum, {{"momentum"}}, 1e-3, {{Momentum, 0.9}}, keepsFromSecond},
      {"sgd-nesterov", UpdateRule::SgdNesterov, {{"momentum"}}, 1e-3, {{Momentum, 0.9}}, keepsFromSecond},
      {"lion", UpdateRule::Lion, {{"m"}}, 1e-4, {{Beta1, 0.9}, {Beta2, 0.99}}, nullptr},
      {"adagrad", UpdateRule::Adagrad, {{"sum"}}, 1e-2, {{Eps, 1e-10}}, nullptr},
      // PyTorch's eps[0] unless given is that of the dtype: weights are f32.
      {"adafactor",
       UpdateRule::Adafactor,
       {{"row", SlotExtent::Rows}, {"column", SlotExtent::Columns}, {"v", SlotExtent::OfVectors}},
       1e-2,
       {{Eps, 0x1p-23}},
       decayMoment},
  };
  return table;
}

std::string withAverage(const std::string &optimizer) { return optimizer + "-" + kAverage; }

/// Each row once more, with the average after its slots.
static const std::vector<OptimizerSpec> &averaging() {
  static const std::vector<OptimizerSpec> table = [] {
    std::vector<OptimizerSpec> rows = optimizers();
    for (OptimizerSpec &spec : rows) {
      spec.name = withAverage(spec.name);
      spec.slots.push_back({kAverage});
      spec.keepsAverage = true;
    }
    return rows;
  }();
  return table;
}

const OptimizerSpec *findOptimizer(const std::string &name) {
  for (const auto *table : {&optimizers(), &averaging()})
    for (const OptimizerSpec &spec : *table)
      if (spec.name == name)
        return &spec;
  return nullptr;
}

std::string optimizerNames() {
  std::string text;
  for (const OptimizerSpec &spec : optimizers())
    text += (text.empty() ? "" : ", ") + spec.name;
  return text;
}

std::string presetsOf(HyperName name) {
  std::vector<std::pair<std::string, double>> rows;
  for (const OptimizerSpec &spec : optimizers())
    if (const HyperPreset *preset = spec.find(name))
      rows.emplace_back(spec.name, preset->value);
  return grouped(rows, /*nameless=*/false);
}

std::string presetsOfRate() {
  std::vector<std::pair<std::string, double>> rows;
  for (const OptimizerSpec &spec : optimizers())
    rows.emplace_back(spec.name, spec.lr);
  return grouped(rows, /*nameless=*/true);
}

} // namespace accum::runtime
