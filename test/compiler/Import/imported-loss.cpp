// SPDX-License-Identifier: Apache-2.0
// The loss of imported graphs is PyTorch's: import, recognise, check, then the f64 interpreter on seven
// ragged samples.
#include "compiler/Import/Import.h"
#include "dialects/Registration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Check/CheckPlacement.h"
#include "passes/Import/Passes.h"
#include "test/dialects/NN/Evaluator.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace accum;
using test::Array;
namespace fs = std::filesystem;

namespace {
const fs::path models = fs::path(ACCUM_SOURCE_DIR) / "test/models";
constexpr int64_t samples = 7;

std::string contentOf(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T> std::vector<double> numbers(std::string_view bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

/// One array of a safetensors file.
Array arrayIn(const fs::path &path, const std::string &name) {
  std::string content = contentOf(path);
  uint64_t headerBytes;
  std::memcpy(&headerBytes, content.data(), 8);
  auto entry = nlohmann::json::parse(content.substr(8, headerBytes)).at(name);
  size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
  std::string_view bytes = std::string_view(content).substr(8 + headerBytes + begin, end - begin);
  std::vector<int64_t> shape = entry["shape"];
  std::vector<double> values = entry["dtype"] == "I64"   ? numbers<int64_t>(bytes)
                               : entry["dtype"] == "F64" ? numbers<double>(bytes)
                                                         : numbers<float>(bytes);
  return {llvm::SmallVector<int64_t>(shape.begin(), shape.end()), std::move(values)};
}

std::map<std::string, Array> parametersOf(mlir::ModuleOp module) {
  std::map<std::string, Array> parameters;
  for (auto param : module.getOps<train::ParamOp>()) {
    auto source = param.getSource();
    std::string content = contentOf(models / source.getPath().str());
    auto shape = mlir::cast<mlir::RankedTensorType>(param.getType()).getShape();
    std::string_view bytes = std::string_view(content).substr(source.getOffset(), source.getBytes());
    parameters[param.getSymName().str()] = {llvm::SmallVector<int64_t>(shape), numbers<float>(bytes)};
  }
  return parameters;
}

double evaluate(mlir::ModuleOp module, const fs::path &data) {
  test::Evaluator evaluator({samples, 0, {}, parametersOf(module)});
  auto forward = module.lookupSymbol<mlir::func::FuncOp>("forward");
  for (mlir::BlockArgument argument : forward.getArguments()) {
    auto name = forward.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), "train.name").str();
    if (name == "valid")
      evaluator.set(argument, {{samples}, std::vector<double>(samples, 1)});
    else if (name == "first_row")
      evaluator.set(argument, {{}, {0}});
    else
      evaluator.set(argument, arrayIn(data, name));
  }
  evaluator.run(forward.getBody().front().getOperations());
  return evaluator.at(forward.getBody().front().getTerminator()->getOperand(0)).data[0];
}

class ImportedLoss : public ::testing::TestWithParam<std::string> {};

TEST_P(ImportedLoss, isThatOfTheFramework) {
  const std::string &name = GetParam();
  auto description = nlohmann::json::parse(contentOf(models / (name + ".json")));
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  import::ImportOptions options;
  options.path = models / (name + ".onnx");
  options.loss = description["loss"] == "output" ? "auto" : std::string(description["loss"]);
  for (const auto &input : description["inputs"])
    if (input["shape"].size() > 1 && input["shape"][1].is_string())
      options.dims[input["shape"][1]] =
          arrayIn(models / (name + ".data.safetensors"), input["name"]).shape[1];
  import::ImportReport report;
  import::Failures failures;
  auto module = import::importModel(context, options, report, failures);
  ASSERT_TRUE(module) << failures.front().subject << ": " << failures.front().message;
  mlir::PassManager passes(&context);
  passes.addPass(createRecognise());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  Verdict verdict;
  ASSERT_TRUE(mlir::succeeded(checkPlacement(*module, verdict)));
  double loss = evaluate(*module, models / (name + ".data.safetensors"));
  double expected = arrayIn(models / (name + ".reference.safetensors"), "loss").data[0];
  // The interpreter computes in f64; constants and weights were f32.
  EXPECT_NEAR(loss, expected, 2e-6 * std::abs(expected));
}

/// Every export with reference values, but the one whose sequence ops are refused and those with pooling,
/// which the interpreter does not know.
std::vector<std::string> exports() {
  std::vector<std::string> names;
  for (const auto &file : fs::directory_iterator(models)) {
    std::string name = file.path().stem();
    if (file.path().extension() == ".onnx" && fs::exists(models / (name + ".reference.safetensors")) &&
        name != "gpt2-dynamo-unoptimized" && !name.starts_with("resnet"))
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Models, ImportedLoss, ::testing::ValuesIn(exports()), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
} // namespace
