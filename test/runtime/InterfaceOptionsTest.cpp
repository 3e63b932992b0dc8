// SPDX-License-Identifier: Apache-2.0
// Numbers and options of a run through the C interface.
#include "test/runtime/OpenedSession.h"
#include <cmath>
#include <gmock/gmock.h>

using namespace accum::runtime;
using namespace accum::test;

TEST(InterfaceOptions, NumbersThatAreNoneAreRefusedAndNothingChanges) {
  Opened opened({.batch = 5, .m = 2}, 5, 1);
  accum_info info;
  for (double value : {double(NAN), -double(NAN), HUGE_VAL, -HUGE_VAL, -1.0})
    for (double accum_hyper_options::*number :
         {&accum_hyper_options::lr, &accum_hyper_options::weight_decay, &accum_hyper_options::clip_norm,
          &accum_hyper_options::skip_spikes}) {
      accum_hyper_options hyper;
      accum_hyper_defaults(&hyper);
      hyper.*number = value;
      EXPECT_EQ(accum_set_hyper(opened.session, &hyper), kExitUsage) << value;
      accum_schedule_options constant = {sizeof constant, 1, nullptr, nullptr, nullptr, nullptr};
      EXPECT_EQ(accum_check_run("sgd", &hyper, &constant), kExitUsage) << value;
      EXPECT_THAT(accum_last_error(), testing::HasSubstr("expected a number"));
    }
  accum_step_result result;
  ASSERT_EQ(accum_step(opened.session, 0, &result), 0) << accum_last_error();
  accum_get_info(opened.session, &info);
  EXPECT_EQ(info.lr, 0.125);
}

TEST(InterfaceOptions, NumbersSetBetweenStepsHoldFromTheNextOneOn) {
  Opened opened({.batch = 5, .m = 2}, 5, 1);
  accum_step_result result;
  accum_info info;
  for (double rate : {0.5, 0.25, 0.0}) {
    accum_hyper_options hyper;
    accum_hyper_defaults(&hyper);
    hyper.lr = rate;
    hyper.clip_norm = 0.01;
    ASSERT_EQ(accum_set_hyper(opened.session, &hyper), 0) << accum_last_error();
    double before = opened.read("parameter", "b");
    ASSERT_EQ(accum_step(opened.session, 0, &result), 0) << accum_last_error();
    accum_get_info(opened.session, &info);
    EXPECT_EQ(info.lr, rate);
    double factor = std::min(1.0, 0.01 / (result.gradient_norm + 1e-6));
    EXPECT_NEAR(opened.read("parameter", "b"), before - rate * factor * opened.read("gradient", "b"), 1e-12);
  }
}

/// By name as by structure, to the bit; what is not named stays.
TEST(InterfaceOptions, OptionsAreSetByName) {
  Opened named({.batch = 5, .m = 2}, 5, 1), structured({.batch = 5, .m = 2}, 5, 1);
  auto set = [&](std::vector<const char *> names, std::vector<const char *> texts) {
    return accum_set(named.session, names.data(), texts.data(), names.size());
  };
  ASSERT_EQ(set({"lr", "clip-norm"}, {"0.3", "0.01"}), 0) << accum_last_error();
  ASSERT_EQ(set({"schedule", "steps", "warmup"}, {"linear", "8", "2"}), 0) << accum_last_error();
  ASSERT_EQ(set({"weight-decay"}, {"0.1"}), 0) << accum_last_error();
  accum_hyper_options hyper;
  accum_hyper_defaults(&hyper);
  hyper.lr = 0.3;
  hyper.clip_norm = 0.01;
  hyper.weight_decay = 0.1;
  ASSERT_EQ(accum_set_hyper(structured.session, &hyper), 0);
  accum_schedule_options schedule = {sizeof schedule, 8, "linear", "2", nullptr, nullptr};
  ASSERT_EQ(accum_set_schedule(structured.session, &schedule), 0);
  accum_step_result result;
  for (uint64_t step = 0; step < 4; ++step) {
    for (const char *bad : {"-1", "nan", "x"})
      EXPECT_EQ(set({"lr"}, {bad}), kExitUsage); // and changes nothing
    ASSERT_EQ(accum_step(named.session, step, &result), 0) << accum_last_error();
    ASSERT_EQ(accum_step(structured.session, step, &result), 0) << accum_last_error();
    EXPECT_EQ(named.read("parameter", "b"), structured.read("parameter", "b"));
  }
  const char *momentum[] = {"momentum"}, *text[] = {"0.9"};
  EXPECT_EQ(accum_check_options("sgd", momentum, text, 1), kExitUsage);
  EXPECT_THAT(accum_last_error(), testing::HasSubstr("--momentum belongs to sgd-momentum"));
  EXPECT_EQ(accum_check_options("sgd-momentum", momentum, text, 1), 0);
}

TEST(InterfaceOptions, OptionsAreListed) {
  size_t count = 0;
  bool hasNorm = false;
  for (; const accum_run_option *row = accum_run_option_at(count); ++count)
    if (std::string(row->name) == "clip-norm")
      hasNorm = row->is_set && std::string(row->python) == "float | None = None";
  EXPECT_GE(count, 60u);
  EXPECT_TRUE(hasNorm);
}
