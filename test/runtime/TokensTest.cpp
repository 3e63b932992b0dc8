// SPDX-License-Identifier: Apache-2.0
// Lines of tokens as data: which files are read as what, and the samples that are cut of them, against plain
// loops.
#include "runtime/data/Dataset.h"
#include "test/runtime/ToyArtifact.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace accum::runtime;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kLength = 5, kKnown = 50;
constexpr int64_t kEnd = 7;

using Numbers = std::vector<int64_t>;

template <typename T> std::string bytesOf(const Numbers &numbers) {
  std::string bytes;
  for (int64_t number : numbers) {
    T value = T(number);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  return bytes;
}

std::string llmHeader(int32_t magic, int32_t version, int32_t tokens) {
  Numbers words(256, 0);
  words[0] = magic;
  words[1] = version;
  words[2] = tokens;
  return bytesOf<int32_t>(words);
}

/// Of documents of these lengths, one sequence each.
std::string megatronIndex(const Numbers &lengths, uint8_t code, int64_t size) {
  Numbers places, firsts = {0};
  int64_t place = 0;
  for (int64_t length : lengths) {
    places.push_back(place);
    place += length * size;
    firsts.push_back(firsts.back() + 1);
  }
  return std::string("MMIDIDX\0\0", 9) + bytesOf<int64_t>({1}) + char(code) +
         bytesOf<int64_t>({int64_t(lengths.size()), int64_t(firsts.size())}) + bytesOf<int32_t>(lengths) +
         bytesOf<int64_t>(places) + bytesOf<int64_t>(firsts);
}

std::string npy(const std::string &descriptor, const std::string &shape, const std::string &values) {
  std::string header = "{'descr': '" + descriptor + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + char(0) + header + values;
}

InputSpec input(const std::string &name, std::optional<int64_t> bound = {}) {
  InputSpec spec;
  spec.name = name;
  spec.dtype = ACCUM_I64;
  spec.shape = {1, kLength};
  spec.batchDim = 0;
  spec.bound = bound;
  return spec;
}

/// Inputs of a language model whose loss is of this kind.
Manifest modelOf(const std::string &labels) {
  Manifest manifest;
  manifest.batch = manifest.m = 1;
  manifest.labels = labels;
  manifest.inputs = {input("input_ids", kKnown), input("position_ids"), input("attention_mask")};
  manifest.inputs[1].synthesize = Synthesize::Iota;
  manifest.inputs[2].synthesize = Synthesize::Ones;
  if (labels != "next-token") {
    manifest.inputs.push_back(input("labels", kKnown));
    manifest.inputs.back().ignoreIndex = -100;
  }
  appendRuntimeInputs(manifest);
  return manifest;
}

/// Some numbers, some of which end documents.
Numbers someTokens(int64_t count) {
  Numbers tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back((i * i * 31 + i * 7) % kKnown);
  return tokens;
}

class Tokens : public testing::Test {
protected:
  std::string write(const std::string &name, const std::string &bytes) const {
    fs::create_directories(fs::path(folder + "/" + name).parent_path());
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
    return folder + "/" + name;
  }

  Expected<Dataset> open(const std::vector<std::string> &words, const TokenOptions &options = {}) const {
    auto files = readData(words, options.type);
    return files ? Dataset::fromFiles(manifest, std::move(*files), options) : files.error();
  }

  std::string refusal(const std::vector<std::string> &words, const TokenOptions &options = {}) const {
    auto data = open(words, options);
    return data ? "" : std::to_string(data.error().exitCode) + " " + format(data.error());
  }

  static Numbers row(Dataset &data, size_t column, uint64_t sample) {
    Numbers numbers(kLength, -1);
    data.copyRow(column, sample, reinterpret_cast<uint8_t *>(numbers.data()), 0, 1);
    return numbers;
  }

  /// Every sample of some words, against windows of the files' tokens.
  void expectWindows(const std::vector<std::string> &words, const std::vector<Numbers> &files,
                     const TokenOptions &options = {}) {
    auto data = open(words, options);
    ASSERT_TRUE(data) << format(data.error());
    int64_t ahead = manifest.labels == "cross-entropy" ? 1 : 0, sample = 0;
    for (const Numbers &tokens : files)
      for (int64_t at = 0; at + kLength + ahead <= int64_t(tokens.size()); at += kLength, ++sample) {
        auto slice = [&](int64_t from) {
          return Numbers(tokens.begin() + from, tokens.begin() + from + kLength);
        };
        ASSERT_EQ(row(*data, 0, uint64_t(sample)), slice(at));
        if (manifest.labels != "next-token")
          ASSERT_EQ(row(*data, 3, uint64_t(sample)), slice(at + ahead));
        ASSERT_EQ(row(*data, 1, uint64_t(sample)), (Numbers{0, 1, 2, 3, 4}));
        ASSERT_EQ(row(*data, 2, uint64_t(sample)), Numbers(kLength, 1));
      }
    EXPECT_EQ(data->samples(), sample);
    EXPECT_TRUE(data->health());
  }

  std::string folder = accum::test::freshFolder("tokens");
  Manifest manifest = modelOf("causal-lm");
};

} // namespace

