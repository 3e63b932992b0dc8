// SPDX-License-Identifier: Apache-2.0
// The table of a run's options: rows that contradict themselves, and what is set by name (oracle: the
// fields).
#include "runtime/options/RunOptions.h"
#include <cmath>
#include <gmock/gmock.h>
#include <set>

using namespace accum::runtime;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// What a session makes of these settings.
RunOptions taken(const std::vector<Setting> &settings, RunOptions options = {}) {
  Status status = takeSettings(settings, options);
  EXPECT_TRUE(status) << status.error().message;
  return options;
}

std::string refused(const std::vector<Setting> &settings) {
  RunOptions options;
  Status status = takeSettings(settings, options);
  return status ? "" : status.error().message;
}

} // namespace

TEST(RunOptions, EachRowIsOneOption) {
  std::set<std::string> names;
  for (const RunOption &row : runOptions()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    bool isRead = std::holds_alternative<RunOption::Reader>(row.field);
    EXPECT_FALSE(isRead && (row.owner != OptionOwner::Process || row.recorded || row.check)) << row.name;
    EXPECT_TRUE(!row.isNegatable || row.has<bool>()) << row.name;
    EXPECT_TRUE(!row.takesMore || row.isList()) << row.name;
    EXPECT_EQ(row.recorded && row.recorded->on, row.recorded && row.has<bool>()) << row.name;
    EXPECT_TRUE(row.choices.empty() || row.has<std::string>()) << row.name;
    EXPECT_TRUE(row.range == NumberRange::Any || row.isNumber()) << row.name;
    EXPECT_TRUE(row.owner == OptionOwner::Process || row.python) << row.name;
  }
  EXPECT_GE(names.size(), 60u);
}

/// A keyword of Python has the type of the field, and its default.
TEST(RunOptions, KeywordsHaveTheFieldsTypes) {
  const RunOptions unset;
  for (const RunOption &row : runOptions()) {
    std::string python = row.python ? row.python : "";
    if (row.isNumber() && row.python)
      EXPECT_EQ(python, "float | None = None") << row.name;
    if (row.has<bool>() && row.python)
      EXPECT_EQ(python, valueText(row, unset) == "true" ? "bool = True" : "bool = False") << row.name;
    if (row.isWhole() && row.python && !valueText(row, unset).empty())
      EXPECT_EQ(python, "int = " + valueText(row, unset)) << row.name;
    if (row.isWhole() && row.python && valueText(row, unset).empty())
      EXPECT_EQ(python, "int | None = None") << row.name;
  }
}

TEST(RunOptions, ValuesAreReadAsTheyAreWritten) {
  for (const RunOption &row : runOptions()) {
    std::string text = row.isNumber()        ? "0.1"
                       : row.isWhole()       ? "7"
                       : row.has<bool>()     ? "true"
                       : row.choices.empty() ? "word"
                                             : row.choices.back();
    if (std::holds_alternative<RunOption::Reader>(row.field))
      continue;
    RunOptions options;
    assign(row, {text}, options);
    EXPECT_EQ(valueText(row, options), text) << row.name;
  }
}

TEST(RunOptions, SetByName) {
  RunOptions options = taken({{"clip-norm", "0.5"}, {"warmup", "2%"}, {"decay", "a"}, {"decay", "b,c"}});
  EXPECT_EQ(options.clipNorm, 0.5);
  EXPECT_EQ(options.warmup, "2%");
  EXPECT_THAT(options.decay, ElementsAre("a", "b,c"));
  options = taken({{"decay", "matrices"}, {"lr", "0x1p-3"}, {"clip-norm", std::nullopt}}, options);
  EXPECT_THAT(options.decay, ElementsAre("matrices"));
  EXPECT_EQ(options.lr, 0.125);
  EXPECT_EQ(options.clipNorm, std::nullopt);
  EXPECT_EQ(options.warmup, "2%");                     // not named
  EXPECT_TRUE(std::isnan(*taken({{"lr", "nan"}}).lr)); // the optimizer refuses it
}

TEST(RunOptions, WhatIsNoSettingIsRefusedByName) {
  EXPECT_EQ(refused({{"clip-nrom", "1"}}), "`clip-nrom` is no option of a session");
  EXPECT_EQ(refused({{"save", "x"}}), "`save` is no option of a session");
  EXPECT_EQ(refused({{"lr", "fast"}}), "--lr: `fast` is not a number");
  EXPECT_EQ(refused({{"steps", "-1"}}), "--steps: `-1` is not a whole number from 0 on");
  EXPECT_THAT(refused({{"lr-scale", "a=1"}, {"lr-scale", "b"}}),
              HasSubstr("--lr-scale: `b` is not a pattern"));
}

TEST(RunOptions, TextsOfSeveralParts) {
  EXPECT_EQ(intervalIn("500")->steps, 500u);
  EXPECT_EQ(intervalIn("90s")->seconds, 90);
  EXPECT_EQ(intervalIn("1h30m")->seconds, 5400);
  for (const char *bad : {"", "0", "0s", "-5", "5x", "s"})
    EXPECT_FALSE(intervalIn(bad)) << bad;
  auto batches = batchesIn("0:64,1000:256");
  ASSERT_TRUE(batches && batches->size() == 2);
  EXPECT_EQ((*batches)[1].step, 1000u);
  EXPECT_EQ((*batches)[1].batch, 256);
  for (const char *bad : {"", "0", "0:", "0:-4", "0:1,", "0:1;2:3", ":1"})
    EXPECT_FALSE(batchesIn(bad)) << bad;
}
