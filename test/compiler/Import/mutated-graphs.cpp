// SPDX-License-Identifier: Apache-2.0
// Real graphs with damage in them become modules that verify, or failures with a slug; never both, never
// neither.
#include "compiler/Import/Import.h"
#include "dialects/Registration.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Recognise/Passes.h"
#include "test/fuzz/Damage.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace accum;

namespace {
std::string contentOf(const std::string &name) {
  std::ifstream file(std::filesystem::path(ACCUM_SOURCE_DIR) / "test/models" / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class MutatedGraphs : public ::testing::TestWithParam<const char *> {
protected:
  MutatedGraphs() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([](mlir::Diagnostic &) { return mlir::success(); });
    path = std::filesystem::temp_directory_path() /
           ("accum-mutated-graph-" + std::to_string(::getpid()) + ".onnx");
  }
  ~MutatedGraphs() override { std::filesystem::remove(path); }

  /// Whether it was imported.
  bool importBytes(const std::vector<uint8_t> &bytes) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    import::ImportOptions options;
    options.path = path;
    options.planOnly = true;
    import::ImportReport report;
    import::Failures failures;
    auto module = import::importModel(context, options, report, failures);
    EXPECT_NE(static_cast<bool>(module), !failures.empty());
    for (const import::Failure &failure : failures)
      EXPECT_FALSE(failure.slug.empty() || failure.subject.empty() || failure.message.empty());
    if (!module)
      return false;
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    mlir::PassManager passes(&context);
    passes.addPass(createRecognise());
    EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
    return true;
  }

  mlir::MLIRContext context;
  std::filesystem::path path;
};

TEST_P(MutatedGraphs, becomeModulesOrFailures) {
  std::string content = contentOf(GetParam());
  std::vector<uint8_t> whole(content.begin(), content.end());
  ASSERT_TRUE(importBytes(whole));
  std::mt19937 random(20260101);
  constexpr size_t mostlyFlips = 40;
  int imported = 0;
  constexpr int rounds = 100;
  for (int round = 0; round < rounds; ++round)
    imported += importBytes(import::test::damaged(whole, random, mostlyFlips));
  EXPECT_GT(imported, 0) << "the damage never got past the reader";
  EXPECT_LT(imported, rounds) << "the damage was never noticed";
}

INSTANTIATE_TEST_SUITE_P(Files, MutatedGraphs,
                         ::testing::Values("gpt2-dynamo.onnx", "llama-torch26.onnx",
                                           "bert-mlm-torchscript.onnx",
                                           "adversarial/06-coordinates-accept.onnx"));
} // namespace
