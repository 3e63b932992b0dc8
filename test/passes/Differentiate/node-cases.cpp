// SPDX-License-Identifier: Apache-2.0
// ONNX's node tests as training problems, interpreted in f64: the loss is that of the suite's outputs,
// gradients are central differences, and both are the same however the batch is cut. A node that is not built
// is refused by name.
#include "compiler/Import/Import.h"
#include "dialects/Registration.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Check/CheckPlacement.h"
#include "passes/Check/Passes.h"
#include "passes/Differentiate/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Recognise/Passes.h"
#include "test/passes/Differentiate/NodeProblem.h"
#include <algorithm>
#include <cmath>
#include <fstream>
#include <gmock/gmock.h>
#include <random>
#include <set>
#include <unistd.h>

using namespace accum;
using test::Array, test::NodeProblem, test::Roles, test::StepData, test::Sums;
namespace fs = std::filesystem;

namespace {

/// Where suite and graph differ for a reason, or a gradient has none: lines "NAME loss: why", "NAME gradient:
/// why".
bool isException(const std::string &name) {
  static const std::set<std::string> names = [] {
    std::set<std::string> names;
    std::ifstream file(fs::path(ACCUM_SOURCE_DIR) / "test/passes/Differentiate/node-exceptions.txt");
    for (std::string line; std::getline(file, line);)
      names.insert(line.substr(0, line.find(": ")));
    return names;
  }();
  return names.count(name) > 0;
}

bool isUsersError(const std::string &slug) {
  static const std::pair<const char *, int> codes[] = {
#define ACCUM_ERROR(slug, code, meaning) {slug, code},
#include "compiler/Driver/Errors.def"
  };
  return std::any_of(std::begin(codes), std::end(codes),
                     [&](auto &row) { return slug == row.first && row.second != 70; });
}

/// A problem brought to its step, or refused with a sentence that ends in a slug.
class Trained {
public:
  explicit Trained(const NodeProblem &problem)
      : context(registry(), mlir::MLIRContext::Threading::DISABLED),
        handler(&context, [this](mlir::Diagnostic &d) {
          if (d.getSeverity() == mlir::DiagnosticSeverity::Error && refusal.empty())
            refusal = d.str();
          return mlir::success();
        }) {
    context.loadAllAvailableDialects();
    path = fs::temp_directory_path() / ("accum-node-case-" + std::to_string(getpid()) + ".onnx");
    std::ofstream(path, std::ios::binary) << problem.model;
    isBuilt = build();
    if (!isBuilt && refusal.empty())
      refusal = "failed without a word";
    fs::remove(path);
  }

  bool isBuilt = false;
  std::string refusal;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  bool build() {
    import::ImportOptions options;
    options.path = path;
    import::ImportReport report;
    import::Failures failures;
    module = import::importModel(context, options, report, failures);
    for (const import::Failures *list : {&failures, &report.crossBatch, &report.deferred})
      for (const import::Failure &failure : *list)
        if (refusal.empty())
          refusal = failure.subject + ": " + failure.message + " [" + failure.slug + "]";
    if (!module || !refusal.empty())
      return false;
    mlir::PassManager passes(&context);
    passes.addPass(createWidenFloats());
    passes.addPass(mlir::createCSEPass());
    passes.addPass(createRecognise());
    Verdict verdict;
    if (mlir::failed(passes.run(*module)) || mlir::failed(checkPlacement(*module, verdict)))
      return false;
    mlir::PassManager later(&context);
    later.addPass(createDifferentiate());
    later.addPass(mlir::createCSEPass());
    later.addPass(createVerifyPlacement());
    return mlir::succeeded(later.run(*module));
  }

