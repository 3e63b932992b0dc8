// SPDX-License-Identifier: Apache-2.0
// Computes in f64 what the model computes in f32.
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Precision/Passes.h"

using namespace mlir;

namespace accum {
#define GEN_PASS_DEF_WIDENFLOATS
#include "passes/Precision/Passes.h.inc"

namespace {

Type widen(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getElementType().isF32())
    return type;
  return RankedTensorType::get(tensor.getShape(), Float64Type::get(type.getContext()), tensor.getEncoding());
}

void widenConstant(nn::ConstantOp op) {
  auto value = dyn_cast<DenseFPElementsAttr>(op.getValue());
  if (!value || !value.getElementType().isF32())
    return;
  op.setValueAttr(value.mapValues(Float64Type::get(op.getContext()), [](const APFloat &number) {
    APFloat wide = number;
    bool inexact = false;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
    return wide.bitcastToAPInt();
  }));
}

struct WidenFloats : impl::WidenFloatsBase<WidenFloats> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      for (Value result : op->getResults())
        result.setType(widen(result.getType()));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(widen(argument.getType()));
      if (auto constant = dyn_cast<nn::ConstantOp>(op))
        widenConstant(constant);
      if (auto param = dyn_cast<train::ParamOp>(op))
        param.setType(cast<RankedTensorType>(widen(param.getType())));
      if (auto function = dyn_cast<func::FuncOp>(op)) {
        auto type = function.getFunctionType();
        function.setType(FunctionType::get(op->getContext(), llvm::map_to_vector(type.getInputs(), widen),
                                           llvm::map_to_vector(type.getResults(), widen)));
      }
    });
  }
};

} // namespace
} // namespace accum
