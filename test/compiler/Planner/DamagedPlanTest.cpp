// SPDX-License-Identifier: Apache-2.0
// A plan from a file, damaged field by field: used as what it says, or refused by name.
#include "compiler/Planner/Search/ReusedPlan.h"
#include "compiler/Planner/Verify/Verify.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <chrono>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace accum::planner;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

namespace {

class DamagedPlan : public testing::Test {
protected:
  DamagedPlan() {
    Search search = *solve(problem, profile, options);
    document = Json::parse(toJson(*search.plan));
    while (document["candidates"].size() > 6)
      document["candidates"].erase(document["candidates"][0]["verdict"] == "chosen" ? 1 : 0);
  }

  /// Uses a text as a plan; whatever is used is right for the problem, with figures that are numbers.
  Error use(const std::string &text) {
    Result<Plan> plan = parsePlan(text, "plan.json");
    if (!plan)
      return plan.error();
    Result<Search> search = reusePlan(problem, profile, options, *plan);
    if (!search)
      return search.error();
    EXPECT_TRUE(verify(problem, *search->plan));
    EXPECT_TRUE(std::isfinite(search->plan->seconds()));
    EXPECT_NEAR(search->plan->seconds(), seconds(), 1e-9 * seconds());
    EXPECT_LE(search->plan->counted(), *options.budget);
    return {};
  }

  double seconds() const {
    double sum = 0;
    for (const Json &line : document["time"])
      sum += line["seconds"].get<double>();
    return sum;
  }

  void expectSaid(const Error &error, const std::string &what, bool mustRefuse) {
    if (mustRefuse)
      EXPECT_FALSE(error.message.empty()) << what << " is accepted";
    if (error.message.empty())
      return;
    EXPECT_THAT(error.slug, testing::AnyOf("malformed-plan", "other-plan", "malformed-problem")) << what;
    EXPECT_LT(error.message.size(), 1000u) << what;
  }