  fs::path path;
  mlir::ScopedDiagnosticHandler handler;
};

/// Data and parameters a little away from the kinks that examples lie on.
StepData nudged(const StepData &data) {
  std::mt19937_64 random(5);
  StepData moved = data;
  auto move = [&](Array &array, bool isWhole) {
    for (double &x : array.data)
      x += isWhole ? 0 : std::uniform_real_distribution(0.003, 0.01)(random);
  };
  for (auto &[name, array] : moved.parameters)
    move(array, false);
  return moved;
}

class NodeCase : public ::testing::TestWithParam<fs::path> {
protected:
  void check(Roles roles);
  void checkGradients(Trained &trained, const StepData &data);
  std::string name() const { return GetParam().filename(); }
};

double lossOf(Trained &trained, const StepData &data) {
  return test::runStep(*trained.module, data, data.samples)["loss"].data[0];
}

/// Along each axis of a small parameter, else along a few random directions.
void NodeCase::checkGradients(Trained &trained, const StepData &data) {
  constexpr double step = 1e-5;
  constexpr size_t most = 12;
  Sums sums = test::runStep(*trained.module, data, data.samples);
  std::mt19937_64 random(3);
  for (const auto &[target, gradient] : sums) {
    if (target == "loss")
      continue;
    size_t size = gradient.data.size();
    for (size_t k = 0; k < std::min<size_t>(size, size > most ? 3 : size); ++k) {
      std::vector<double> direction(size);
      for (size_t i = 0; i < size; ++i)
        direction[i] = size > most ? std::uniform_real_distribution(-1.0, 1.0)(random) : i == k;
      double along = 0, magnitude = 0, sides[2];
      for (size_t i = 0; i < size; ++i) {
        along += gradient.data[i] * direction[i];
        magnitude += std::abs(gradient.data[i] * direction[i]);
      }
      for (int side : {0, 1}) {
        StepData moved = data;
        for (size_t i = 0; i < size; ++i)
          moved.parameters[target].data[i] += (side == 0 ? step : -step) * direction[i];
        sides[side] = lossOf(trained, moved);
      }
      double difference = (sides[0] - sides[1]) / (2 * step);
      double noise = 1e-10 * (std::abs(sides[0]) + 1) / step;
      EXPECT_LE(std::abs(along - difference),
                1e-4 * std::max({magnitude, std::abs(difference), 0.01}) + noise)
          << target << " " << k << ": " << along << " by the step, " << difference << " by differences";
    }
  }
}

void NodeCase::check(Roles roles) {
  std::optional<NodeProblem> problem = test::makeNodeProblem(GetParam(), roles);
  if (!problem)
    GTEST_SKIP() << "no training problem";
  Trained trained(*problem);
  if (!trained.isBuilt) {
    std::string text = trained.refusal;
    size_t open = text.rfind('[');
    std::string slug = open == std::string::npos ? "" : text.substr(open + 1, text.size() - open - 2);
    EXPECT_TRUE(isUsersError(slug)) << text;
    RecordProperty("refused", text);
    if (std::getenv("ACCUM_NODE_VERBOSE"))
      std::cout << "REFUSED " << name() << " " << text << "\n";
    return;
  }
  if (std::getenv("ACCUM_NODE_VERBOSE"))
    std::cout << "TRAINED " << name() << "\n";
  StepData &data = problem->data;
  double loss = lossOf(trained, data);
  bool isSame = std::isnan(problem->loss)
                    ? std::isnan(loss)
                    : loss == problem->loss || std::abs(loss - problem->loss) <= 1e-5 * problem->magnitude;
  EXPECT_TRUE(isSame || isException(name() + " loss"))
      << loss << " is the loss, " << problem->loss << " that of the suite's outputs";
  StepData moved = nudged(data);
  if (!std::isfinite(lossOf(trained, moved)))
    moved = data;
  if (!std::isfinite(lossOf(trained, moved)))
    return;
  if (!isException(name() + " gradient"))
    checkGradients(trained, moved);
  Sums whole = test::runStep(*trained.module, moved, moved.samples);
  for (int64_t m : {2, 1}) {
    Sums cut = test::runStep(*trained.module, moved, m);
    for (auto &[target, sum] : whole)
      EXPECT_LE(test::largest(sum) > 1e-12 ? test::relativeError(cut[target], sum) : 0, 1e-10)
          << target << " in micro-batches of " << m;
  }
}

TEST_P(NodeCase, trainsItsInputs) { check(Roles::Parameters); }
TEST_P(NodeCase, trainsOnSlabsOfInput0) { check(Roles::FirstInput); }
TEST_P(NodeCase, trainsOnSlabsOfAllInputs) { check(Roles::LeadingAxes); }

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NodeCase);
INSTANTIATE_TEST_SUITE_P(Onnx, NodeCase, ::testing::ValuesIn(test::nodeCases()),
                         [](const auto &info) { return info.param.filename().string(); });
} // namespace
