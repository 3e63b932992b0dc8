// SPDX-License-Identifier: Apache-2.0
// Checkpoints that have changed since they were written, or that another version wrote.
#include "test/runtime/Command.h"
#include "test/runtime/ToyJob.h"
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <tuple>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

void flipByte(const std::string &path, int64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  char byte = 0;
  file.get(byte);
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

/// The document of a checkpoint, after `change`.
template <typename Change> void rewrite(const std::string &checkpoint, Change &&change) {
  std::string path = checkpoint + "/checkpoint.json";
  auto json = nlohmann::ordered_json::parse(*readText(path, 1 << 20));
  change(json);
  std::ofstream(path) << json.dump(3);
}

/// Every place of a number in a document.
void findNumbers(const nlohmann::ordered_json &json, const nlohmann::ordered_json::json_pointer &at,
                 std::vector<nlohmann::ordered_json::json_pointer> &found) {
  if (json.is_number())
    found.push_back(at);
  if (!json.is_structured())
    return;
  for (const auto &[key, value] : json.items())
    findNumbers(value, json.is_array() ? at / size_t(std::stoul(key)) : at / key, found);
}

} // namespace

TEST(Checkpoint, ADamagedOneIsPassedOver) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  ToyJob run("damaged", options, 6);
  ASSERT_EQ(accumRun(run.words + " --checkpoint " + run.root + " --checkpoint-every 2").code, 0);
  std::string weights = run.weights();
  EXPECT_THAT(run.names(), testing::ElementsAre(".lock", "step-00000002", "step-00000004", "step-00000006"));
  flipByte(run.root + "/step-00000006/state.safetensors", 600);
  fs::resize_file(run.root + "/step-00000004/state.safetensors", 100);
  Outcome resumed = accumRun(run.words + " --checkpoint " + run.root + " --resume auto");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err,
              HasSubstr("step-00000006/state.safetensors: is not what was written: its checksum differs"));
  EXPECT_THAT(resumed.err, HasSubstr("step-00000004/state.safetensors: has 100 bytes of "));
  EXPECT_THAT(resumed.out, HasSubstr("at step 2"));
  EXPECT_EQ(run.weights(), weights);
  std::ofstream(run.root + "/step-00000004/checkpoint.json")
      << "{\"format\": \"accum-checkpoint\", \"version\": 1}";
  Outcome one = accumRun(run.words + " --resume " + run.root + "/step-00000004");
  EXPECT_EQ(one.code, kExitFile);
  EXPECT_THAT(one.err, HasSubstr("[damaged-checkpoint]"));
}

/// A number that has changed is no number of this run: the checkpoint before it is taken.
TEST(Checkpoint, EveryNumberIsCovered) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  ToyJob run("numbers", options, 4, "--skip-spikes 5");
  std::string words = run.words + " --checkpoint " + run.root, newest = run.root + "/step-00000004";
  ASSERT_EQ(accumRun(words + " --checkpoint-every 2").code, 0);
  std::string weights = run.weights(), whole = *readText(newest + "/checkpoint.json", 1 << 20);
  std::vector<nlohmann::ordered_json::json_pointer> numbers;
  findNumbers(nlohmann::ordered_json::parse(whole), nlohmann::ordered_json::json_pointer(), numbers);
  ASSERT_GT(numbers.size(), 20u);
  for (const auto &at : numbers) {
    rewrite(newest, [&](auto &json) { json[at] = json[at].template get<double>() + 1; });
    Outcome described = accumRun(run.root + " --describe");
    EXPECT_THAT(described.out, HasSubstr("step         4  damaged: ")) << at;
    std::ofstream(newest + "/checkpoint.json") << whole;
  }
  rewrite(newest, [](auto &json) { json["step"] = 5; });
  Outcome resumed = accumRun(words + " --resume auto");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err,
              HasSubstr("step-00000004/checkpoint.json: is not what was written: its checksum differs: the "
                        "checkpoint before it is taken"));
  EXPECT_THAT(resumed.out, HasSubstr("at step 2"));
  EXPECT_EQ(run.weights(), weights);
  rewrite(newest, [](auto &) {}); // another spelling is the same document
  EXPECT_EQ(accumRun(words + " --resume " + newest).code, 0);
}

