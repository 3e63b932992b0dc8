// SPDX-License-Identifier: Apache-2.0
// The C interface in this process: bind memory, step, read, eval; sizes as described; no allocation inside a
// step.
#include "runtime/accum_runtime.h"
#include "test/runtime/Command.h"
#include "test/runtime/OpenedSession.h"
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;

static std::atomic<bool> counting{false};
static std::atomic<int64_t> allocations{0};

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ACCUM_SANITIZED 1
#endif
#endif

#ifndef ACCUM_SANITIZED // which has a malloc of its own
// Every allocation of the process goes through these: operator new calls malloc.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *malloc(size_t bytes) {
  allocations += counting;
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  allocations += counting;
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  allocations += counting;
  return __libc_realloc(old, bytes);
}
}
#endif

/// More samples than memory could list: the order is computed.
TEST(Interface, AnOrderTakesNoMemory) {
  Opened opened({.batch = 5, .devices = 1, .m = 2}, 6, 1);
  accum_data_options data{};
  data.size = sizeof data;
  data.shuffle = 1;
  data.samples = int64_t(1) << 50;
  ASSERT_EQ(accum_bind_synthetic(opened.session, &data), 0) << accum_last_error();
  accum_step_result result;
  EXPECT_EQ(accum_step(opened.session, uint64_t(1) << 40, &result), 0) << accum_last_error();
  EXPECT_EQ(result.samples, 5);
}

TEST(Interface, StepsReadsAndEvaluates) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  Opened opened(options, 13, 1);
  accum_step_result result;
  for (uint64_t step = 0; step < 4; ++step)
    ASSERT_EQ(accum_step(opened.session, step, &result), 0) << accum_last_error();
  ToyRun run{.steps = 4};
  run.hyper.lr = 0.125;
  ToyState expected = trainReference(options, opened.data, run);
  EXPECT_NEAR(opened.read("parameter", "b"), expected.b, 1e-12);
  EXPECT_NEAR(opened.read("gradient", "b"), expected.db, 1e-12);
  EXPECT_NEAR(opened.read("scalar", "loss"), expected.loss, 1e-12);
  EXPECT_NEAR(result.loss, expected.loss, 1e-12);
  EXPECT_EQ(result.targets, expected.targets);
  EXPECT_EQ(result.micro_steps, 3u);
  double norm = expected.db * expected.db;
  for (const auto &gradient : {expected.dw, expected.de})
    for (double value : gradient)
      norm += value * value;
  EXPECT_NEAR(result.gradient_norm, std::sqrt(norm), 1e-12);
  double before = opened.read("parameter", "b"), m = opened.read("m", "b");
  ASSERT_EQ(accum_eval(opened.session, 4, &result), 0);
  EXPECT_EQ(opened.read("parameter", "b"), before);
  EXPECT_EQ(opened.read("m", "b"), m);
  run.steps = 5;
  EXPECT_NEAR(result.loss, trainReference(options, opened.data, run).loss, 1e-12);
}

/// Samples of the caller's, a ragged batch among them, train as the windows of bound data do; one larger than
/// the artifact's batch is one step too.
TEST(Interface, StepsOverGivenSamples) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  Opened opened(options, 13, 1);
  accum_step_result result;
  for (auto [step, samples] : {std::pair<uint64_t, int64_t>(0, 5), {1, 5}, {2, 3}})
    ASSERT_EQ(opened.stepOver(step, 5 * int64_t(step), samples, result), 0) << accum_last_error();
  ToyRun run{.steps = 3};
  run.hyper.lr = 0.125;
  ToyState expected = trainReference(options, opened.data, run);
  EXPECT_NEAR(opened.read("parameter", "b"), expected.b, 1e-12);
  EXPECT_NEAR(result.loss, expected.loss, 1e-12);
  EXPECT_EQ(result.samples, 3);
  EXPECT_EQ(result.micro_steps, 2u);
  run.batches = {{0, 5}, {3, 13}};
  run.steps = 4;
  ASSERT_EQ(opened.stepOver(3, 0, 13, result), 0) << accum_last_error();
  EXPECT_NEAR(result.loss, trainReference(options, opened.data, run).loss, 1e-12);
  EXPECT_EQ(result.micro_steps, 7u);
  ASSERT_EQ(accum_step(opened.session, 0, &result), 0) << accum_last_error(); // bound data is still there
  EXPECT_EQ(result.samples, 5);
}

TEST(Interface, GivenSamplesAreChecked) {
  Opened opened({.batch = 5, .m = 2}, 5, 1);
  double before = opened.read("parameter", "b");
  accum_step_result result;
  EXPECT_EQ(opened.stepOver(0, 0, 0, result), 3);
  EXPECT_THAT(accum_last_error(), HasSubstr("expected at least one"));
  opened.data.ids[3] = kVocabulary;
  EXPECT_EQ(opened.stepOver(0, 0, 5, result), 3);
  EXPECT_THAT(accum_last_error(), HasSubstr("ids"));
  EXPECT_EQ(opened.read("parameter", "b"), before);
}

