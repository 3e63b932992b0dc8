// SPDX-License-Identifier: Apache-2.0
// accum-run --profile: every call of every step, inside of its step.
#include "runtime/session/CallLog.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyTraining.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>

using namespace accum::runtime;
using namespace accum::test;

namespace {

TEST(Profile, HoldsEveryCallOfEveryStep) {
  ToyOptions options{.batch = 5, .m = 2};
  ToyFiles files = prepareToy("profile", options, makeToyData(10), {.steps = 3});
  std::string path = files.artifact + ".profile.json";
  Outcome outcome = accumRun(files.words + " --profile " + path);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  nlohmann::json json = nlohmann::json::parse(std::ifstream(path));
  std::map<int, std::pair<double, double>> steps;
  std::map<int, std::map<std::string, int>> calls;
  for (const auto &event : json["traceEvents"]) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["ts"], 0);
    if (event["cat"] == "step")
      steps[event["args"]["step"]] = {event["ts"], event["ts"].get<double>() + event["dur"].get<double>()};
    else
      ++calls[event["args"]["step"]][event["cat"]];
  }
  ASSERT_EQ(steps.size(), 3u);
  for (const auto &event : json["traceEvents"]) {
    auto [from, to] = steps[event["args"]["step"]];
    EXPECT_GE(event["ts"].get<double>(), from - 1e-3);
    EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), to + 1e-3);
  }
  EXPECT_EQ(calls[1], calls[3]) << "steps of equal windows make equal calls";
  EXPECT_GT(calls[1]["kernel"], 0);
  EXPECT_EQ(calls[1]["feed"] % 3, 0) << "5 samples are 3 micro-steps";
  EXPECT_GT(calls[1]["norm"], 0);
}

TEST(Profile, AnUnwritableFileIsAnErrorBeforeTheFirstStep) {
  ToyFiles files = prepareToy("profile-unwritable", {.batch = 5, .m = 2}, makeToyData(10), {.steps = 3});
  Outcome outcome = accumRun(files.words + " --profile /nowhere/p.json");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out.find("steps "), std::string::npos);
}

TEST(Profile, NamesGemmsByHowTheirOperandsLie) {
  accum_gemm call = {};
  call.m = 2, call.n = 3, call.k = 4;
  call.a_row = 4, call.a_col = 1, call.b_row = 1, call.b_col = 4, call.c_row = 3;
  call.batch_dims = 2, call.batch[0] = 5, call.batch[1] = 7;
  CallLog log;
  log.add(factsOf(call, 0), 1.0, 0.5);
  std::swap(call.a_row, call.a_col);
  call.batch_dims = 0;
  log.add(factsOf(call, 1), 2.0, 0.25);
  nlohmann::json json = nlohmann::json::parse(log.toJson({}, 3));
  EXPECT_EQ(json["traceEvents"][0]["name"], "gemm nt 35 of 2x3x4");
  EXPECT_EQ(json["traceEvents"][0]["ts"], 0);
  EXPECT_EQ(json["traceEvents"][0]["dur"], 0.5e6);
  EXPECT_EQ(json["traceEvents"][0]["pid"], 3);
  EXPECT_EQ(json["traceEvents"][1]["name"], "gemm tt 2x3x4 +=");
  EXPECT_EQ(json["traceEvents"][1]["ts"], 1e6);
}

} // namespace
