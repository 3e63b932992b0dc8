// SPDX-License-Identifier: Apache-2.0
// What a reduction over rows computes and a later loop over the same row wants too: kept on the stack, where
// computing it again is dear. The exponentials of a softmax.
#include "passes/Codegen/Emitter.h"

using namespace mlir;

namespace accum::codegen {

/// Longer rows leave the first-level cache anyway, and threads have small stacks.
static constexpr int64_t kLongestRow = 8192;

static bool isDear(Operation *op) {
  auto elementwise = dyn_cast<nn::ElementwiseOp>(op);
  if (!elementwise)
    return isa<nn::DropoutOp, nn::RandomOp>(op);
  switch (elementwise.getFn()) {
  case nn::ElementwiseFn::exp:
  case nn::ElementwiseFn::log:
  case nn::ElementwiseFn::tanh:
  case nn::ElementwiseFn::erf:
  case nn::ElementwiseFn::sigmoid:
  case nn::ElementwiseFn::gelu:
  case nn::ElementwiseFn::gelu_tanh:
  case nn::ElementwiseFn::silu:
  case nn::ElementwiseFn::sin:
  case nn::ElementwiseFn::cos:
  case nn::ElementwiseFn::pow:
    return true;
  default:
    return false;
  }
}

RankedTensorType rowType(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(type.getShape().back(), computeType(type.getElementType()));
}

SmallVector<Value> rowsWorthKeeping(Value input) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<Value> kept, open = {input};
  if (type.getRank() == 0 || type.getShape().back() > kLongestRow)
    return kept;
  for (size_t next = 0; next < open.size(); ++next) {
    Operation *op = open[next].getDefiningOp();
    if (!op || !isa<nn::ElementwiseOp, nn::CastOp, nn::DropoutOp, nn::RandomOp>(op))
      continue;
    bool reused = std::next(open[next].use_begin()) != open[next].use_end();
    if (reused && isDear(op) && isa<FloatType>(rowType(open[next]).getElementType())) {
      kept.push_back(open[next]);
      continue;
    }
    for (Value operand : op->getOperands())
      if (cast<RankedTensorType>(operand.getType()).getShape() == type.getShape() &&
          !llvm::is_contained(open, operand))
        open.push_back(operand);
  }
  return kept;
}

/// Rows are known by their coordinates but the last.
static Scope::Key keyOf(Value value, ArrayRef<Index> at) {
  Scope::Key key = {"row", value.getAsOpaquePointer()};
  for (const Index &index : at.drop_back())
    key.push_back(index.value.getAsOpaquePointer());
  return key;
}

const Element *Emitter::keptRow(Value value, ArrayRef<Index> at) const {
  if (at.empty() || at.back().form != Index::Form::Lanes ||
      llvm::any_of(at.drop_back(), [](const Index &index) { return !index.isUniform(); }))
    return nullptr;
  return at.back().scope->lookup(keyOf(value, at));
}

void Emitter::keepRow(Value value, ArrayRef<Index> at, Scope *scope, const Buffer &buffer) {
  SmallVector<Index> where(at);
  for (auto [index, extent] : llvm::zip_equal(where, cast<RankedTensorType>(value.getType()).getShape()))
    if (extent == 1)
      index = constantIndex(0);
  scope->known[keyOf(value, where)] = {buffer.pointer, scope};
}

Buffer Emitter::allocateRow(Value value) {
  RankedTensorType type = rowType(value);
  Value extent = integer(type.getDimSize(0));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(extent);
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return {LLVM::AllocaOp::create(builder, pointer, type.getElementType(), extent, 64), type};
}

} // namespace accum::codegen
