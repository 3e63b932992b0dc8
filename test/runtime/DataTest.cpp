// SPDX-License-Identifier: Apache-2.0
// Where samples come from: archives and single arrays, epochs, synthetic data; and what a run shows of
// itself.
#include "runtime/files/Array.h"
#include "runtime/files/File.h"
#include "test/runtime/Command.h"
#include "test/runtime/ToyArtifact.h"
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <zip.h>

using namespace accum::runtime;
using namespace accum::test;
using testing::HasSubstr;

namespace {

template <typename T>
std::string npy(const char *descriptor, const std::string &shape, const std::vector<T> &values) {
  std::string header =
      "{'descr': '" + std::string(descriptor) + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string magic("\x93NUMPY\x01\x00", 8);
  return magic + char(header.size()) + char(0) + header +
         std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
}

/// The four arrays as .npy texts, by name.
std::map<std::string, std::string> npyArrays(const ToyData &data) {
  std::string n = std::to_string(data.samples);
  return {{"x", npy("<f8", "(" + n + ", 5)", data.x)},
          {"ids", npy("<i8", "(" + n + ", 3)", data.ids)},
          {"mask", npy("<i8", "(" + n + ", 3)", data.mask)},
          {"t", npy("<f8", "(" + n + ",)", data.t)}};
}

std::vector<double> lossesOf(const std::string &log) {
  std::vector<double> losses;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line[0] == '{')
      losses.push_back(nlohmann::json::parse(line)["loss"].get<double>());
  return losses;
}

/// The losses that `words` give, logged to stdout.
std::vector<double> run(const std::string &words) {
  Outcome outcome = accumRun(words + " --lr 0.125 --log -");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return lossesOf(outcome.out);
}

} // namespace

TEST(Data, NpzAndNpyEqualSafetensors) {
  std::string folder = freshFolder("data"), artifact = writeToyArtifact(folder, {});
  ToyData data = makeToyData(13);
  std::vector<double> expected = run(artifact + " --steps 4 --data " + writeToyData(folder, data));
  ASSERT_EQ(expected.size(), 4u);
  auto arrays = npyArrays(data);
  std::string npz = folder + "/data.npz", single;
  int code = 0;
  zip_t *archive = zip_open(npz.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  for (const auto &[name, bytes] : arrays) {
    zip_file_add(archive, (name + ".npy").c_str(), zip_source_buffer(archive, bytes.data(), bytes.size(), 0),
                 0);
    std::ofstream(folder + "/" + name + ".npy", std::ios::binary) << bytes;
    single += " " + name + "=" + folder + "/" + name + ".npy";
  }
  ASSERT_EQ(zip_close(archive), 0);
  EXPECT_EQ(run(artifact + " --steps 4 --data " + npz), expected);
  EXPECT_EQ(run(artifact + " --steps 4 --data" + single), expected);
  EXPECT_EQ(accumRun(artifact + " --steps 4 --data " + npz + " " + folder + "/data.safetensors").code,
            3); // twice
}

TEST(Data, EpochsCountWindows) {
  std::string folder = freshFolder("data"), artifact = writeToyArtifact(folder, {});
  std::string words = artifact + " --data " + writeToyData(folder, makeToyData(13));
  EXPECT_EQ(run(words + " --epochs 2").size(), 6u);
  EXPECT_EQ(run(words + " --epochs 2 --drop-last").size(), 4u);
  EXPECT_EQ(run(words + " --epochs 2 --steps 5").size(), 5u);
  words = artifact + " --data " + writeToyData(folder, makeToyData(160)); // 32 windows: 2^64 steps
  EXPECT_EQ(run(words + " --epochs 576460752303423488 --steps 3").size(), 3u);
}

TEST(Data, SyntheticSamplesAreTheSameForEveryCut) {
  std::vector<double> expected;
  for (auto [devices, m] : {std::pair<int64_t, int64_t>{1, 5}, {1, 2}, {2, 1}}) {
    std::string artifact = writeToyArtifact(freshFolder("data"), {.batch = 5, .devices = devices, .m = m});
    std::vector<double> losses = run(artifact + " --synthetic --steps 5 --seed 3");
    ASSERT_EQ(losses.size(), 5u);
    expected = expected.empty() ? losses : expected;
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], expected[i], 1e-12 * std::max(1.0, expected[i]));
    EXPECT_LT(losses[4], losses[0]);
  }
}

