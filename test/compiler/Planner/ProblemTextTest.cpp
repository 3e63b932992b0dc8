// SPDX-License-Identifier: Apache-2.0
// The text form: round trips, errors with their line, and bytes nobody meant to write.
#include "compiler/Planner/Problem/ProblemText.h"
#include "test/compiler/Planner/RandomProblem.h"
#include "test/compiler/Planner/TransformerProblem.h"
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace accum::planner;
using testing::HasSubstr;

namespace {

TEST(ProblemText, RoundTrips) {
  Random random(31);
  for (int round = 0; round < 100; ++round) {
    std::string text = toText(randomProblem(random, static_cast<int>(draw(random, 0, 25))));
    Result<Problem> read = parseProblem(text, "p");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(toText(*read), text);
  }
  std::string text = toText(transformerProblem(gpt2Small()));
  EXPECT_EQ(toText(*parseProblem(text, "p")), text);
  text = "accum-problem 1\nwhole-update 1\n"
         "command 1 micro gemm product flops=4*m call=gemm-nt:1,128*m,768,3072\n"
         "command 2 micro kernel gelu bytes=8*m work=gelu@98304*m work=plain@4+8*m\n";
  EXPECT_EQ(toText(*parseProblem(text, "p")), text);
}

TEST(ProblemText, TheCommittedProblemIsWhatTheGeneratorWrites) {
  std::ifstream file(ACCUM_SOURCE_DIR "/test/compiler/Planner/tiny-transformer.txt");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), toText(transformerProblem(tinyTransformer())));
}

TEST(ProblemText, KeepsNamesOfAnyBytes) {
  Problem problem;
  problem.name = "a \"b\" \\ c\n\t#=\x01 \xc3\xa9";
  problem.commands = {Command{.id = 1, .kernel = "", .node = "/a b=c#d"}};
  problem.commands[0].variants.push_back({.name = "chunks 4", .workspace = {0, 0, {{1, 0}, {8, 4096}}}});
  Result<Problem> read = parseProblem(toText(problem), "p");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, problem.name);
  EXPECT_EQ(read->commands[0].node, problem.commands[0].node);
  EXPECT_EQ(read->commands[0].variants[1].workspace, problem.commands[0].variants[1].workspace);
}

TEST(ProblemText, ReadsWhatEditorsOfOtherSystemsWrite) {
  std::string text = "accum-problem 1\r\nname n\r\nbatch 4\r\n";
  Result<Problem> read = parseProblem("\xef\xbb\xbf" + text, "p");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "n");
  EXPECT_EQ(read->batch, 4);
}

