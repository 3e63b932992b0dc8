// SPDX-License-Identifier: Apache-2.0
// The table of rules against ONNX's own: a rule starts at a version that exists, and names attributes that
// exist.
#include "compiler/Import/rules/OperatorSchema.h"
#include "compiler/Import/walk/Binder.h"
#include "compiler/Import/walk/Refusal.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <gmock/gmock.h>

using namespace accum::import;

namespace {

std::vector<std::string> namesIn(llvm::StringRef words) {
  llvm::SmallVector<llvm::StringRef> parts;
  words.split(parts, ' ', -1, /*KeepEmpty=*/false);
  std::vector<std::string> names;
  for (llvm::StringRef part : parts)
    names.push_back(part.ltrim('~').take_until([](char c) { return c == '=' || c == '!'; }).str());
  return names;
}

template <class Visit> void forEachRule(Visit visit) {
  for (const auto &operators : ruleTable().all())
    for (const auto &[since, rule] : operators.second)
      visit(operators.first().str(), since, rule);
}

TEST(OperatorTable, startsAtVersionsOfOnnx) {
  forEachRule([](const std::string &op, int64_t since, const OperatorRule &) {
    bool exists = std::ranges::any_of(schemasOf(op), [since = since](const OperatorSchema &schema) {
      return std::ranges::count(schema.versions, since) > 0;
    });
    EXPECT_TRUE(exists) << op << " " << since;
  });
}

TEST(OperatorTable, namesAttributesOfOnnx) {
  forEachRule([](const std::string &op, int64_t since, const OperatorRule &rule) {
    for (const std::string &name : namesIn(rule.attributes)) {
      bool exists = std::ranges::any_of(schemasOf(op), [&, since = since](const OperatorSchema &schema) {
        return schema.versions.back() >= since && std::ranges::count(namesIn(schema.attributes), name) > 0;
      });
      EXPECT_TRUE(exists) << op << " " << since << " has no " << name;
    }
  });
}

TEST(OperatorTable, leavesOutNoAttribute) {
  std::vector<std::string> missing;
  for (const auto &operators : ruleTable().all())
    for (const OperatorSchema &schema : schemasOf(operators.first().str()))
      if (const OperatorRule *rule = ruleTable().find(operators.first(), schema.versions.front())) {
        std::vector<std::string> built = namesIn(rule->attributes);
        for (const std::string &name : namesIn(schema.attributes))
          if (std::ranges::count(built, name) == 0)
            missing.push_back(operators.first().str() + "." + name);
      }
  EXPECT_THAT(missing, testing::IsEmpty());
}

std::string refusalOf(const Node &node, std::string_view built) {
  try {
    requireKnown(node, built);
  } catch (const Refusal &refusal) {
    return refusal.message + " [" + refusal.slug + "]" +
           (refusal.notes.empty() ? "" : " " + refusal.notes[0]);
  }
  return "";
}

Node attention(int64_t opset, std::string_view name, AttributeValue value) {
  Node node;
  node.opType = "Attention";
  node.opset = opset;
  node.inputs = {"q", "k", "v"};
  node.outputs = {"y"};
  node.attributes.emplace(name, std::move(value));
  return node;
}

TEST(OperatorTable, refusesWhatItDoesNotKnow) {
  EXPECT_EQ(
      refusalOf(attention(25, "left_window_size", int64_t{2}), "scale"),
      "has `left_window_size` = 2, which is not supported (opset 25) [unsupported] its default, -1, is");
  EXPECT_EQ(refusalOf(attention(25, "left_window_size", int64_t{-1}), "scale"), "");
  EXPECT_EQ(refusalOf(attention(24, "left_window_size", int64_t{-1}), "scale"),
            "has the attribute `left_window_size`, which Attention has not in opset 24 [unsupported]");
  EXPECT_EQ(refusalOf(attention(25, "scale", 0.5F), "scale"), "");
  EXPECT_EQ(refusalOf(attention(25, "scale", 0.5F), "~scale"), "");
  EXPECT_EQ(
      refusalOf(attention(25, "scale", 0.5F), "scales"),
      "has `scale` = 0.5, which is not supported (opset 25) [unsupported] the operator without `scale` is");
  EXPECT_EQ(refusalOf(attention(25, "softcap", 0.0F), ""), "");
  EXPECT_EQ(refusalOf(attention(25, "softcap", 0.25F), ""),
            "has `softcap` = 0.25, which is not supported (opset 25) [unsupported] its default, 0, is");
}

TEST(OperatorTable, countsInputsAndOutputs) {
  Node node = attention(23, "scale", 1.0F);
  node.inputs = {"q", "k", "v", "", "", "", ""};
  EXPECT_EQ(refusalOf(node, "scale"), "");
  node.inputs.back() = "lengths";
  EXPECT_EQ(refusalOf(node, "scale"), "has 7 inputs; in opset 23 it takes 6 [malformed-model]");
  node.opset = 24;
  EXPECT_EQ(refusalOf(node, "scale"), "");
  node.outputs = {"y", "k2", "v2", "scores", "more"};
  EXPECT_EQ(refusalOf(node, "scale"), "has 5 outputs; in opset 24 it takes 4 [malformed-model]");
}

TEST(OperatorTable, knowsNoNewerOpset) {
  Node node = attention(kNewestOpset + 1, "scale", 1.0F);
  EXPECT_THAT(refusalOf(node, "scale"), testing::HasSubstr("the newest whose operators are known is"));
}
} // namespace