TEST_F(Tokens, EveryKindOfFile) {
  Numbers tokens = someTokens(48);
  std::string raw = write("raw.bin", bytesOf<uint16_t>(tokens));
  std::string wide = write("wide.bin", bytesOf<uint32_t>(tokens));
  std::string gpt2 = write("gpt2.bin", llmHeader(20240520, 1, 48) + bytesOf<uint16_t>(tokens));
  std::string llama = write("llama.bin", llmHeader(20240801, 7, 48) + bytesOf<uint32_t>(tokens));
  std::string single = write("one.npy", npy("<i4", "(48,)", bytesOf<int32_t>(tokens)));
  std::string megatron = write("meg.bin", bytesOf<int32_t>(tokens));
  write("meg.idx", megatronIndex({20, 1, 27}, 4, 4));
  for (const char *kind : {"causal-lm", "cross-entropy", "next-token"}) {
    manifest = modelOf(kind);
    for (const std::string &path : {raw, gpt2, llama, single, megatron, folder + "/meg", folder + "/meg.idx"})
      expectWindows({path}, {tokens});
    expectWindows({wide}, {tokens}, {.type = "u32"});
  }
  EXPECT_THAT(open({raw})->notices(),
              testing::Contains(HasSubstr("raw.bin: has no header and is read as u16")));
  EXPECT_THAT(open({gpt2})->notices(),
              testing::ElementsAre("48 tokens of u16: 9 samples of 5; 3 left over",
                                   HasSubstr("`position_ids` is not"), HasSubstr("`attention_mask` is not")));
}

TEST_F(Tokens, ShardsFollowEachOtherInTheOrderOfTheirNames) {
  std::vector<Numbers> files = {someTokens(12), someTokens(31), someTokens(6)};
  for (size_t i : {2, 0, 1})
    write("shards/part" + std::to_string(i) + ".bin", bytesOf<uint16_t>(files[i]));
  write("shards/README.md", "no data");
  for (const char *kind : {"causal-lm", "cross-entropy"}) {
    manifest = modelOf(kind);
    expectWindows({folder + "/shards"}, files);
    expectWindows({folder + "/shards/part*.bin"}, files);
    expectWindows({folder + "/shards/part0.bin", folder + "/shards/part1.bin", folder + "/shards/part2.bin"},
                  files);
  }
}

/// Labels behind a separator are ignored, and positions begin anew; by an id, or where the index says.
TEST_F(Tokens, DocumentsAreKeptApart) {
  Numbers tokens = someTokens(61), lengths;
  tokens[10] = tokens[14] = tokens[15] = tokens[30] = tokens[39] = kEnd;
  int64_t begin = 0;
  for (int64_t t = 0; t < 61; ++t)
    if (tokens[size_t(t)] == kEnd || t == 60) {
      lengths.push_back(t + 1 - begin);
      begin = t + 1;
    }
  ASSERT_GT(lengths.size(), 5U);
  std::string path = write("doc.bin", bytesOf<uint16_t>(tokens));
  write("doc.idx", megatronIndex(lengths, 8, 2));
  for (const std::string separator : {"7", "index"})
    for (const char *kind : {"causal-lm", "cross-entropy"}) {
      manifest = modelOf(kind);
      auto data = open({path}, {.separator = separator});
      ASSERT_TRUE(data) << format(data.error());
      bool isNext = manifest.labels == "cross-entropy";
      for (int64_t sample = 0; sample < data->samples(); ++sample) {
        Numbers labels, positions;
        for (int64_t t = 0; t < kLength; ++t) {
          int64_t at = sample * kLength + t, label = isNext ? tokens[size_t(at) + 1] : tokens[size_t(at)];
          bool isBehind = isNext ? tokens[size_t(at)] == kEnd : t > 0 && tokens[size_t(at) - 1] == kEnd;
          labels.push_back(isBehind ? -100 : label);
          positions.push_back(t > 0 && tokens[size_t(at) - 1] != kEnd ? positions.back() + 1 : 0);
        }
        ASSERT_EQ(row(*data, 3, uint64_t(sample)), labels) << kind << separator << sample;
        ASSERT_EQ(row(*data, 1, uint64_t(sample)), positions) << kind << separator << sample;
      }
    }
  EXPECT_THAT(open({path}, {.separator = "7"})->notices(),
              testing::Contains(HasSubstr("labels do not cross documents; `position_ids` restarts")));
}