TEST(ProblemText, SaysWhichLineIsWrong) {
  auto expectError = [](const std::string &body, const char *what) {
    Result<Problem> read = parseProblem("accum-problem 1\n" + body, "p.txt");
    ASSERT_FALSE(read) << body;
    EXPECT_THAT(read.error().message, HasSubstr(what)) << body;
    EXPECT_EQ(read.error().slug, "malformed-problem");
  };
  expectError("# fine\nnonsense 1", "p.txt:3: `nonsense` does not begin a line");
  expectError("command 1 micro gemm", "p.txt:2: the kernel is missing");
  expectError("batch 4\nname n\nbatch 5", "p.txt:4: `batch` is said twice");
  expectError("clone-ids 4\nclone-ids 5", "p.txt:3: `clone-ids` is said twice");
  expectError("command 1 macro gemm k", "p.txt:2: `macro` is not a phase");
  expectError("phase a loop\ncommand 1 micro gemm k", "p.txt:3: `micro` is not a phase");
  expectError("phase a twice", "p.txt:2: `twice` is not a kind of phase");
  expectError("phase a loop\nphase a once", "two phases have the name `a`");
  expectError("phase a main\nphase b main", "more than one phase is the main loop");
  expectError("command 1 micro gemm k\nphase a main", "p.txt:3: a phase stands after the first command");
  expectError("command 1 micro gemm k flops=-1", "flops is `-1`, expected A, B*m");
  expectError("command 1 micro gemm k flops=99999999999999999999", "flops is `99999999999999999999`");
  expectError("command 1 micro gemm k speed=1", "unknown or repeated key `speed`");
  expectError("command 1 micro gemm k flops=1 flops=2", "unknown or repeated key `flops`");
  expectError("command 1 micro gemm k call=gemm-nn:1,2,3",
              "call is `gemm-nn:1,2,3`, expected gemm-nn, gemm-nt");
  expectError("command 1 micro kernel k work=exp", "work is `exp`, expected OPERATION@AMOUNT");
  expectError("command 1 micro gemm k extra", "unexpected word `extra`");
  expectError("command 1 micro gemm k\ncommand 1 micro gemm k", "p.txt:3: command 1 is defined twice");
  expectError("command 1 update gemm k\ncommand 2 micro gemm k",
              "p.txt:3: phase micro stands behind phase update");
  expectError("command 1 micro gemm k backward\ncommand 2 micro gemm k", "stands behind command 1, which is");
  expectError("command 1 micro gemm k tail", "command 1 is a tail: it stands behind another command");
  expectError("command 1 micro gemm k\ncommand 2 micro gemm k tail backward", "command 2 is a tail");
  expectError("command 1 update gemm k backward", "command 1 is backward, but not of the main loop");
  expectError("command 1 micro gemm k follows=1", "command `1` is not defined above");
  expectError("clone-ids 5\ncommand 5 micro gemm k", "ids from 5 on are those of repetitions");
  expectError("command 1 micro gemm k\nbuffer 2:0 activation 8", "begin with 2: or more");
  expectError("command 1 micro gemm k\nvariant 1 a\nvariant 1 a", "command 1 has two variants a");
  expectError("command 1 micro gemm k\nvariant 1 a result=b@8", "buffer `b` is not defined above");
  expectError("command 1 micro gemm k\nbuffer b activation 8\nvariant 1 a result=b@8",
              "buffer b is not a result of the command without views");
  expectError("command 1 micro gemm k\nbuffer b activation 8 producer=1\nvariant 1 a result=b@x",
              "result is `x`, expected A, B*m");
  expectError("variant 7 fast", "command `7` is not defined above");
  expectError("buffer b activation 8 alias=b", "p.txt:2: buffer `b` is not defined above");
  expectError("buffer b activation 8 alias=c\nbuffer c activation 8 alias=b",
              "p.txt:2: buffer `c` is not defined");
  expectError("command 1 micro gemm k\nbuffer b activation 8 producer=1 users=1",
              "p.txt:3: a user does not run behind");
  expectError("buffer b activation table{2:8}", "size is `table{2:8}`");
  expectError("buffer b activation 8\nbuffer b activation 8", "p.txt:3: buffer b is defined twice");
  expectError("buffer b activation 8 label=\"no end", "a quoted text has no end");
  expectError("fixed state w 99999999999999999999", "size is `99999999999999999999`");
  expectError("whole-update 2", "whole-update is neither 0 nor 1");
  expectError("tokens -4", "tokens per sample is `-4`");
}

TEST(ProblemText, NeedsItsFirstLine) {
  for (const char *text : {"", "\n# nothing\n", "accum-problem 2\n", "command 1 micro gemm k\n"})
    EXPECT_FALSE(parseProblem(text, "p")) << text;
}

TEST(ProblemText, NeitherCrashesNorHangsOnDamagedText) {
  Random random(32);
  std::string sound = toText(randomProblem(random, 12));
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = sound;
    for (int64_t edits = draw(random, 1, 4); edits > 0; --edits) {
      auto at = static_cast<size_t>(draw(random, 0, static_cast<int64_t>(text.size()) - 1));
      switch (draw(random, 0, 3)) {
      case 0:
        text[at] = static_cast<char>(draw(random, 0, 255));
        break;
      case 1:
        text.erase(at, static_cast<size_t>(draw(random, 1, 20)));
        break;
      case 2:
        text.insert(at, text.substr(static_cast<size_t>(draw(random, 0, static_cast<int64_t>(at))), 12));
        break;
      default:
        text.insert(at, fmt::format("{}", random()));
      }
    }
    Result<Problem> read = parseProblem(text, "p");
    refused += !read;
    if (read)
      ASSERT_TRUE(check(*read));
  }
  EXPECT_GT(refused, 1000);
}

TEST(ProblemText, AMillionBuffersInTime) {
  std::string text = "accum-problem 1\ncommand 1 micro kernel k\ncommand 2 micro kernel k\n";
  for (int index = 0; index < 1'000'000; ++index)
    text += fmt::format("buffer {} activation 64*m producer=1 users=2\n", index);
  double begin = cpuSeconds();
  Result<Problem> read = parseProblem(text, "p");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->buffers.size(), 1'000'000u);
  EXPECT_LT(cpuSeconds() - begin, kHang);
}

} // namespace
