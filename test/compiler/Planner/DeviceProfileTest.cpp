// SPDX-License-Identifier: Apache-2.0
// The profiles that ship, and what the reader refuses.
#include "compiler/Planner/Time/DeviceProfile.h"
#include "compiler/Planner/Time/BuiltinProfiles.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

std::string h100Text() {
  for (const BuiltinProfile &profile : builtinProfiles())
    if (profile.name == "h100")
      return std::string(profile.json);
  return {};
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expectRefused(const std::string &json, const char *what) {
  Result<DeviceProfile> profile = parseProfile(json, "p.json", {});
  ASSERT_FALSE(profile) << "expected: " << what;
  EXPECT_THAT(profile.error().message, HasSubstr(what));
  EXPECT_EQ(profile.error().slug, "malformed-profile");
}

TEST(DeviceProfile, BuiltInsRead) {
  EXPECT_THAT(profileNames(), testing::ElementsAre("a10", "a100-40g", "a100-80g", "b200", "h100", "h200",
                                                   "host", "l4", "l40s", "rtx4090"));
  for (const std::string &name : profileNames()) {
    Result<DeviceProfile> profile = loadProfile(name);
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_EQ(profile->name, name);
    EXPECT_EQ(profile->isCuda(), name != "host");
    EXPECT_THAT(describeProfiles(), HasSubstr(name + " "));
  }
  EXPECT_NEAR(static_cast<double>(loadProfile("h100")->memoryUsable) / (1 << 30), 77.9, 0.05);
  EXPECT_EQ(loadProfile("h100")->basis, "datasheet");
}

TEST(DeviceProfile, HostRatesFollowTheMachine) {
  auto rate = [](HostFacts host) { return loadProfile("host", host)->rate(true, "f32").sustained; };
  EXPECT_EQ(rate({4, {"avx2", "avx512f"}}), 4 * rate({1, {"avx2", "avx512f"}}));
  EXPECT_GT(rate({1, {"avx2", "avx512f"}}), rate({1, {"avx2"}}));
  EXPECT_GT(rate({1, {"avx2"}}), rate({1, {}}));
  EXPECT_LE(loadProfile("host", {1000, {}})->bandwidth, 200e9);
}

/// With instructions for bf16 it is faster than f32, without it slower: the plan says which it assumes.
TEST(DeviceProfile, HostKnowsWhoseProductsOfBf16AreFast) {
  auto notice = [](HostFacts host) { return *bf16Notice(*loadProfile("host", host)); };
  EXPECT_THAT(notice({2, {"avx2", "avx512f", "amx_bf16"}}), HasSubstr("5.2 times as fast as f32"));
  EXPECT_THAT(notice({2, {"avx2", "avx512f", "avx512_bf16_whole"}}), HasSubstr("1.7 times as fast as f32"));
  EXPECT_THAT(notice({2, {"avx2", "avx512f"}}), HasSubstr("bf16 is slower than f32 on host"));
  EXPECT_THAT(notice({2, {"avx2"}}), HasSubstr("0.79 of the rate of f32"));
  EXPECT_FALSE(bf16Notice(*loadProfile("h100")));
}

TEST(DeviceProfile, RatesFallBackToF32) {
  Result<DeviceProfile> profile = loadProfile("h100");
  EXPECT_EQ(profile->rate(true, "bf16").dtype, "bf16");
  EXPECT_EQ(profile->rate(true, "i8").dtype, "f32");
  EXPECT_EQ(profile->rate(false, "bf16").dtype, "f32");
}

TEST(DeviceProfile, UnknownTargetsNameTheKnownOnes) {
  Result<DeviceProfile> profile = loadProfile("h1000");
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().message, "unknown target `h1000`");
  EXPECT_EQ(profile.error().notes[0], "nearest: h100");
  EXPECT_THAT(profile.error().notes[1], HasSubstr("h100, h200, host"));
  EXPECT_EQ(loadProfile("a100").error().notes[0], "nearest: a10, a100-40g, a100-80g, h100");
  EXPECT_EQ(loadProfile("quantum").error().notes.size(), 1u);
  EXPECT_THAT(loadProfile("V100").error().message, HasSubstr("sm_70"));
  EXPECT_EQ(loadProfile("/nowhere/p.json").error().slug, "file-unreadable");
}

TEST(DeviceProfile, TheReaderIsStrict) {
  std::string good = h100Text();
  EXPECT_TRUE(parseProfile(good, "p.json", {}));
  expectRefused("", "not valid JSON");
  expectRefused("[]", "the document is an array, expected an object");
  expectRefused("{\n\"format\": \n", "p.json:3: not valid JSON");
  expectRefused(replaced(good, "accum-device-profile", "x"), "format is `x`");
  expectRefused(replaced(good, "\"version\": 1", "\"version\": 2"),
                "version is 2, this program reads version 1");
  expectRefused(replaced(good, "\"shared\"", "\"colour\": 1, \"shared\""), "colour is not a known key");
  expectRefused(replaced(good, "\"shared\": false,", ""), "shared is missing");
  expectRefused(replaced(good, "\"shared\": false", "\"shared\": 0"),
                "shared is a number, expected true or false");
  expectRefused(replaced(good, "\"alignment\": 256", "\"alignment\": 96"),
                "alignment is 96, expected a power of two");
  expectRefused(replaced(good, "640e12", "-1"), "rates[0].sustained is -1");
  expectRefused(replaced(good, "640e12", "2e15"), "rates[0].sustained is larger than the peak");
  expectRefused(replaced(good, "83643858944", "1e30"), "memory.usable is 1e+30");
  expectRefused(replaced(good, "83643858944", "84932558849"), "memory.usable is 84932558849");
  expectRefused(replaced(good, "\"datasheet\"", "\"hearsay\""), "basis is `hearsay`");
  expectRefused(replaced(good, "sm_90", "sm_75"), "architecture is `sm_75`, expected sm_80 or later");
  expectRefused(replaced(good, "sm_90", "ninety"), "architecture is `ninety`");
  expectRefused(replaced(good, "2.5e-6", "1e999"), "not valid JSON");
}

TEST(DeviceProfile, NeedsARateForThisMachine) {
  std::string text = h100Text(), unit = "\"unit\": \"vector\"", needs = "\"needs\": \"x\", " + unit;
  for (size_t at = text.find(unit); at != std::string::npos; at = text.find(unit, at + needs.size()))
    text.replace(at, unit.size(), needs);
  expectRefused(text, "rates has no vector rate for this machine");
}

} // namespace