  Problem problem =
      transformerProblem({.layers = 1, .hidden = 64, .heads = 2, .sequence = 32, .vocabulary = 128});
  DeviceProfile profile = *loadProfile("h100");
  Options options{.batch = 12, .devices = 2, .budget = int64_t{2} << 20};
  Json document;
};

/// Every value of a document, by its place.
std::vector<Json::json_pointer> placesOf(const Json &document) {
  std::vector<Json::json_pointer> places;
  Json flat = document.flatten();
  for (const auto &[place, value] : flat.items())
    for (Json::json_pointer at(place); !at.empty(); at = at.parent_pointer())
      if (std::ranges::find(places, at) == places.end())
        places.push_back(at);
  return places;
}

TEST_F(DamagedPlan, IsRefusedFieldByField) {
  ASSERT_EQ(use(document.dump()).message, "");
  const Json kinds[] = {nullptr, true, "word", Json::array(), Json::object(), 0.5};
  const Json numbers[] = {-1, 0, 1, INT64_MAX, UINT64_MAX, INT64_MIN, 1e300};
  for (const Json::json_pointer &place : placesOf(document)) {
    Json damaged = document;
    damaged[place.parent_pointer()].is_array()
        ? damaged[place.parent_pointer()].erase(std::stoul(place.back()))
        : static_cast<void>(damaged[place.parent_pointer()].erase(place.back()));
    bool isItem = document[place.parent_pointer()].is_array();
    bool isOptional = place.back() == "hidden";
    expectSaid(use(damaged.dump()), place.to_string() + " missing", !isItem && !isOptional);
    for (const Json &other : kinds) {
      const Json &old = document[place];
      bool isOther = old.is_number() != other.is_number() || (!old.is_number() && old.type() != other.type());
      damaged = document;
      damaged[place] = other;
      expectSaid(use(damaged.dump()), place.to_string() + " = " + other.dump(), isOther);
    }
    for (const Json &number : numbers) {
      damaged = document;
      damaged[place] = number;
      bool isNegative = document[place].is_number() && number < 0;
      expectSaid(use(damaged.dump()), place.to_string() + " = " + number.dump(),
                 isNegative || !document[place].is_number());
    }
    if (document[place].is_object() && place.back() != "slots" && place.back() != "variants") {
      damaged = document;
      damaged[place]["colour"] = 1;
      Error error = use(damaged.dump());
      EXPECT_THAT(error.message, HasSubstr("colour is not a known key"));
    }
  }
}

TEST_F(DamagedPlan, IsNotTakenForAnother) {
  auto said = [&](const char *key, const Json &value) {
    Json damaged = document;
    damaged[key] = value;
    return use(damaged.dump()).message;
  };
  EXPECT_THAT(said("version", 2), HasSubstr("version is 2, this program reads version 1"));
  EXPECT_THAT(said("target", "a10"), HasSubstr("is for target a10, not h100"));
  EXPECT_THAT(said("problem", "bert"), HasSubstr("is for `bert`, not"));
  EXPECT_THAT(said("batch", 13), HasSubstr("is for a batch of 13 on 2 devices, not 12 on 2"));
  EXPECT_THAT(said("devices", 1), HasSubstr("is for a batch of 12 on 1 device, not 12 on 2"));
  EXPECT_THAT(said("micro_batch", 5), HasSubstr("do not cut 6 samples"));
  EXPECT_THAT(said("align", 64), HasSubstr("aligns to 64 bytes, not"));
  EXPECT_THAT(said("shard", "zero1"), HasSubstr("has a state of"));
  EXPECT_THAT(said("recompute", Json::array({1, 1})), HasSubstr("stands there twice"));
  EXPECT_THAT(said("variants", Json{{"1", "slices9"}}), HasSubstr("has no variant slices9"));
  EXPECT_THAT(said("candidates", Json::array()), HasSubstr("does not list the size that it chose, once"));
  Json twice = document["candidates"];
  twice.push_back(twice[0]);
  for (Json &candidate : twice)
    candidate["verdict"] = "chosen";
  EXPECT_THAT(said("candidates", twice), HasSubstr("does not list the size that it chose, once"));
}

TEST_F(DamagedPlan, ManyObjectsAreReadInTheirTime) {
  std::string text = document.dump();
  size_t at = text.find("\"candidates\":[") + 14;
  std::string many;
  for (int index = 0; index < 300'000; ++index)
    many += "{},";
  text.insert(at, many);
  auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(use(text).message.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << "not of their square";
}

TEST_F(DamagedPlan, KeysMustNotRepeat) {
  std::string text = document.dump();
  text.insert(text.find("\"version\""), "\"align\": 1, ");
  EXPECT_EQ(use(text).message, "plan.json: key `align` is given twice");
  std::string deep(200'000, '[');
  EXPECT_THAT(use(deep).message, HasSubstr("not valid JSON"));
  Json nested = document;
  text = nested.dump();
  size_t at = text.find("\"batch\":") + 8;
  text.replace(at, text.find(',', at) - at, deep + std::string(200'000, ']'));
  EXPECT_EQ(use(text).message.substr(0, 30), "plan.json: batch is an array, ");
}

/// What was measured since, or another budget, is what counts.
TEST_F(DamagedPlan, TimesAndMemoryAreThoseOfTheProfileAtHand) {
  Plan plan = *parsePlan(document.dump(), "plan.json");
  for (Rate &rate : profile.rates)
    rate.sustained /= 4;
  profile.bandwidth /= 4;
  profile.launch *= 4;
  profile.basis = "measured";
  Search search = *reusePlan(problem, profile, options, plan);
  Search again = *solve(problem, profile, options);
  EXPECT_GT(search.plan->seconds(), 2 * plan.seconds());
  EXPECT_EQ(search.plan->basis, "measured");
  ASSERT_EQ(search.candidates.size(), 1u);
  EXPECT_EQ(search.candidates[0].seconds, search.plan->seconds());
  EXPECT_THAT(search.notices[0], HasSubstr("other sizes are not shown"));
  if (again.plan->cut == search.plan->cut && again.plan->recompute == search.plan->recompute)
    EXPECT_NEAR(again.plan->seconds(), search.plan->seconds(), 1e-12);

  profile = *loadProfile("h100");
  profile.overheads.push_back({"another library", 1 << 20, true});
  Result<Search> over = reusePlan(problem, profile, options, plan);
  ASSERT_FALSE(over);
  EXPECT_THAT(over.error().message,
              testing::MatchesRegex("the plan takes .*, .* more than the 2.00 MiB there are"));
  options.budget = int64_t{1} << 30;
  Search larger = *reusePlan(problem, profile, options, plan);
  EXPECT_EQ(larger.plan->counted(), plan.counted() + (1 << 20));
  EXPECT_EQ(larger.plan->budget, 1 << 30);
}

} // namespace