/// Those that earlier versions wrote have no checksum: what they say must be possible, and fit their name.
TEST(Checkpoint, WithoutAChecksumNumbersHaveToBePossible) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  ToyJob run("unchecked", options, 4);
  ASSERT_EQ(accumRun(run.words + " --checkpoint " + run.root).code, 0);
  std::string newest = run.root + "/step-00000004";
  rewrite(newest, [](auto &json) { json.erase("checksum"); });
  EXPECT_EQ(accumRun(run.words + " --resume " + newest).code, 0);
  std::string whole = *readText(newest + "/checkpoint.json", 1 << 20);
  for (auto [key, value, said] :
       {std::tuple("step", nlohmann::ordered_json(5), "is of step 5, as its folder is not"),
        {"step", -1, "-1 is no number of steps, samples or bytes"},
        {"step", 4.5, "4.5 is no number of steps"},
        {"step", 1e300, "1e+300 is no number of steps"},
        {"step", UINT64_MAX, "18446744073709551615 is no number of steps"},
        {"updates", 5, "5 updates in 4 steps"},
        {"samples", -23, "-23 is no number"},
        {"batch", 0.5, "0.5 is no number"},
        {"seed", -9, "-9 is no number"},
        {"version", 3, "is a checkpoint of version 3, by accum "}}) {
    rewrite(newest, [&](auto &json) { json[key] = value; });
    for (const std::string &path : {newest, newest + "/", newest + "/."}) {
      Outcome one = accumRun(run.words + " --resume " + path);
      EXPECT_EQ(one.code, kExitFile) << key << value << one.out;
      EXPECT_THAT(one.err, HasSubstr(said));
      EXPECT_THAT(one.err, HasSubstr("[damaged-checkpoint]"));
    }
    std::ofstream(newest + "/checkpoint.json") << whole;
  }
  fs::rename(newest, run.root + "/the-best"); // a name that tells no step
  EXPECT_EQ(accumRun(run.words + " --resume " + run.root + "/the-best").code, 0);
}

/// A fresh start would write over checkpoints that another version can read.
TEST(Checkpoint, NoneThatCanBeReadIsNoFreshStart) {
  ToyOptions options{.batch = 5, .m = 2};
  for (int64_t devices : {1, 2}) {
    options.devices = devices;
    ToyJob run("unreadable", options, 4, "--checkpoint-every 2 --checkpoint-keep 1");
    std::string words = run.words + " --checkpoint " + run.root;
    ASSERT_EQ(accumRun(words).code, 0);
    rewrite(run.root + "/step-00000004", [](auto &json) { json["version"] = 9; });
    std::string before = *readText(run.root + "/step-00000004/checkpoint.json", 1 << 20);
    Outcome outcome = accumRun(words + " --resume auto");
    EXPECT_EQ(outcome.code, kExitFile);
    EXPECT_THAT(outcome.err,
                HasSubstr("error: " + run.root + ": holds 1 checkpoint, and none can be read: "));
    EXPECT_THAT(outcome.err, HasSubstr("is a checkpoint of version 9"));
    EXPECT_THAT(outcome.err, HasSubstr("note: to start afresh give the run another folder"));
    EXPECT_THAT(run.names(), testing::ElementsAre(".lock", "step-00000004"));
    EXPECT_EQ(*readText(run.root + "/step-00000004/checkpoint.json", 1 << 20), before);
  }
}

/// It counts for nothing among those that are kept: the new ones would go, and it would stay.
TEST(Checkpoint, ADamagedOneTakesNoPlace) {
  ToyOptions options{.batch = 5, .m = 2, .optimizer = "adamw"};
  ToyJob run("places", options, 6);
  std::string words = run.words + " --checkpoint " + run.root;
  ASSERT_EQ(accumRun(words + " --checkpoint-every 2").code, 0);
  flipByte(run.root + "/step-00000006/state.safetensors", 600);
  std::string four = ToyJob::replaced(words, "--steps 6", "--steps 5") + " --checkpoint-keep 1 --resume auto";
  ASSERT_EQ(accumRun(four).code, 0);
  EXPECT_THAT(run.names(), testing::ElementsAre(".lock", "step-00000005", "step-00000006"));
  EXPECT_THAT(accumRun(words + " --resume auto").out, HasSubstr("at step 5"));
}
