// SPDX-License-Identifier: Apache-2.0
// accum-diff: figures, exit codes, and what it says about tensors that do not match.
#include "runtime/files/SafetensorsWriter.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;

namespace {

std::string folder() {
  static std::string path = freshFolder("diff");
  return path;
}

/// Writes FOLDER/NAME with tensors a and ones, in f64 or f32.
std::string write(const std::string &name, const std::vector<double> &values, DType type = ACCUM_F64) {
  const std::vector<float> narrow(values.begin(), values.end());
  const double ones[] = {1, 1};
  const float narrowOnes[] = {1, 1};
  bool isWide = type == ACCUM_F64;
  auto raw = [](const void *data) { return static_cast<const uint8_t *>(data); };
  const void *a = isWide ? static_cast<const void *>(values.data()) : narrow.data();
  EXPECT_TRUE(
      writeSafetensors(folder() + "/" + name,
                       {{"a", raw(a), type, {1, int64_t(values.size())}},
                        {"ones", raw(isWide ? static_cast<const void *>(ones) : narrowOnes), type, {2}}},
                       false));
  return folder() + "/" + name;
}

Outcome diff(const std::string &words) { return runCommand(ACCUM_DIFF " " + words); }

} // namespace

TEST(Diff, LargestDifferenceOverLargestMagnitude) {
  std::string a = write("a", {1, -8, 2}), b = write("b", {1.5, -8, 2});
  Outcome outcome = diff(a + " " + b + " --json");
  EXPECT_EQ(outcome.code, 0);
  auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["tensors"][0]["name"], "a");
  EXPECT_EQ(json["tensors"][0]["absolute"], 0.5);
  EXPECT_EQ(json["tensors"][0]["relative"], 0.0625);
  EXPECT_EQ(json["tensors"][0]["at"], (std::vector<int>{0, 0}));
  EXPECT_EQ(json["tensors"][1]["relative"], 0.0);
  EXPECT_EQ(diff(a + " " + b + " --tolerance 0.0625").code, 0);
  EXPECT_EQ(diff(a + " " + b + " --tolerance 0.0624").code, 1);
  EXPECT_EQ(diff(a + " " + b + " --tolerance 0 --skip a").code, 0);
  EXPECT_THAT(diff(a + " " + b).out, HasSubstr("a at [0, 0]: 1 and 1.5"));
}

TEST(Diff, NamesThatAreNoTextAreShownAsSuch) {
  const float one = 1;
  std::string other = folder() + "/other", nul("a\0b", 3);
  ASSERT_TRUE(
      writeSafetensors(other, {{nul, reinterpret_cast<const uint8_t *>(&one), ACCUM_F32, {1}}}, false));
  Outcome outcome = diff(write("plain", {1}) + " " + other);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("only in the second: a\\x00b\nno tensor is in both files\n"));
}

TEST(Diff, ComparesDtypesInDouble) {
  std::string a = write("f64", {0.1, 3}), b = write("f32", {0.1, 3}, ACCUM_F32);
  EXPECT_EQ(diff(a + " " + b + " --tolerance 1e-9").code, 0);
  EXPECT_EQ(diff(a + " " + b + " --tolerance 1e-10").code, 1);
}

TEST(Diff, NaNIsBeyondEveryTolerance) {
  std::string a = write("nan", {NAN, 1}), b = write("number", {0, 1});
  EXPECT_EQ(diff(a + " " + b + " --tolerance 1e30").code, 1);
  EXPECT_EQ(diff(a + " " + a + " --tolerance 1e30").code, 1);
  std::string infinite = write("infinite", {INFINITY, 1});
  EXPECT_EQ(diff(infinite + " " + infinite + " --tolerance 0").code, 0);
  EXPECT_EQ(diff(infinite + " " + b + " --tolerance 1e30").code, 1);
}

TEST(Diff, ReportsTensorsThatDoNotMatch) {
  std::string a = write("three", {1, 2, 3}), b = write("two", {1, 2});
  Outcome outcome = diff(a + " " + b);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("shapes differ:      a: [1, 3] and [1, 2]"));
  const double value = 1;
  std::string c = folder() + "/other";
  ASSERT_TRUE(writeSafetensors(c, {{"c", reinterpret_cast<const uint8_t *>(&value), ACCUM_F64, {1}}}, false));
  outcome = diff(a + " " + c);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("only in the first:  a\n"));
  EXPECT_THAT(outcome.out, HasSubstr("only in the second: c\n"));
}

TEST(Diff, WrongUseAndFiles) {
  EXPECT_EQ(diff("").code, 2);
  EXPECT_EQ(diff("a b --tolerance x").code, 2);
  EXPECT_EQ(diff("a b --tolerance -1").code, 2);
  Outcome outcome = diff(folder() + "/absent " + folder() + "/absent");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("absent: cannot be read: No such file or directory [unreadable]"));
}
