// SPDX-License-Identifier: Apache-2.0
// Registration of the train dialect.
#include "dialects/Train/TrainDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "dialects/Train/TrainDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Train/TrainAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Train/TrainOps.cpp.inc"

void accum::train::TrainDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Train/TrainAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Train/TrainOps.cpp.inc"
      >();
}

static constexpr llvm::StringLiteral kPrecision = "accum.precision";

llvm::StringRef accum::train::precisionOf(mlir::Operation *module) {
  auto attr = module->getAttrOfType<mlir::StringAttr>(kPrecision);
  return attr ? attr.getValue() : "f32";
}

void accum::train::recordPrecision(mlir::Operation *module, llvm::StringRef precision) {
  module->setAttr(kPrecision, mlir::StringAttr::get(module->getContext(), precision));
}

static constexpr llvm::StringLiteral kWholeBatch = "accum.whole_batch";

std::optional<int64_t> accum::train::wholeBatchOf(mlir::Operation *module) {
  auto attr = module->getAttrOfType<mlir::IntegerAttr>(kWholeBatch);
  return attr ? std::optional(attr.getInt()) : std::nullopt;
}

void accum::train::recordWholeBatch(mlir::Operation *module, int64_t batch) {
  module->setAttr(kWholeBatch,
                  mlir::IntegerAttr::get(mlir::IntegerType::get(module->getContext(), 64), batch));
}
