// SPDX-License-Identifier: Apache-2.0
// A fixed number of damaged files of each kind: every one is planned right or refused.
#include "test/fuzz/PlannerInputs.h"
#include "test/fuzz/TextDamage.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace accum::planner;

namespace {

constexpr int kRounds = 600;

std::string readAll(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The seeds of a kind, by name: `csv-*`, `problem-*`, `profile-*`.
std::vector<std::string> seeds(const std::string &kind) {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::directory_iterator(ACCUM_SOURCE_DIR "/test/fuzz/corpus/planner"))
    if (entry.path().filename().string().starts_with(kind + "-"))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::filesystem::path &path : paths)
    texts.push_back(readAll(path));
  return texts;
}

/// Runs whole seeds, which are all accepted, and damaged ones, of which some are and some are not.
template <class Use> void damageAll(const std::vector<std::string> &seeds, Use use) {
  ASSERT_FALSE(seeds.empty());
  int accepted = 0;
  for (size_t index = 0; index < seeds.size(); ++index)
    EXPECT_TRUE(use(seeds[index])) << "seed " << index;
  test::TextDamage damage(1);
  for (int round = 0; round < kRounds; ++round)
    accepted += use(damage(seeds[static_cast<size_t>(round) % seeds.size()]));
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, kRounds);
}

TEST(DamagedInputs, OfProblems) { damageAll(seeds("problem"), test::planProblemBytes); }

TEST(DamagedInputs, OfRectangles) { damageAll(seeds("csv"), test::packTableBytes); }

TEST(DamagedInputs, OfProfiles) {
  std::vector<std::string> texts = seeds("profile");
  for (const char *name : {"h100", "host"})
    texts.push_back(readAll(std::string(ACCUM_SOURCE_DIR "/compiler/Planner/profiles/") + name + ".json"));
  damageAll(texts, test::readProfileBytes);
}

TEST(DamagedInputs, OfPlans) {
  std::vector<std::string> problems = seeds("problem");
  for (const std::string &text : problems) {
    Result<Problem> problem = parseProblem(text, "seed");
    ASSERT_TRUE(problem);
    Result<Search> search =
        solve(*problem, *loadProfile("h100"), {.batch = 6, .devices = 2, .budget = int64_t{1} << 30});
    ASSERT_TRUE(search && search->plan);
    damageAll({toJson(*search->plan)},
              [&](const std::string &plan) { return test::reusePlanBytes(plan, *problem); });
  }
}

} // namespace
