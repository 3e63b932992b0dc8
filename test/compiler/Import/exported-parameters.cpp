// SPDX-License-Identifier: Apache-2.0
// The parameters found in real exports are those of the framework, under its names.
#include "compiler/Import/parameters/Parameters.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

using namespace accum::import;
namespace fs = std::filesystem;

namespace {
const fs::path models = fs::path(ACCUM_SOURCE_DIR) / "test/models";

std::vector<std::string> described() {
  std::vector<std::string> names;
  for (const auto &file : fs::directory_iterator(models))
    if (fs::path model = fs::path(file.path()).replace_extension(".onnx");
        file.path().extension() == ".json" && fs::exists(model) &&
        model.stem().string().find("fresh") == std::string::npos)
      names.push_back(file.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

/// Initializer -> is it the transpose of the framework's tensor.
using Holders = std::map<std::string, bool>;

Holders holders(const Parameter &parameter) {
  Holders found{{parameter.name, parameter.moduleTransposed}};
  for (const ParameterAlias &alias : parameter.aliases)
    found[alias.initializer] = alias.transposed != parameter.moduleTransposed;
  return found;
}

/// What the framework has, by name: the gradients that it computed, or its parameters after training. Empty
/// where there are none.
std::map<std::string, std::vector<int64_t>> shapesOfTheFramework(const std::string &model) {
  std::ifstream file(models / (model + ".reference.safetensors"), std::ios::binary);
  uint64_t size = 0; // little-endian, as are the machines that this runs on
  std::map<std::string, std::vector<int64_t>> shapes;
  if (!file.read(reinterpret_cast<char *>(&size), sizeof size))
    return shapes;
  std::string header(size, ' ');
  file.read(header.data(), static_cast<std::streamsize>(size));
  for (const auto &[name, entry] : nlohmann::json::parse(header).items())
    if (size_t slash = name.find('/'); slash != std::string::npos)
      shapes[name.substr(slash + 1)] = entry["shape"].get<std::vector<int64_t>>();
  return shapes;
}

class ExportedParameters : public ::testing::TestWithParam<std::string> {};

TEST_P(ExportedParameters, areThoseOfTheFramework) {
  nlohmann::json description = nlohmann::json::parse(std::ifstream(models / (GetParam() + ".json")));
  auto model = readModel(models / (GetParam() + ".onnx"));
  ASSERT_TRUE(model) << model.failures().front().message;
  auto table = decideParameters(*model);
  ASSERT_TRUE(table) << table.failures().front().message;
  std::map<std::string, const Parameter *> trained; // by all names of the framework
  size_t count = 0;
  for (const Parameter &parameter : table->parameters) {
    if (!parameter.trained)
      continue;
    ++count;
    EXPECT_TRUE(trained.emplace(parameter.module, &parameter).second) << parameter.module << " twice";
    for (const std::string &other : parameter.moduleAliases)
      EXPECT_TRUE(trained.emplace(other, &parameter).second) << other << " twice";
  }
  size_t expected = 0;
  for (const auto &[name, places] : description["parameters"].items()) {
    if (places.empty())
      continue;
    ++expected;
    // Folded by an exporter that does not say from what: trained, but not under the module's name.
    bool isNameless =
        places[0].contains("added") && places[0]["onnx"].get<std::string>().starts_with("onnx::");
    if (isNameless) {
      EXPECT_TRUE(trained.count(places[0]["onnx"])) << name;
      EXPECT_FALSE(trained.count(name)) << name;
      continue;
    }
    ASSERT_TRUE(trained.count(name)) << name;
    EXPECT_EQ(trained[name]->moduleAdded, places[0].value("added", 0)) << name;
    Holders wanted;
    for (const auto &place : places)
      wanted[place["onnx"]] = place["transposed"];
    EXPECT_EQ(holders(*trained[name]), wanted) << name;
    if (places[0].contains("rows"))
      EXPECT_TRUE(trained[name]->isNameless) << name;
  }
  EXPECT_EQ(count, expected);
}

/// A name is one of `load_state_dict` where it has that name's layout.
TEST_P(ExportedParameters, areNamedOnlyInTheLayoutOfTheFramework) {
  auto expected = shapesOfTheFramework(GetParam());
  auto model = readModel(models / (GetParam() + ".onnx"));
  ASSERT_TRUE(model) << model.failures().front().message;
  auto table = decideParameters(*model);
  ASSERT_TRUE(table) << table.failures().front().message;
  for (const Parameter &parameter : table->parameters) {
    auto found = expected.find(parameter.module);
    if (!parameter.trained || parameter.isNameless || found == expected.end())
      continue;
    std::vector<int64_t> shape = parameter.shape;
    if (parameter.moduleTransposed)
      std::reverse(shape.begin(), shape.end());
    EXPECT_EQ(shape, found->second) << parameter.module;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExportedParameters, ::testing::ValuesIn(described()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// A model that was never trained has many equal parameters, which exporters merge.
std::set<std::string> trainedNames(const std::string &name) {
  auto model = readModel(models / (name + ".onnx"));
  EXPECT_TRUE(model);
  auto table = decideParameters(*model);
  EXPECT_TRUE(table);
  std::set<std::string> names;
  for (const Parameter &parameter : table->parameters)
    names.insert(parameter.module);
  return names;
}

TEST(FreshModel, hasAllParametersAgain) {
  std::set<std::string> all = trainedNames("gpt2-torchscript");
  EXPECT_EQ(all.size(), 28u);
  EXPECT_EQ(trainedNames("gpt2-torchscript-fresh"), all);
  // The dynamo exporter drops a Gemm's bias of zeros altogether.
  std::erase_if(all, [](const std::string &name) {
    return name.find(".c_") != std::string::npos && name.ends_with("bias");
  });
  EXPECT_EQ(all.size(), 20u);
  EXPECT_EQ(trainedNames("gpt2-dynamo-fresh"), all);
}

TEST(DerivedParameter, isRefusedUnlessFrozen) {
  auto model = readModel(models / "clip-dynamo.onnx");
  ASSERT_TRUE(model);
  auto table = decideParameters(*model);
  ASSERT_TRUE(table);
  ASSERT_EQ(table->refused.size(), 1u);
  const Failure &failure = table->refused.front();
  EXPECT_THAT(failure.message, ::testing::StartsWith("was computed from `logit_scale`"));
  EXPECT_THAT(failure.notes, ::testing::Contains("re-export with optimize=False"));
  std::string initializer = failure.subject.substr(1, failure.subject.size() - 2);
  auto frozen = decideParameters(*model, {.freeze = {initializer}});
  ASSERT_TRUE(frozen);
  EXPECT_TRUE(frozen->refused.empty());
}

TEST(WeightlessModel, isReadWithoutItsWeights) {
  auto model = readModel(models / "gpt2-124m.onnx", {.allowMissingWeights = true});
  ASSERT_TRUE(model) << model.failures().front().message;
  auto table = decideParameters(*model);
  ASSERT_TRUE(table) << table.failures().front().message;
  EXPECT_EQ(table->trainedElements(), 124439808) << "GPT-2 small";
  const Parameter *head = table->find("lm_head.weight");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->module, "transformer.wte.weight");
  EXPECT_THAT(head->moduleAliases, ::testing::ElementsAre("lm_head.weight"));
  EXPECT_EQ(head->sourceBytes, 50257u * 768 * 4);
}
} // namespace