TEST(Interface, RefusesUnknownTensors) {
  Opened opened({.batch = 5, .m = 2}, 5, 1);
  accum_tensor tensor;
  EXPECT_EQ(accum_read(opened.session, "parameter", "nobody", &tensor), 2);
  EXPECT_THAT(accum_last_error(), HasSubstr("the artifact has no parameter `nobody`"));
  EXPECT_EQ(accum_read(opened.session, "momentum", "w", &tensor), 2);
  EXPECT_EQ(accum_read(opened.session, "gradient", "scale", &tensor), 2);
  EXPECT_EQ(accum_read(opened.session, "scalar", "norm", &tensor), 2);
}

TEST(Interface, StepWithoutDataIsRefused) {
  accum_session *session = nullptr;
  ASSERT_EQ(accum_open(writeToyArtifact(freshFolder("interface"), {}).c_str(), nullptr, &session), 0);
  EXPECT_EQ(accum_step(session, 0, nullptr), 2);
  accum_close(session);
}

TEST(Interface, NothingIsAllocatedInsideAStep) {
#ifdef ACCUM_SANITIZED
  GTEST_SKIP() << "the sanitizer's malloc is not counted";
#endif
  for (int32_t threads : {1, 2}) {
    Opened opened({.batch = 6, .m = 2, .optimizer = "adamw"}, 13, threads);
    accum_step_result result;
    for (uint64_t step = 0; step < 3; ++step)
      ASSERT_EQ(accum_step(opened.session, step, &result), 0);
    allocations = 0;
    counting = true;
    for (uint64_t step = 3; step < 12; ++step) // crosses three epochs
      accum_step(opened.session, step, &result);
    counting = false;
    EXPECT_EQ(allocations, 0) << threads << " threads";
  }
}

TEST(Interface, TheArenaIsWhatTheArtifactSays) {
  Opened opened({.batch = 5, .m = 2}, 5, 1);
  accum_info info;
  accum_get_info(opened.session, &info);
  EXPECT_EQ(info.arena_bytes, info.state_bytes + (info.scratch_bytes + 255) / 256 * 256 + info.staging_bytes);
  EXPECT_EQ(info.samples, 5);
  EXPECT_EQ(info.windows, 1);
}

TEST(Interface, TheCutDoesNotMatterAndAMissingSampleDoes) {
  Opened opened({.batch = 5, .m = 2}, 5, 1);
  accum_hyper_options hyper;
  accum_hyper_defaults(&hyper);
  hyper.lr = 0;
  ASSERT_EQ(accum_set_hyper(opened.session, &hyper), 0);
  accum_step_result result;
  int32_t reversed = 0;
  int64_t samples = 0;
  auto gradient = [&](int64_t rows, int64_t only) {
    accum_cut cut = {sizeof cut, reversed, rows, samples, only, 0};
    EXPECT_EQ(accum_set_cut(opened.session, &cut), 0) << accum_last_error();
    EXPECT_EQ(accum_fill_memory(opened.session, 0xff), 0) << accum_last_error();
    EXPECT_EQ(accum_step(opened.session, 0, &result), 0) << accum_last_error();
    return opened.read("gradient", "b");
  };
  double planned = gradient(0, -1);
  EXPECT_EQ(result.micro_steps, 3u);
  EXPECT_NEAR(gradient(1, -1), planned, 1e-12);
  EXPECT_EQ(result.micro_steps, 5u);
  double parts[] = {gradient(2, 0), gradient(2, 1), gradient(2, 2)};
  EXPECT_NEAR(parts[0] + parts[1] + parts[2], planned, 1e-12);
  for (double part : parts)
    EXPECT_GT(std::fabs(part - planned), 1e-3 * std::fabs(planned));
  EXPECT_EQ(gradient(2, 3), 0);
  reversed = 1;
  EXPECT_NEAR(gradient(2, -1), planned, 1e-12);
  reversed = 0;
  samples = 4;
  EXPECT_GT(std::fabs(gradient(2, -1) - planned), 1e-3 * std::fabs(planned));
  EXPECT_EQ(result.samples, 4);
  EXPECT_EQ(result.micro_steps, 2u);
  ASSERT_EQ(accum_set_cut(opened.session, nullptr), 0);
  ASSERT_EQ(accum_step(opened.session, 0, &result), 0);
  EXPECT_NEAR(opened.read("gradient", "b"), planned, 1e-12);
  accum_cut tooMany = {sizeof tooMany, 0, 3, 0, -1, 0};
  EXPECT_NE(accum_set_cut(opened.session, &tooMany), 0);
}

