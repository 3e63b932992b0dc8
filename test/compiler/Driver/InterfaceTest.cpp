// SPDX-License-Identifier: Apache-2.0
// libaccum_compiler.so alone: what is said comes as structs, and as text to whoever listens.
#include "compiler/Driver/accum_compiler.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

extern "C" const char *compilerVersionFromC(void);

namespace {

struct Compiled {
  int code = 0;
  std::string results, messages; ///< as they were said
  std::unique_ptr<accum_compilation, void (*)(accum_compilation *)> compilation{nullptr,
                                                                                accum_compilation_free};

  explicit Compiled(const std::vector<const char *> &words, bool parsesOnly = false) {
    accum_compile_options options = {sizeof options,
                                     [](void *user, int32_t stream, const char *text, size_t bytes) {
                                       auto *self = static_cast<Compiled *>(user);
                                       (stream == 1 ? self->results : self->messages).append(text, bytes);
                                     },
                                     this, parsesOnly};
    accum_compilation *raw = nullptr;
    code = accum_compile(words.data(), words.size(), &options, &raw);
    compilation.reset(raw);
  }
  const accum_diagnostic &said(size_t index) const {
    return *accum_compilation_diagnostic(compilation.get(), index);
  }
  std::string text() const { return accum_compilation_text(compilation.get()); }
  std::string json() const { return accum_compilation_json(compilation.get()); }
};

const char *const kTiny = ACCUM_SOURCE_DIR "/examples/gpt2-tiny.onnx";

} // namespace

TEST(CompilerInterface, WordsAreCheckedWithoutAModel) {
  EXPECT_EQ(Compiled({"none.onnx", "--batch", "8", "--memory", "1GiB"}, true).code, 0);
  EXPECT_EQ(Compiled({"none.onnx", "--batch", "8"}).code, 3);
  for (const char *size : {"0", "-1", "5..3", "many"}) {
    Compiled refused({"none.onnx", "--batch", "8", "--micro-batch", size}, true);
    EXPECT_EQ(refused.code, 2) << size;
    EXPECT_THAT(refused.said(0).text, HasSubstr("--micro-batch is `")) << size;
  }
  Compiled unknown({"none.onnx", "--batch", "8", "--max_grad_norm", "1"}, true);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.said(0).text, StartsWith("--max_grad_norm (here --clip-norm) belongs to the run"));
}

TEST(CompilerInterface, OptionsHaveNamesAndNearestOnes) {
  std::vector<std::string> names;
  for (size_t i = 0; const char *name = accum_compiler_option(i); ++i)
    names.emplace_back(name);
  EXPECT_THAT(names, testing::IsSupersetOf({"batch", "memory", "micro-batch", "trust-backward"}));
  const char *const known[] = {"lr", "clip-norm", "batch", nullptr};
  EXPECT_STREQ(accum_compiler_meant("Learning_Rate", known), "lr");
  EXPECT_STREQ(accum_compiler_meant("clip_nrom", known), "clip-norm");
  EXPECT_STREQ(accum_compiler_meant("batch", known), "batch");
  EXPECT_EQ(accum_compiler_meant("weight_decay", known), nullptr);
  EXPECT_EQ(accum_compiler_meant("", known), nullptr);
}

TEST(CompilerInterface, ARefusalIsInParts) {
  Compiled clip({"check", ACCUM_SOURCE_DIR "/test/models/clip-dynamo.onnx"});
  ASSERT_EQ(clip.code, 1);
  const accum_diagnostic &first = clip.said(0);
  EXPECT_EQ(first.severity, ACCUM_SAID_ERROR);
  EXPECT_STREQ(first.slug, "cross-batch");
  EXPECT_STREQ(first.node, "node_matmul_4");
  EXPECT_THAT(first.text, StartsWith("`node_matmul_4`: MatMul compares samples"));
  ASSERT_NE(first.notes[0], nullptr);
  EXPECT_THAT(first.notes[0], HasSubstr("per-sample loss"));
  EXPECT_THAT(clip.messages, StartsWith("error: clip-dynamo.onnx: `node_matmul_4`: "));
  EXPECT_THAT(clip.json(), IsEmpty());
}

TEST(CompilerInterface, UsageIsAMessageToo) {
  Compiled wrong({kTiny, "--batch", "8", "--optimiser", "sgd"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_STREQ(wrong.said(0).slug, "usage");
  EXPECT_STREQ(wrong.said(0).node, "");
  EXPECT_EQ(accum_compilation_diagnostic(wrong.compilation.get(), 1), nullptr);
  EXPECT_THAT(wrong.messages, EndsWith("\n"));
}

/// The text for people is there beside the object, of which alone standard output is made.
TEST(CompilerInterface, APlanIsTextAndObject) {
  Compiled plan({kTiny, "--batch", "64", "--plan-only", "--json"});
  ASSERT_EQ(plan.code, 0) << plan.messages;
  EXPECT_THAT(plan.text(), HasSubstr("plan     micro-batch"));
  EXPECT_THAT(plan.json(), StartsWith("{"));
  EXPECT_EQ(plan.results, plan.json());
}

TEST(CompilerInterface, HeadersAreC) { EXPECT_STREQ(compilerVersionFromC(), accum_compiler_version()); }
