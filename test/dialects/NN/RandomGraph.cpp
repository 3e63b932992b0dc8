// SPDX-License-Identifier: Apache-2.0
// Random placed graphs: the pool of values, and ops on one or two of them.
#include "test/dialects/NN/RandomGraph.h"
#include "dialects/NN/PlacedBuilder.h"
#include "dialects/NN/Views.h"

using namespace mlir;

namespace accum::test {

static bool isFloat(Value value) { return isa<FloatType>(nn::tensorType(value).getElementType()); }

RandomGraph::RandomGraph(MLIRContext &context, uint64_t seed) : random(seed), builder(&context) {
  context.loadDialect<nn::NNDialect, train::TrainDialect, func::FuncDialect>();
  module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto f64 = builder.getF64Type();
  auto i64 = builder.getI64Type();
  auto input = [](ArrayRef<int64_t> shape, Type element, int64_t dim) -> Type {
    return nn::Placement::batched(dim).place(RankedTensorType::get(shape, element));
  };
  SmallVector<Type> inputs{input({1, 4}, f64, 0),    input({1, 2, 3}, f64, 0), input({2, 3}, f64, 0),
                           input({3, 1, 2}, f64, 1), input({1, 2}, i64, 0),    input({1, 4}, i64, 0),
                           input({2}, i64, 0),       input({1, 3}, f64, 0),    input({1}, i64, 0)};
  addParameter(0, {4}, false);
  addParameter(1, {3, 2}, false);
  addParameter(2, {4, 3}, false);
  addParameter(3, {1, 3}, false);
  addParameter(4, {2}, true);
  forward =
      func::FuncOp::create(builder, builder.getUnknownLoc(), "forward", builder.getFunctionType(inputs, {}));
  Block *block = forward.addEntryBlock();
  values.append(block->args_begin(), block->args_end());
  builder.setInsertionPointToStart(block);
  for (auto param : module->getOps<train::ParamOp>()) {
    auto type = nn::Placement::replicated().place(param.getType());
    values.push_back(train::LoadParamOp::create(builder, builder.getUnknownLoc(), type, param.getSymName()));
  }
}

void RandomGraph::addParameter(int number, ArrayRef<int64_t> shape, bool isInteger) {
  Type element = isInteger ? Type(builder.getI64Type()) : Type(builder.getF64Type());
  std::string name = "p" + std::to_string(number);
  auto type = RankedTensorType::get(shape, element);
  auto source = train::FileAttr::get(builder.getContext(), "m.onnx", 0, 8 * type.getNumElements(), 0);
  auto param = train::ParamOp::create(builder, builder.getUnknownLoc(), name, type, source,
                                      pick(2) == 0 && !isInteger);
  Array data = Array::zeros(shape);
  for (double &x : data.data)
    x = isInteger ? pick(3) : std::uniform_real_distribution(-1.0, 1.0)(random);
  parameters[param.getSymName().str()] = data;
}

Array RandomGraph::dataFor(Value argument, int64_t samples) {
  SmallVector<int64_t> shape(nn::tensorType(argument).getShape());
  shape[nn::Placement::of(argument.getType()).dim] *= samples;
  Array data = Array::zeros(shape);
  for (double &x : data.data)
    x = isFloat(argument) ? std::uniform_real_distribution(-1.0, 1.0)(random) : pick(3);
  return data;
}

Value RandomGraph::pickValue(Wanted wanted) {
  SmallVector<Value> fitting;
  llvm::copy_if(values, std::back_inserter(fitting), wanted);
  return fitting.empty() ? Value() : fitting[pick(fitting.size())];
}

/// Sums over the batch are rare, so one in three picks prefers them.
Value RandomGraph::pickFloat() {
  auto isSum = [](Value v) { return isFloat(v) && nn::Placement::of(v.getType()).isPartial(); };
  Value sum = pick(3) ? Value() : pickValue(isSum);
  return sum ? sum : pickValue(isFloat);
}

Value RandomGraph::constant(double value, Type element) {
  auto type = RankedTensorType::get({}, element);
  TypedAttr attr = isa<FloatType>(element)
                       ? TypedAttr(builder.getFloatAttr(element, value))
                       : TypedAttr(builder.getIntegerAttr(element, static_cast<int64_t>(value)));
  return nn::ConstantOp::create(builder, builder.getUnknownLoc(), nn::Placement::replicated().place(type),
                                DenseElementsAttr::get(type, Attribute(attr)));
}

template <class Op> static void keyBySample(Op op) {
  nn::Placement p = nn::Placement::of(op.getType());
  if (!p.isBatched())
    return;
  op.setDim(p.dim);
  op.setOuter(p.outer);
  op.setRows(nn::tensorType(op).getDimSize(p.dim) / p.outer);
}

void RandomGraph::grow(int tries) {
  for (int i = 0; i < tries; ++i) {
    Operation *op = makeOp();
    if (!op)
      continue;
    auto &[kept, refused] = tally[op->getName().getStringRef().str()];
    nn::Refusal why;
    bool isSmall =
        llvm::all_of(op->getResults(), [](Value v) { return nn::tensorType(v).getNumElements() <= 64; });
    if (!isSmall || (failed(nn::placeResults(op, why)) && (pick(4) == 0 || !takeTotals(op, why)))) {
      refused += isSmall;
      op->erase();
      continue;
    }
    ++kept;
    if (auto dropout = dyn_cast<nn::DropoutOp>(op))
      keyBySample(dropout);
    if (auto random = dyn_cast<nn::RandomOp>(op))
      keyBySample(random);
    values.append(op->result_begin(), op->result_end());
  }
}

/// Gives an op that cannot use sums their totals instead; whether it has a placement then.
bool RandomGraph::takeTotals(Operation *op, nn::Refusal why) {
  if (why.kind != nn::Refusal::Kind::SumMeetsSamples && why.kind != nn::Refusal::Kind::NonLinearInSum)
    return false;
  OpBuilder before(op);
  for (unsigned i : why.operands) {
    Value sum = op->getOperand(i);
    auto type = nn::Placement::replicated().place(sum.getType());
    op->setOperand(i, nn::TotalOp::create(before, op->getLoc(), type, sum));
  }
  return succeeded(nn::placeResults(op, why));
}

Operation *RandomGraph::makeOp() {
  switch (pick(16)) {
  case 0:
  case 1:
  case 2:
    return makeElementwise();
  case 3:
  case 4:
    return makeContract();
  case 5:
    return makeReduction();
  case 6:
  case 7:
    return makeReshape();
  case 8:
    return makeLayout();
  case 9:
    return makeBroadcast();
  case 10:
    return makePad();
  case 11:
    return makeGather();
  case 12:
    return makeGatherElements();
  case 13:
    return makeNorm();
  case 14:
    return makeLoss();
  default:
    return pick(2) ? makeAccumulation() : makeCreation();
  }
}

static Operation *makeElementwiseOp(OpBuilder &builder, nn::ElementwiseFn fn, ValueRange operands) {
  if (failed(nn::broadcastShapes(operands.getTypes())))
    return nullptr;
  return nn::ElementwiseOp::create(builder, builder.getUnknownLoc(), fn, operands);
}

/// Functions that keep values small, so that sums of many of them can be compared.
Operation *RandomGraph::makeElementwise() {
  using Fn = nn::ElementwiseFn;
  Value a = pickFloat(), b = pickFloat();
  auto isBool = [](Value v) { return nn::tensorType(v).getElementType().isInteger(1); };
  auto isLike = [&](Value v) {
    return nn::tensorType(v).getElementType() == nn::tensorType(a).getElementType();
  };
  Type targets[] = {builder.getF32Type(), builder.getF64Type(), builder.getI64Type()};
  switch (pick(5)) {
  case 0: {
    Fn fns[] = {Fn::neg, Fn::tanh, Fn::sin, Fn::gelu, Fn::sigmoid, Fn::round, Fn::silu_grad};
    return makeElementwiseOp(builder, fns[pick(7)], {a});
  }
  case 1: {
    Fn fns[] = {Fn::add, Fn::sub, Fn::mul, Fn::div, Fn::max};
    b = pickValue(isLike);
    return makeElementwiseOp(builder, fns[pick(5)], {a, b});
  }
  case 2:
    b = pickValue(isLike);
    return makeElementwiseOp(builder, Fn::lt, {a, b});
  case 3:
    if (Value condition = pickValue(isBool))
      return makeElementwiseOp(
          builder, Fn::select,
          {condition, a, pick(2) ? pickValue(isLike) : constant(0, nn::tensorType(a).getElementType())});
    return nullptr;
  default: {
    Value any = pickValue([](Value) { return true; });
    return nn::CastOp::create(builder, builder.getUnknownLoc(), any, targets[pick(3)]);
  }
  }
}

/// Letters are shared where extents allow it, and one in three of those that may be summed is.
Operation *RandomGraph::makeContract() {
  Value lhs = pickFloat();
  Value rhs = pickValue(
      [&](Value v) { return nn::tensorType(v).getElementType() == nn::tensorType(lhs).getElementType(); });
  std::string left, right, result;
  for (int64_t i = 0; i < nn::tensorType(lhs).getRank(); ++i)
    left += static_cast<char>('a' + i);
  for (auto [i, extent] : llvm::enumerate(nn::tensorType(rhs).getShape())) {
    char letter = static_cast<char>('p' + i);
    for (char candidate : left)
      if (nn::tensorType(lhs).getDimSize(candidate - 'a') == extent &&
          right.find(candidate) == std::string::npos && pick(2))
        letter = candidate;
    right += letter;
  }
  for (char letter : left + right)
    if (result.find(letter) == std::string::npos) {
      bool isShared = left.find(letter) != std::string::npos && right.find(letter) != std::string::npos;
      if (!isShared || pick(3))
        result += letter;
    }
  std::shuffle(result.begin(), result.end(), random);
  if (result.size() > 4)
    return nullptr;
  return nn::ContractOp::create(builder, builder.getUnknownLoc(), left + "," + right + "->" + result, lhs,
                                rhs);
}

Operation *RandomGraph::makeNorm() {
  Value input = pickFloat();
  int64_t rank = nn::tensorType(input).getRank();
  if (rank == 0)
    return nullptr;
  int64_t axis = pick(rank);
  FloatAttr eps = builder.getF64FloatAttr(0.1);
  auto row = nn::tensorType(input).getShape().drop_front(axis);
  Value scale = pickValue([&](Value v) {
    return nn::tensorType(v).getShape() == row &&
           nn::tensorType(v).getElementType() == nn::tensorType(input).getElementType();
  });
  switch (pick(3)) {
  case 0:
    return nn::SoftmaxOp::create(builder, builder.getUnknownLoc(), input, axis, pick(2) == 0);
  case 1:
    return nn::LayerNormOp::create(builder, builder.getUnknownLoc(), input, scale, pick(2) ? scale : Value(),
                                   builder.getI64IntegerAttr(axis), eps);
  default:
    return nn::RmsNormOp::create(builder, builder.getUnknownLoc(), input, scale,
                                 builder.getI64IntegerAttr(axis), eps);
  }
}

Operation *RandomGraph::makeLoss() {
  Value logits = pickValue([](Value v) { return isFloat(v) && nn::tensorType(v).getRank() > 0; });
  auto rows = nn::tensorType(logits).getShape().drop_back();
  Value labels = pickValue([&](Value v) {
    return nn::tensorType(v).getElementType().isInteger(64) && nn::tensorType(v).getShape() == rows;
  });
  if (!labels)
    return nullptr;
  labels = indicesBelow(labels, nn::tensorType(logits).getShape().back());
  auto ignored = pick(2) ? builder.getI64IntegerAttr(0) : IntegerAttr();
  if (pick(2))
    return nn::CrossEntropyOp::create(builder, builder.getUnknownLoc(), logits, labels, ignored);
  auto isRow = [&](Value v) {
    return nn::tensorType(v).getShape() == rows &&
           nn::tensorType(v).getElementType() == nn::tensorType(logits).getElementType();
  };
  Value lse = pickValue(isRow), dloss = pickValue(isRow);
  if (!lse)
    return nullptr;
  return nn::CrossEntropyGradOp::create(builder, builder.getUnknownLoc(), logits, labels, lse, dloss,
                                        ignored);
}

Operation *RandomGraph::makeAccumulation() {
  Value value = pickFloat();
  nn::Placement placement = nn::Placement::of(value.getType());
  if (placement.isPartial() && pick(2))
    return nn::TotalOp::create(builder, builder.getUnknownLoc(), nn::slabOf(value.getType()), value);
  if (placement.isReplicated() && pick(2))
    return nn::ShareOp::create(builder, builder.getUnknownLoc(), nn::slabOf(value.getType()), value,
                               ValueRange());
  if (pick(3) == 0) {
    auto kind = nn::RandomKind(pick(3));
    FloatAttr ratio = kind == nn::RandomKind::mask ? builder.getF64FloatAttr(0.3) : FloatAttr();
    return nn::RandomOp::create(builder, builder.getUnknownLoc(), nn::slabOf(value.getType()), value,
                                ValueRange(), kind, pick(1000), false, ratio, IntegerAttr(), IntegerAttr(),
                                IntegerAttr(), DenseI64ArrayAttr());
  }
  return nn::DropoutOp::create(builder, builder.getUnknownLoc(), nn::slabOf(value.getType()), value,
                               ValueRange(), builder.getF64FloatAttr(0.3),
                               builder.getI64IntegerAttr(pick(1000)), IntegerAttr(), IntegerAttr(),
                               IntegerAttr(), UnitAttr(), DenseI64ArrayAttr());
}

} // namespace accum::test
