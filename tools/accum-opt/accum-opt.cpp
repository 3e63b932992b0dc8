// SPDX-License-Identifier: Apache-2.0
// MLIR's usual optimizer driver with our dialects, passes and phases.
#include "compiler/Driver/PlanPass.h"
#include "dialects/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) { os << "accum-opt " ACCUM_VERSION "\n"; });
  mlir::DialectRegistry registry;
  accum::registerDialects(registry);
  accum::registerPassesAndPipelines();
  accum::driver::registerPlanPass();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "accumc's passes and phases\n", registry));
}