TEST(Interface, AParameterIsWritten) {
  Opened opened({.batch = 5, .m = 2}, 5, 1);
  double value = 0.75;
  ASSERT_EQ(accum_write(opened.session, "b", &value, sizeof value), 0) << accum_last_error();
  EXPECT_EQ(opened.read("parameter", "b"), value);
  EXPECT_EQ(accum_write(opened.session, "b", &value, 4), 2);
  EXPECT_EQ(accum_write(opened.session, "nobody", &value, sizeof value), 2);
}

/// One accumulate and an update are a step, bit for bit.
TEST(Interface, AStepInTwoCallsIsTheStep) {
  for (const char *optimizer : {"sgd", "adamw"}) {
    Opened whole({.batch = 5, .m = 2, .optimizer = optimizer}, 13, 1);
    accum_step_result expected, result;
    for (uint64_t step = 0; step < 4; ++step)
      ASSERT_EQ(accum_step(whole.session, step, &expected), 0);
    double b = whole.read("parameter", "b"), w = whole.read("parameter", "w");
    Opened parts({.batch = 5, .m = 2, .optimizer = optimizer}, 13, 1);
    for (uint64_t step = 0; step < 4; ++step) {
      ASSERT_EQ(accum_accumulate(parts.session, step, &result), 0) << accum_last_error();
      EXPECT_EQ(result.micro_steps, 3u - (step == 2));
      ASSERT_EQ(accum_update(parts.session, step, &result), 0) << accum_last_error();
    }
    EXPECT_EQ(parts.read("parameter", "b"), b);
    EXPECT_EQ(parts.read("parameter", "w"), w);
    EXPECT_EQ(result.loss, expected.loss);
    EXPECT_EQ(result.gradient_norm, expected.gradient_norm);
    EXPECT_EQ(result.samples, expected.samples);
    EXPECT_EQ(result.targets, expected.targets);
  }
}

/// The gradients of two windows, each normalised by its own targets; and a handler that halves one.
TEST(Interface, GradientsOfCallsAreAddedAndCanBeWritten) {
  ToyOptions options{.batch = 5, .m = 2};
  Opened opened(options, 10, 1);
  double before = opened.read("parameter", "b"), gradients[2];
  accum_step_result result;
  for (uint64_t step : {0, 1}) {
    ASSERT_EQ(accum_accumulate(opened.session, step, &result), 0) << accum_last_error();
    gradients[step] = opened.read("gradient", "b");
  }
  ToyData second = opened.data, first = opened.data;
  first.samples = second.samples = 5;
  second.x.erase(second.x.begin(), second.x.begin() + 5 * kFeatures);
  second.ids.erase(second.ids.begin(), second.ids.begin() + 5 * kWords);
  second.mask.erase(second.mask.begin(), second.mask.begin() + 5 * kWords);
  second.t.erase(second.t.begin(), second.t.begin() + 5);
  double one = trainReference(options, first, {}).db, other = trainReference(options, second, {}).db;
  EXPECT_NEAR(gradients[0], one, 1e-12);
  EXPECT_NEAR(gradients[1], one + other, 1e-12);
  double half = gradients[1] / 2;
  ASSERT_EQ(accum_write_tensor(opened.session, "gradient", "b", &half, sizeof half), 0);
  ASSERT_EQ(accum_update(opened.session, 0, &result), 0) << accum_last_error();
  EXPECT_NEAR(opened.read("parameter", "b"), before - 0.125 * (one + other) / 2, 1e-12);
  EXPECT_EQ(result.samples, 10);
}

TEST(Interface, AnUpdateNeedsGradients) {
  Opened opened({.batch = 5, .m = 2, .optimizer = "adamw"}, 10, 1);
  accum_step_result result;
  EXPECT_EQ(accum_update(opened.session, 0, &result), 2);
  EXPECT_THAT(accum_last_error(), HasSubstr("there are no gradients to update with [usage]"));
  ASSERT_EQ(accum_accumulate(opened.session, 0, &result), 0);
  ASSERT_EQ(accum_step(opened.session, 1, &result), 0);
  EXPECT_EQ(accum_update(opened.session, 2, &result), 2);
  double value = 1;
  EXPECT_EQ(accum_write_tensor(opened.session, "m", "b", &value, sizeof value), 0);
  EXPECT_EQ(opened.read("m", "b"), 1);
  EXPECT_EQ(accum_write_tensor(opened.session, "m", "b", &value, 3), 2);
  EXPECT_THAT(accum_last_error(), HasSubstr("m `b` has 8 bytes, not 3 [usage]"));
  EXPECT_EQ(accum_write_tensor(opened.session, "momentum", "b", &value, sizeof value), 2);
  std::vector<std::string> names;
  while (const char *name = accum_trained(opened.session, names.size()))
    names.emplace_back(name);
  EXPECT_THAT(names, testing::ElementsAre("w", "e", "b"));
}
