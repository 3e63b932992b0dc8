// SPDX-License-Identifier: Apache-2.0
// Reads the JSON and safetensors files beside an export.
#include "test/compiler/Import/ExportedModel.h"
#include "compiler/Import/Import.h"
#include "dialects/Registration.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Check/CheckPlacement.h"
#include "passes/Recognise/Passes.h"
#include "test/FileBytes.h"
#include <algorithm>
#include <cstring>

namespace accum::test {
namespace fs = std::filesystem;

static const fs::path models = fs::path(ACCUM_SOURCE_DIR) / "test/models";

/// One array of a safetensors file.
static Array arrayIn(const fs::path &path, const std::string &name) {
  std::string content = contentOf(path);
  uint64_t headerBytes;
  std::memcpy(&headerBytes, content.data(), sizeof(headerBytes));
  auto entry = nlohmann::json::parse(content.substr(8, headerBytes)).at(name);
  size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
  std::string_view bytes = std::string_view(content).substr(8 + headerBytes + begin, end - begin);
  std::vector<int64_t> shape = entry["shape"];
  std::vector<double> values = entry["dtype"] == "I64"   ? numbers<int64_t>(bytes)
                               : entry["dtype"] == "F64" ? numbers<double>(bytes)
                                                         : numbers<float>(bytes);
  return {llvm::SmallVector<int64_t>(shape.begin(), shape.end()), std::move(values)};
}

std::vector<std::string> exportsWithReference() {
  std::vector<std::string> names;
  for (const auto &file : fs::directory_iterator(models)) {
    std::string name = file.path().stem();
    // Pooling is unknown to the interpreter.
    bool isKnown = !name.starts_with("resnet");
    if (!isKnown || file.path().extension() != ".onnx" ||
        !fs::exists(models / (name + ".reference.safetensors")))
      continue;
    // Some are for whole batches only.
    if (nlohmann::json::parse(contentOf(models / (name + ".json"))).value("verdict", "") != "reject")
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string testName(std::string exportName) {
  std::replace(exportName.begin(), exportName.end(), '-', '_');
  return exportName;
}

static mlir::DialectRegistry ourDialects() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

ExportedModel::ExportedModel(const std::string &name) : context(ourDialects()), name(name) {
  context.loadAllAvailableDialects();
  description = nlohmann::json::parse(contentOf(models / (name + ".json")));
  samples = description["samples"];
  import::ImportOptions options;
  options.path = models / (name + ".onnx");
  options.loss = description["loss"] == "output" ? "auto" : std::string(description["loss"]);
  for (const auto &input : description["inputs"])
    if (input["shape"].size() > 1 && input["shape"][1].is_string())
      options.dims[input["shape"][1]] = sample(input["name"]).shape[1];
  import::ImportReport report;
  import::Failures failures;
  module = import::importModel(context, options, report, failures);
  if (!module || !report.crossBatch.empty()) {
    failures.insert(failures.end(), report.crossBatch.begin(), report.crossBatch.end());
    problem = failures.front().subject + ": " + failures.front().message;
    return;
  }
  mlir::PassManager passes(&context);
  passes.addPass(createRecognise());
  Verdict verdict;
  if (mlir::failed(passes.run(*module)) || mlir::failed(checkPlacement(*module, verdict)))
    problem = "recognise or check failed";
}

Array ExportedModel::sample(const std::string &input) const {
  return arrayIn(models / (name + ".data.safetensors"), input);
}

Array ExportedModel::reference(const std::string &value) const {
  return arrayIn(models / (name + ".reference.safetensors"), value);
}

std::map<std::string, Array> ExportedModel::parameters() const {
  std::map<std::string, Array> parameters;
  for (auto param : mlir::ModuleOp(*module).getOps<train::ParamOp>()) {
    auto source = param.getSource();
    std::string content = contentOf(models / source.getPath().str());
    auto shape = mlir::cast<mlir::RankedTensorType>(param.getType()).getShape();
    std::string_view bytes = std::string_view(content).substr(source.getOffset(), source.getBytes());
    parameters[param.getSymName().str()] = {llvm::SmallVector<int64_t>(shape), numbers<float>(bytes)};
  }
  return parameters;
}

static Array transposed(const Array &matrix) {
  Array result = Array::zeros({matrix.shape[1], matrix.shape[0]});
  forEachIndex(result.shape,
               [&](llvm::ArrayRef<int64_t> index) { result.at(index) = matrix.at({index[1], index[0]}); });
  return result;
}

Array ExportedModel::gradientOf(const std::string &initializer) const {
  for (const auto &[parameter, places] : description["parameters"].items())
    for (const auto &place : places) {
      if (place["onnx"] != initializer)
        continue;
      Array gradient = reference("grad/" + parameter);
      if (place["transposed"])
        gradient = transposed(gradient);
      std::vector<int64_t> shape = place["shape"];
      gradient.shape.assign(shape.begin(), shape.end());
      int64_t count = 1;
      for (int64_t extent : shape)
        count *= extent;
      gradient.data.resize(count);
      return gradient;
    }
  return {};
}

} // namespace accum::test
