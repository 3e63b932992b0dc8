// SPDX-License-Identifier: Apache-2.0
// Sizes of library calls as functions of the micro-batch size, and a kernel's operations by name.
#include "passes/Plan/CommandShape.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/GemmShape.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

using namespace mlir;

namespace accum {

namespace {

planner::Amount elementsOf(Type type) {
  int64_t elements = cast<RankedTensorType>(type).getNumElements();
  return nn::Placement::of(type).isBatched() ? planner::Amount{.perSample = elements}
                                             : planner::Amount{.fixed = elements};
}

planner::Amount sizeInM(int64_t extent) {
  return extent % kSomeMicroBatch == 0 ? planner::Amount{.perSample = extent / kSomeMicroBatch}
                                       : planner::Amount{.fixed = extent};
}

void describeGemm(func::FuncOp kernel, planner::CallShape &call) {
  auto product = analyseGemmKernel(kernel);
  if (!product)
    return;
  const Gemm *gemm = &product->gemm;
  auto letter = [](int64_t row, int64_t column) { return column == 1 || row != 1 ? "n" : "t"; };
  call.name = std::string("gemm-") + letter(gemm->aRow, gemm->aCol) + letter(gemm->bRow, gemm->bCol);
  int64_t points = 1;
  for (int64_t extent : gemm->batch)
    points *= extent;
  for (int64_t extent : {points, gemm->m, gemm->n, gemm->k})
    call.sizes.push_back(sizeInM(extent));
}

void describeAttention(func::FuncOp kernel, planner::CallShape &call) {
  Operation *op = attentionOf(kernel);
  if (!op)
    return;
  auto backward = dyn_cast<nn::AttentionBwdOp>(op);
  auto forward = dyn_cast<nn::AttentionOp>(op);
  bool causal = backward ? backward.getCausal() : forward.getCausal();
  call.name = std::string("attention") + (backward ? "-backward" : "") + (causal ? "-causal" : "");
  SmallVector<int64_t> query = boundShape(op->getOperand(0)), key = boundShape(op->getOperand(1)),
                       value = boundShape(op->getOperand(2));
  for (int64_t extent : {query[0], query[1], key[1], query[2], key[2], key[3], value[3]})
    call.sizes.push_back(sizeInM(extent));
}

/// Functions that cost more than a few cycles have their own name.
StringRef nameOf(nn::ElementwiseOp op) {
  StringRef name = nn::stringifyElementwiseFn(op.getFn());
  bool own =
      llvm::StringSwitch<bool>(name)
          .Cases({"exp", "log", "sqrt", "rsqrt", "reciprocal", "div", "tanh", "erf", "sigmoid", "gelu"}, true)
          .Cases({"gelu_tanh", "silu", "sin", "cos", "softplus", "gelu_grad", "gelu_tanh_grad", "silu_grad",
                  "pow", "mod", "rem", "log1p", "expm1", "binary_cross_entropy", "sigmoid_cross_entropy"},
                 true)
          .Cases({"erfc", "erfcx", "erfcx_grad", "log_erfc", "asin", "acos", "atan", "atan2"}, true)
          .Default(false);
  return own ? name : "plain";
}

/// A sum along rows waits for itself, one over rows does not; it reads a buffer, or what its kernel computes.
/// Of long rows in a buffer each piece of a row is pages away from the next, where nothing is fetched in
/// advance.
StringRef nameOf(nn::ReduceOp op) {
  constexpr int64_t kLongRow = 4096;
  auto type = cast<RankedTensorType>(op.getInput().getType());
  if (llvm::is_contained(op.getAxes(), type.getRank() - 1))
    return "reduce_rows";
  if (!isa<BlockArgument>(op.getInput()))
    return "reduce_computed_columns";
  return type.getShape().back() > kLongRow ? "reduce_wide_columns" : "reduce_columns";
}

/// One that keeps a last axis of some length moves rows, any other one picks element by element.
StringRef nameOf(nn::TransposeOp op) {
  constexpr int64_t kRow = 16;
  ArrayRef<int64_t> order = op.getPerm();
  int64_t length = cast<RankedTensorType>(op.getInput().getType()).getShape().back();
  bool movesRows = order.back() + 1 == static_cast<int64_t>(order.size()) && length >= kRow;
  return movesRows ? "transpose" : "transpose_last";
}

/// Logits that its kernel computes (a bias behind the product) are computed for each pass over them.
StringRef nameOf(nn::CrossEntropyOp op) {
  return isa<BlockArgument>(op.getLogits()) ? "cross_entropy" : "cross_entropy_computed";
}

/// Empty: only says where values lie.
StringRef operationOf(Operation *op) {
  if (!isa<nn::NNDialect>(op->getDialect()) ||
      isa<nn::ReshapeOp, nn::BroadcastOp, nn::ConstantOp, nn::IotaOp>(op))
    return "";
  return TypeSwitch<Operation *, StringRef>(op)
      .Case<nn::ElementwiseOp, nn::ReduceOp, nn::TransposeOp, nn::CrossEntropyOp>(
          [](auto each) { return nameOf(each); })
      .Case<nn::CastOp, nn::TotalOp, nn::MaskRowsOp, nn::ShareOp, nn::BatchSizeOp>(
          [](auto) { return "plain"; })
      .Case<nn::SliceOp, nn::PadOp, nn::ConcatOp>([](auto) { return "rearrange"; })
      .Default([](Operation *each) { return each->getName().stripDialect(); });
}

/// Of what is taken from a table or a larger value only that counts.
planner::Amount elementsTouched(Operation *op) {
  if (isa<nn::GatherOp, nn::GatherElementsOp, nn::SliceOp, nn::PadOp, nn::ConcatOp, nn::RandomOp>(op))
    return elementsOf(op->getResult(0).getType());
  planner::Amount largest;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType())) {
      planner::Amount elements = elementsOf(operand.getType());
      if (elements.real(1) > largest.real(1))
        largest = elements;
    }
  return largest;
}

} // namespace

void describeShape(train::CommandOp command, FlatSymbolRefAttr symbol, SymbolTableCollection &symbols,
                   planner::Variant &variant) {
  variant.work.clear();
  auto kernel = symbols.lookupNearestSymbolFrom<func::FuncOp>(command, symbol);
  if (!kernel || kernel.isDeclaration())
    return;
  if (command.getLibrary() == "gemm")
    return describeGemm(kernel, variant.call);
  if (command.getLibrary() == "attention")
    return describeAttention(kernel, variant.call);
  std::map<std::string, planner::Amount> work;
  kernel.getBody().walk([&](Operation *op) {
    StringRef operation = operationOf(op);
    if (operation.empty())
      return;
    planner::Amount elements = elementsTouched(op), &sum = work[operation.str()];
    sum.fixed += elements.fixed;
    sum.perSample += elements.perSample;
  });
  for (auto &[operation, elements] : work)
    variant.work.push_back({operation, elements});
}

} // namespace accum
