// SPDX-License-Identifier: Apache-2.0
// Groups: which pattern decides, what is refused, and which names come nearest.
#include "runtime/artifact/Groups.h"
#include "runtime/session/Hyper.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

ParameterSpec parameter(const std::string &name, std::vector<int64_t> shape, bool trained = true) {
  ParameterSpec spec;
  spec.onnxName = name;
  spec.shape = std::move(shape);
  spec.trained = trained;
  return spec;
}

Manifest sample(const std::string &optimizer = "adamw") {
  Manifest manifest;
  manifest.optimizer = optimizer;
  manifest.params = {parameter("val_8", {3, 4}), parameter("frozen.weight", {2, 2}, false),
                     parameter("h.0.bias", {4}), parameter("h.1.bias", {4})};
  manifest.params[0].framework = {{"head.weight", true}};
  manifest.params[0].aliases = {{"wte.weight"}};
  EXPECT_TRUE(assignStateLayout(manifest));
  return manifest;
}

GroupRules rates(std::vector<RateRule> rules) { return {std::move(rules), 0, {}}; }
GroupRules decays(double decay, std::vector<std::string> rules = {}) { return {{}, decay, std::move(rules)}; }

Coefficients given(const GroupRules &rules) {
  auto made = coefficientsOf(sample(), rules);
  EXPECT_TRUE(made) << made.error().message;
  return made ? *made : Coefficients();
}

Error refused(const GroupRules &rules) {
  auto made = coefficientsOf(sample(), rules);
  EXPECT_FALSE(made);
  return made ? Error() : made.error();
}

std::string refusedBy(const std::string &optimizer, std::optional<double> HyperOptions::*option) {
  HyperOptions options;
  options.*option = 0.9;
  auto made = Hyper::make(sample(optimizer), options);
  EXPECT_FALSE(made);
  return made ? "" : made.error().message;
}

} // namespace

TEST(Groups, TheFirstPatternThatMatchesWins) {
  EXPECT_THAT(given(rates({{"h.0.*", 0.5}, {"h.*", 2}})).rate, ElementsAre(1, 0.5, 2));
  EXPECT_THAT(given(rates({{"head.weight", 3}})).rate, ElementsAre(3, 1, 1));
  EXPECT_THAT(given(rates({{"wte.weight", 3}, {"*", 0}})).rate, ElementsAre(3, 0, 0));
}

TEST(Groups, AnyPatternDecays) {
  EXPECT_THAT(given(decays(0.1)).decay, ElementsAre(0.1, 0, 0));
  EXPECT_THAT(given(decays(0.1, {"all"})).decay, ElementsAre(0.1, 0.1, 0.1));
  EXPECT_THAT(given(decays(0.1, {"matrices", "h.1.*"})).decay, ElementsAre(0.1, 0, 0.1));
}

TEST(Groups, WhatDecidesNothingIsRefused) {
  Error none = refused(rates({{"h.2.bias", 2}}));
  EXPECT_EQ(none.exitCode, kExitUsage);
  EXPECT_EQ(none.message, "--lr-scale h.2.bias=2 matches no trained parameter");
  EXPECT_THAT(none.notes, ElementsAre("nearest: `h.0.bias`, `h.1.bias`, `head.weight`"));
  EXPECT_THAT(refused(decays(1, {"*.gain"})).message, HasSubstr("--decay *.gain matches no trained"));
  EXPECT_THAT(refused(rates({{"frozen*", 2}})).message, HasSubstr("matches frozen parameters only"));
  EXPECT_THAT(refused(rates({{"*", 2}, {"h.*", 3}})).message, HasSubstr("--lr-scale h.*=3 decides nothing"));
}

TEST(Groups, SayWhatTheyHold) {
  std::vector<Group> groups = groupsOf(sample(), given({{{"h.*", 0.5}}, 0.25, {"val_8"}}));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(describe(groups[0]), "lr * 1, decay 0.25: 1 tensor, 12 values");
  EXPECT_EQ(describe(groups[1]), "lr * 0.5, decay 0: 2 tensors, 8 values");
  EXPECT_NE(groups[0].members, groups[1].members);
}

TEST(Groups, RulesAreRead) {
  EXPECT_EQ(rateRuleIn("a=b=0.5")->glob, "a=b");
  EXPECT_EQ(rateRuleIn("a=b=0.5")->factor, 0.5);
  for (const char *bad : {"", "a", "a=", "=1", "a=x", "a=-1", "a=nan", "a=inf", "a=1x"})
    EXPECT_FALSE(rateRuleIn(bad)) << bad;
}

TEST(Hyper, BelongsToItsOptimizer) {
  EXPECT_EQ(refusedBy("sgd", &HyperOptions::beta2),
            "--beta2 belongs to adamw, adam and lion, the artifact was compiled for sgd");
  EXPECT_EQ(refusedBy("adamw", &HyperOptions::momentum),
            "--momentum belongs to sgd-momentum and sgd-nesterov, the artifact was compiled for adamw");
  EXPECT_THAT(refusedBy("lion", &HyperOptions::eps), HasSubstr("--eps belongs to adamw, adam, adagrad"));
}

TEST(Hyper, DefaultsAreTheTables) {
  for (const OptimizerSpec &spec : optimizers()) {
    auto made = Hyper::make(sample(spec.name), {});
    ASSERT_TRUE(made) << spec.name;
    double values[ACCUM_HYPER_COUNT];
    made->fill(1, 0.5, values);
    EXPECT_EQ(values[ACCUM_HYPER_LR], spec.lr / 2) << spec.name;
    for (const HyperPreset &preset : spec.hypers)
      EXPECT_EQ(values[placeOf(preset.name)], preset.value) << spec.name;
  }
}
