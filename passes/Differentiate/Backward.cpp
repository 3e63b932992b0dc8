// SPDX-License-Identifier: Apache-2.0
#include "passes/Differentiate/Backward.h"
#include "dialects/NN/Origin.h"
#include "dialects/NN/Placement.h"
#include "passes/Differentiate/Vjp.h"

using namespace mlir;

namespace accum {

Value Backward::sumOf(SmallVector<Value> terms, Location loc) {
  while (terms.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i + 1 < terms.size(); i += 2)
      next.push_back(nn::ElementwiseOp::create(builder, loc, nn::ElementwiseFn::add,
                                               ValueRange{terms[i], terms[i + 1]}));
    if (terms.size() % 2)
      next.push_back(terms.back());
    terms = std::move(next);
  }
  return terms.empty() ? Value() : terms.front();
}

LogicalResult Backward::visit(Operation *op) {
  if (auto load = dyn_cast<train::LoadParamOp>(op)) {
    for (Value contribution : contributions.lookup(load.getResult()))
      gradients.emplace_back(load.getParamAttr().getAttr(), contribution);
    return success();
  }
  Block *block = builder.getInsertionBlock();
  Block::iterator end = builder.getInsertionPoint();
  Operation *last = end == block->begin() ? nullptr : &*std::prev(end);
  SmallVector<Value> cotangents;
  for (Value result : op->getResults())
    cotangents.push_back(sumOf(result));
  if (llvm::none_of(cotangents, [](Value v) { return static_cast<bool>(v); }))
    return success();
  Vjp vjp(builder, op, cotangents, [&](Value v) { return active.contains(v); });
  if (failed(differentiateOp(vjp)))
    return failure();
  for (auto made = last ? std::next(last->getIterator()) : block->begin(); made != end; ++made)
    made->setLoc(derivativeLocation(op));
  for (auto [operand, value] : vjp.given())
    if (active.contains(op->getOperand(operand)))
      contributions[op->getOperand(operand)].push_back(value);
  return success();
}

void Backward::seedLoss(Value loss) {
  auto type = cast<RankedTensorType>(loss.getType());
  auto one =
      DenseElementsAttr::get(nn::slabOf(type), Attribute(builder.getFloatAttr(type.getElementType(), 1)));
  seed(loss, nn::ConstantOp::create(builder, loss.getLoc(), nn::Placement::of(type).dual().place(type), one));
}

LogicalResult Backward::visitAll(Block &block) {
  auto ops = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops))
    if (llvm::any_of(op->getResults(), [&](Value v) { return active.contains(v); }) && failed(visit(op)))
      return failure();
  return success();
}

} // namespace accum