TEST_F(Tokens, WhatTheLossCannotDoIsRefused) {
  std::string path = write("a.bin", bytesOf<uint16_t>(someTokens(20)));
  EXPECT_THAT(refusal({path}, {.separator = "50"}),
              HasSubstr("2 error: --document-separator 50: expected `index`, "
                        "or an id below 50 [usage]"));
  EXPECT_THAT(refusal({path}, {.separator = "7x"}), HasSubstr("2 error: --document-separator 7x"));
  EXPECT_THAT(refusal({path}, {.separator = "index"}), HasSubstr("a.bin has no .idx file beside it"));
  EXPECT_THAT(refusal({path}, {.labels = "next"}), HasSubstr("is causal-lm, which takes the same tokens"));
  manifest = modelOf("next-token");
  EXPECT_THAT(refusal({path}, {.separator = "7"}),
              HasSubstr("has no label that could be ignored [usage]\nnote: compile with --loss causal-lm"));
  manifest = modelOf("output");
  EXPECT_THAT(open({path})->notices(),
              testing::Contains(HasSubstr("the same tokens, which the model shifts")));
  manifest.inputs[3].ignoreIndex.reset();
  EXPECT_THAT(refusal({path}, {.separator = "7"}), HasSubstr("`labels` has no value that the loss ignores"));
  manifest.inputs[3].name = "pixels";
  EXPECT_THAT(refusal({path}), HasSubstr("the model's input `pixels` is neither `input_ids` nor labels"));
  std::string arrays = write("x.npz", "");
  EXPECT_THAT(
      refusal({"x=" + write("x.npy", npy("<i4", "(2, 5)", std::string(40, '\0')))}, {.separator = "7"}),
      HasSubstr("--document-separator is about tokens, and the data holds arrays [usage]"));
}

TEST_F(Tokens, BadFilesAreRefusedBeforeAnyStep) {
  std::string sound = bytesOf<uint16_t>(someTokens(20));
  auto refused = [&](const std::string &bytes, const TokenOptions &options = {}) {
    return refusal({write("bad.bin", bytes)}, options);
  };
  EXPECT_THAT(refused(llmHeader(20240522, 1, 20) + sound),
              HasSubstr("3 error: " + folder +
                        "/bad.bin: is not a whole file of tokens: its header has the magic "
                        "number 20240522 [malformed]"));
  EXPECT_THAT(refused(llmHeader(20240520, 2, 20) + sound), HasSubstr("its header has version 2, expected 1"));
  EXPECT_THAT(refused(llmHeader(20240520, 1, 21) + sound),
              HasSubstr("its header says 21 tokens of u16, and 40 bytes are behind it"));
  EXPECT_THAT(refused(llmHeader(20240520, 1, -1)), HasSubstr("says -1 tokens"));
  EXPECT_THAT(refused(llmHeader(20240520, 1, 20).substr(0, 100)), HasSubstr("and 0 bytes are behind it"));
  EXPECT_THAT(refused(sound + "x"), HasSubstr("its 41 bytes are no whole number of u16 tokens"));
  EXPECT_THAT(refused(sound + "xy", {.type = "u32"}),
              HasSubstr("its 42 bytes are no whole number of u32 tokens"));
  EXPECT_THAT(refused(""), HasSubstr("bad.bin: holds no token [bad-data]"));
  EXPECT_THAT(refused(sound.substr(0, 8)), HasSubstr("holds 4 tokens, expected at least one sample of 5"));
  EXPECT_THAT(refusal({folder + "/none*.bin"}), HasSubstr("none*.bin` matches no file [missing-file]"));
  EXPECT_THAT(refusal({folder + "/none.bin"}), HasSubstr("No such file"));
  fs::create_directories(folder + "/empty");
  EXPECT_THAT(refusal({folder + "/empty"}),
              HasSubstr("empty: holds no .bin, .npy, .npz or .safetensors file"));
  EXPECT_THAT(refusal({write("flat.npy", npy("<i4", "(4, 5)", std::string(80, '\0')))}),
              HasSubstr("expected one axis of integers"));
  EXPECT_THAT(refusal({write("real.npy", npy("<f4", "(20,)", std::string(80, '\0')))}),
              HasSubstr("has shape [20] of f32, expected one axis of integers"));
}

