// SPDX-License-Identifier: Apache-2.0
// MLIR's usual optimizer driver with our dialects and passes.
#include "dialects/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Check/Passes.h"
#include "passes/Codegen/Passes.h"
#include "passes/Differentiate/Passes.h"
#include "passes/Fuse/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Recognise/Passes.h"
#include "passes/Schedule/Passes.h"

int main(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter([](llvm::raw_ostream &os) { os << "accum-opt " ACCUM_VERSION "\n"; });
  mlir::DialectRegistry registry;
  accum::registerDialects(registry);
  accum::registerCheckPasses();
  accum::registerCodegenPasses();
  accum::registerDifferentiatePasses();
  accum::registerFusePasses();
  accum::registerPrecisionPasses();
  accum::registerSchedulePasses();
  accum::registerRecognisePasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "accumc's passes, one at a time\n", registry));
}
