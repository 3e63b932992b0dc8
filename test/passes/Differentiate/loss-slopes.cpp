// SPDX-License-Identifier: Apache-2.0
// loss-slopes MODEL.onnx DATA.safetensors: the loss of all samples as one batch, by the f64 interpreter of
// the test of nn, and by central differences how it changes with each parameter along (cos 1, cos 2, ...): an
// oracle that has imported and checked the graph, and has no derivative and no kernel.
#include "compiler/Import/Import.h"
#include "dialects/Registration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Check/CheckPlacement.h"
#include "passes/Recognise/Passes.h"
#include "runtime/files/Array.h"
#include "test/dialects/NN/Evaluator.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace accum;
using test::Array;

namespace {

using Arrays = std::map<std::string, Array>;

Array valuesOf(const runtime::Array &array) {
  Array values{SmallVector<int64_t>(array.shape.begin(), array.shape.end()), {}};
  auto read = [&](auto sample) {
    for (int64_t i = 0; i < array.elements(); ++i) {
      std::memcpy(&sample, array.data + i * sizeof(sample), sizeof(sample));
      values.data.push_back(static_cast<double>(sample));
    }
  };
  if (array.dtype == ACCUM_I64)
    read(int64_t());
  else
    read(float());
  return values;
}

OwningOpRef<ModuleOp> imported(MLIRContext &context, const std::string &path) {
  import::ImportOptions options;
  options.path = path;
  import::ImportReport report;
  import::Failures failures;
  auto module = import::importModel(context, options, report, failures);
  for (const import::Failure &failure : failures)
    llvm::errs() << failure.subject << ": " << failure.message << "\n";
  PassManager passes(&context);
  passes.addPass(createRecognise());
  Verdict verdict;
  if (!module || !failures.empty() || failed(passes.run(*module)) || failed(checkPlacement(*module, verdict)))
    return {};
  return module;
}

Arrays parametersOf(ModuleOp module, const std::string &path) {
  Arrays parameters;
  auto folder = std::filesystem::path(path).parent_path();
  for (auto param : module.getOps<train::ParamOp>()) {
    auto file = runtime::MappedFile::open(folder / param.getSource().getPath().str());
    if (!file)
      continue;
    auto type = cast<RankedTensorType>(param.getType());
    Array &values = parameters[param.getSymName().str()] = Array::zeros(type.getShape());
    const uint8_t *from = (*file)->data() + param.getSource().getOffset();
    for (double &value : values.data) {
      float number;
      std::memcpy(&number, from, sizeof(number));
      from += sizeof(number);
      value = number;
    }
  }
  return parameters;
}

class Forward {
public:
  Forward(ModuleOp module, Arrays data)
      : function(*module.getOps<func::FuncOp>().begin()), data(std::move(data)) {
    for (auto &[name, array] : this->data)
      samples = array.shape[0];
  }

  double loss(const Arrays &parameters) {
    test::Batch batch;
    batch.samples = samples;
    batch.parameters = parameters;
    test::Evaluator evaluator(std::move(batch));
    for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
      auto name = function.getArgAttrOfType<StringAttr>(i, "train.name").str();
      evaluator.set(argument, valueFor(name));
    }
    Block &body = function.getBody().front();
    evaluator.run(body.getOperations());
    return evaluator.at(body.getTerminator()->getOperand(0)).data[0];
  }

private:
  Array valueFor(const std::string &name) const {
    if (auto given = data.find(name); given != data.end())
      return given->second;
    if (name == "valid")
      return {{samples}, std::vector<double>(samples, 1)};
    return name == "rng" ? Array{{3}, {0, 0, 0}} : Array{{}, {0}};
  }

  func::FuncOp function;
  Arrays data;
  int64_t samples = 1;
};

/// Small enough for the third derivative and to cross no kink, large enough for the digits of a sum of
/// hundreds.
constexpr double kStep = 1e-5;

double slope(Forward &forward, Arrays &parameters, Array &parameter) {
  std::vector<double> here = parameter.data;
  auto lossAt = [&](double distance) {
    for (size_t i = 0; i < here.size(); ++i)
      parameter.data[i] = here[i] + distance * std::cos(static_cast<double>(i + 1));
    return forward.loss(parameters);
  };
  double rise = lossAt(kStep) - lossAt(-kStep);
  parameter.data = here;
  return rise / (2 * kStep);
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  if (argc != 3)
    return 2;
  auto module = imported(context, argv[1]);
  auto data = runtime::readSafetensors(argv[2]);
  if (!module || !data)
    return 2;
  Arrays samples;
  for (const runtime::Array &array : *data)
    samples[array.name] = valuesOf(array);
  Forward forward(*module, std::move(samples));
  Arrays parameters = parametersOf(*module, argv[1]);
  printf("loss %.17g\n", forward.loss(parameters));
  for (auto &[name, parameter] : parameters)
    printf("%s %.17g\n", name.c_str(), slope(forward, parameters, parameter));
  return 0;
}