TEST_F(Tokens, BadIndexesAreRefused) {
  std::string index = megatronIndex({8, 12}, 8, 2), sound = bytesOf<uint16_t>(someTokens(20));
  std::string path = write("meg.bin", sound);
  auto refused = [&](const std::string &bytes) {
    write("meg.idx", bytes);
    return refusal({path});
  };
  EXPECT_EQ(refused(index), "");
  for (size_t length : {size_t(0), size_t(20), size_t(34), index.size() - 1})
    EXPECT_THAT(refused(index.substr(0, length)), HasSubstr("meg.idx: is not a whole Megatron index: it"))
        << length;
  std::string other = index;
  other[0] = 'N';
  EXPECT_THAT(refused(other), HasSubstr("it does not begin with MMIDIDX"));
  other = index;
  other[9] = 2;
  EXPECT_THAT(refused(other), HasSubstr("it has version 2, expected 1"));
  other = index;
  other[17] = 7;
  EXPECT_THAT(refused(other), HasSubstr("its tokens have type 7, which is no integer"));
  other = index;
  other[25] = char(0x7f);
  EXPECT_THAT(refused(other), HasSubstr("it is cut off: it says"));
  write("meg.bin", sound.substr(0, 30));
  EXPECT_THAT(refused(index), HasSubstr("meg.bin: is not a whole file of tokens: it has 30 bytes, and"));
}

TEST_F(Tokens, MixedShardsAreRefused) {
  write("mixed/a.bin", bytesOf<uint16_t>(someTokens(20)));
  write("mixed/b.npy", npy("<i4", "(20,)", bytesOf<int32_t>(someTokens(20))));
  EXPECT_THAT(refusal({folder + "/mixed"}),
              HasSubstr("b.npy: is of another kind than " + folder + "/mixed/a.bin"));
  EXPECT_THAT(refusal({folder + "/mixed/a.bin", folder + "/mixed/b.npy"}),
              HasSubstr("b.npy: holds tokens of i32, expected u16 as in"));
  std::string named = "labels=" + write("l.npy", npy("<i4", "(4, 5)", std::string(80, '\0')));
  EXPECT_THAT(refusal({folder + "/mixed/a.bin", named}), HasSubstr("a.bin: holds tokens, and"));
}

TEST_F(Tokens, IdsBeyondTheVocabularyAreRefusedWhereTheyAreRead) {
  Numbers tokens = someTokens(40);
  tokens[17] = kKnown;
  auto data = open({write("a.bin", bytesOf<uint16_t>(tokens))});
  ASSERT_TRUE(data);
  row(*data, 0, 2);
  EXPECT_TRUE(data->health());
  row(*data, 0, 3);
  ASSERT_FALSE(data->health());
  EXPECT_THAT(
      format(data->health().error()),
      HasSubstr(
          "a.bin: token 17 is 50, expected an id below 50, as the model's `input_ids` takes [bad-data]"));
  tokens[17] = -1;
  data = open({write("b.npy", npy("<i4", "(40,)", bytesOf<int32_t>(tokens)))});
  row(*data, 0, 3);
  EXPECT_THAT(format(data->health().error()), HasSubstr("b.npy: token 17 is -1, expected"));
}

TEST_F(Tokens, AFileThatShrinksIsSaid) {
  std::string path = write("a.bin", bytesOf<uint16_t>(someTokens(40'000)));
  auto data = open({path});
  fs::resize_file(path, 100);
  row(*data, 0, 3);
  EXPECT_TRUE(data->health());
  row(*data, 0, 7000);
  EXPECT_THAT(format(data->health().error()), HasSubstr("a.bin: cannot be read: it has become shorter"));
}

/// 10 GB: nothing is read but the header, and none of it is in memory.
TEST_F(Tokens, OpensWithoutReading) {
  std::string path = write("huge.bin", "");
  fs::resize_file(path, 10'000'000'000);
  auto bytesRead = [] {
    std::ifstream io("/proc/self/io");
    std::string key;
    int64_t bytes = 0;
    io >> key >> bytes;
    EXPECT_EQ(key, "rchar:");
    return bytes;
  };
  int64_t before = bytesRead();
  auto data = open({path});
  EXPECT_LT(bytesRead() - before, 4096);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples(), 1'000'000'000);
  EXPECT_EQ(row(*data, 0, 999'999'999), Numbers(kLength, 0));
  fs::remove(path);
}

TEST_F(Tokens, TheLastSamplesCanBeTakenOut) {
  Numbers tokens = someTokens(100);
  auto data = open({write("a.bin", bytesOf<uint16_t>(tokens))});
  auto rest = data->splitOff("15%");
  ASSERT_TRUE(rest && *rest);
  EXPECT_EQ(data->samples(), 17);
  EXPECT_EQ((*rest)->samples(), 3);
  EXPECT_EQ(row(**rest, 0, 0), Numbers(tokens.begin() + 85, tokens.begin() + 90));
  EXPECT_EQ(row(*data, 0, 16), Numbers(tokens.begin() + 80, tokens.begin() + 85));
  for (const std::string text : {"1%", "17", "100%", "-3", "1.5", "x", "5%%"})
    EXPECT_FALSE(data->splitOff(text)) << text;
  EXPECT_EQ((*data->splitOff("2"))->samples(), 2);
  EXPECT_FALSE(*data->splitOff(""));
}