TEST(Data, ProgressIsForTerminals) {
  std::string artifact = writeToyArtifact(freshFolder("data"), {});
  std::string words = artifact + " --synthetic --steps 3 --lr 0.125";
  EXPECT_THAT(accumRun(words).err, testing::Not(HasSubstr("step ")));
  std::string terminal = "script -qec '" ACCUM_RUN " " + words;
  EXPECT_THAT(runCommand(terminal + "' /dev/null").out, HasSubstr("step 3/3 | "));
  EXPECT_THAT(runCommand(terminal + " --progress none' /dev/null").out, testing::Not(HasSubstr("step 3/3")));
}

TEST(Data, DescribeRunsNothing) {
  std::string folder = freshFolder("data"),
              artifact = writeToyArtifact(folder, {.batch = 5, .devices = 2, .m = 2});
  Outcome outcome = accumRun("--describe " + artifact);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("ids                      i64   [N, 3]  0 <= value < 7 or -100\n"));
  EXPECT_THAT(outcome.out, HasSubstr("x                        f64   [5, N]\n"));
  EXPECT_THAT(outcome.out, HasSubstr("per-device batch         3\n"));
  EXPECT_THAT(outcome.out, HasSubstr("rows of the last one     1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("scratch                             240"));
  EXPECT_EQ(outcome.err, "");
}

TEST(Collectives, SumsInPiecesOverRanks) {
  for (int ranks : {2, 3}) {
    Outcome outcome = runCommand("mpirun -q -n " + std::to_string(ranks) +
                                 " --oversubscribe --allow-run-as-root " COLLECTIVES_PROGRAM);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(std::to_string(ranks) + " ranks"));
  }
}

TEST(Collectives, SumsInPiecesOverSockets) {
  for (int ranks : {2, 3, 5}) {
    std::string job =
        "export MASTER_ADDR=localhost MASTER_PORT=29641 WORLD_SIZE=" + std::to_string(ranks) + "; ";
    for (int rank = 1; rank < ranks; ++rank)
      job += "RANK=" + std::to_string(rank) + " " COLLECTIVES_PROGRAM " & p=\"$p $!\"; ";
    Outcome outcome = runCommand(job + "RANK=0 " COLLECTIVES_PROGRAM
                                       "; c=$?; for i in $p; do wait $i || c=1; done; exit $c");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(std::to_string(ranks) + " ranks"));
  }
}

/// A process may have few files open by default, and as many as the system allows when it asks.
TEST(Data, ManyShardsAreOpenedAtOnce) {
  std::string folder = freshFolder("many-shards"), artifact = writeToyArtifact(folder, {});
  std::string one = writeToyData(folder, makeToyData(1)), shards = folder + "/shards";
  std::filesystem::create_directory(shards);
  for (int i = 0; i < 70; ++i)
    std::filesystem::copy_file(one, shards + "/" + std::to_string(100 + i) + ".safetensors");
  std::string words = ACCUM_RUN " " + artifact + " --epochs 1 --progress none --data " + shards;
  Outcome few = runCommand("ulimit -Sn 50; " + words);
  EXPECT_EQ(few.code, 0) << few.err;
  EXPECT_THAT(few.out, HasSubstr("steps    14 of 5 samples"));
  Outcome none = runCommand("ulimit -n 50; " + words);
  EXPECT_EQ(none.code, kExitFile);
  EXPECT_THAT(none.err, HasSubstr(".safetensors: cannot be read: Too many open files [unreadable]"));
  EXPECT_THAT(none.err, HasSubstr("note: `ulimit -n` says how many files a process may have open"));
}
