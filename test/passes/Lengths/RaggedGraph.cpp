// SPDX-License-Identifier: Apache-2.0
// Random graphs at two sizes: inputs, the pool of values, elementwise ops and layouts.
#include "test/passes/Lengths/RaggedGraph.h"

using namespace mlir;
using Fn = accum::nn::ElementwiseFn;

namespace accum::test {

RaggedGraph::RaggedGraph(MLIRContext &context, uint64_t seed, Kind kind)
    : kind(kind), random(seed), builders{OpBuilder(&context), OpBuilder(&context)} {
  context.loadDialect<nn::NNDialect, train::TrainDialect, func::FuncDialect>();
  std::pair<const char *, SmallVector<int64_t>> tables[] = {
      {"places", {12, 4}}, {"square", {4, 4}}, {"row", {4}}};
  for (auto &[name, shape] : tables) {
    Array data = Array::zeros(shape);
    for (double &x : data.data)
      x = std::uniform_real_distribution(-1.0, 1.0)(random);
    parameters[name] = data;
  }
  for (size_t size : {0, 1}) {
    OpBuilder &builder = builders[size];
    Location loc = builder.getUnknownLoc();
    modules[size] = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(modules[size]->getBody());
    int64_t positions = kSizes[size];
    Type f64 = builder.getF64Type(), i64 = builder.getI64Type();
    SmallVector<Type> inputs{
        RankedTensorType::get({1, positions, 4}, f64), RankedTensorType::get({1, positions}, i64),
        RankedTensorType::get({1, positions}, f64), RankedTensorType::get({1, positions}, i64),
        RankedTensorType::get({1, positions}, i64)};
    if (kind == Kind::Rows)
      inputs.push_back(RankedTensorType::get({1, 2, positions}, i64));
    for (auto &[name, data] : parameters) {
      auto type = RankedTensorType::get(data.shape, f64);
      train::ParamOp::create(builder, loc, name, type,
                             train::FileAttr::get(&context, "m.onnx", 0, 8 * type.getNumElements(), 0), true);
    }
    auto forward = func::FuncOp::create(builder, loc, "forward", builder.getFunctionType(inputs, {}));
    Block *block = forward.addEntryBlock();
    values[size].append(block->args_begin(), block->args_end());
    builder.setInsertionPointToStart(block);
    for (auto &[name, data] : parameters)
      values[size].push_back(
          train::LoadParamOp::create(builder, loc, RankedTensorType::get(data.shape, f64), name));
  }
}

SmallVector<lengths::Presumed> RaggedGraph::presumed() const {
  SmallVector<lengths::Presumed> inputs{{features, 1, {}, {}},
                                        {mask, 1, 0.0, 1.0},
                                        {weights, 1, 0.0, {}},
                                        {labels, 1, -100.0, {}},
                                        {ids, 1, 3.0, {}}};
  if (kind == Kind::Rows)
    inputs.push_back({choices, 2, 0.0, {}, 1.0});
  return inputs;
}

Array RaggedGraph::dataFor(unsigned input, size_t size, int64_t length, uint64_t sample, uint64_t junk) {
  Array data = Array::zeros(typeOf(values[size][input]).getShape());
  std::mt19937_64 real(sample * 8 + input), other(junk * 8 + input);
  int64_t width = input == features ? 4 : 1;
  for (auto [i, x] : llvm::enumerate(data.data)) {
    auto at = static_cast<int64_t>(i) / width % kSizes[size];
    bool isSecond = static_cast<int64_t>(i) / width >= kSizes[size];
    bool isReal = at < (isSecond ? 1 + static_cast<int64_t>(sample % length) : length);
    auto &source = isReal ? real : other;
    double number = std::uniform_real_distribution(-1.0, 1.0)(source);
    auto index = static_cast<double>(source() % 3);
    x = input == features                   ? (isReal ? number : 40 * number)
        : input == mask || input == choices ? isReal
        : input == weights                  ? (isReal ? number : 0)
        : input == labels                   ? (isReal ? index : -100)
                                            : (isReal ? index : 3);
  }
  return data;
}

int64_t RaggedGraph::find(function_ref<bool(RankedTensorType)> fits) {
  SmallVector<int64_t> found;
  for (auto [i, value] : llvm::enumerate(values[0]))
    if (fits(typeOf(value)))
      found.push_back(static_cast<int64_t>(i));
  return found.empty() ? -1 : found[pick(static_cast<int64_t>(found.size()))];
}

int64_t RaggedGraph::findReal(int64_t rank) {
  return find([&](RankedTensorType type) {
    return type.getElementType().isF64() && (rank < 0 || type.getRank() == rank);
  });
}

int64_t RaggedGraph::add(ArrayRef<int64_t> operands, Make make) {
  if (llvm::any_of(operands, [](int64_t each) { return each < 0; }))
    return -1;
  Value made[2];
  for (size_t size : {0, 1}) {
    SmallVector<Value> own;
    for (int64_t each : operands)
      own.push_back(values[size][static_cast<size_t>(each)]);
    made[size] = make(builders[size], own, kSizes[size]);
  }
  bool isSmall = made[0] && made[1] && typeOf(made[0]).getRank() == typeOf(made[1]).getRank() &&
                 typeOf(made[1]).getNumElements() <= 2000;
  if (!isSmall) {
    for (Value each : made)
      if (each)
        each.getDefiningOp()->erase();
    return -1;
  }
  ++tally[made[0].getDefiningOp()->getName().getStringRef().str()];
  for (size_t size : {0, 1})
    values[size].append(made[size].getDefiningOp()->result_begin(), made[size].getDefiningOp()->result_end());
  return static_cast<int64_t>(values[0].size()) - made[0].getDefiningOp()->getNumResults();
}

int64_t RaggedGraph::constant(double value, bool isInteger) {
  return add({}, [&](OpBuilder &builder, ArrayRef<Value>, int64_t) -> Value {
    Type element = isInteger ? Type(builder.getI64Type()) : Type(builder.getF64Type());
    auto type = RankedTensorType::get({}, element);
    Attribute attr = isInteger ? Attribute(builder.getI64IntegerAttr(static_cast<int64_t>(value)))
                               : Attribute(builder.getF64FloatAttr(value));
    return nn::ConstantOp::create(builder, builder.getUnknownLoc(), type, DenseElementsAttr::get(type, attr));
  });
}

int64_t RaggedGraph::elementwise(Fn fn, ArrayRef<int64_t> operands) {
  return add(operands, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    if (failed(nn::broadcastShapes(ValueRange(own).getTypes())))
      return {};
    return nn::ElementwiseOp::create(builder, builder.getUnknownLoc(), fn, own);
  });
}

int64_t RaggedGraph::cast(int64_t value, Type element) {
  return add(value, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    return nn::CastOp::create(builder, builder.getUnknownLoc(), own[0], element);
  });
}

int64_t RaggedGraph::reshape(int64_t value, function_ref<void(SmallVector<int64_t> &)> change) {
  return add(value, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    SmallVector<int64_t> shape(typeOf(own[0]).getShape());
    change(shape);
    if (ShapedType::getNumElements(shape) != typeOf(own[0]).getNumElements())
      return {};
    auto type = RankedTensorType::get(shape, typeOf(own[0]).getElementType());
    return nn::ReshapeOp::create(builder, builder.getUnknownLoc(), type, own[0]);
  });
}

void RaggedGraph::makeElementwise() {
  constexpr Fn unary[] = {Fn::tanh, Fn::neg, Fn::sigmoid, Fn::relu, Fn::abs, Fn::gelu};
  constexpr Fn binary[] = {Fn::add, Fn::sub, Fn::mul, Fn::min, Fn::max};
  if (pick(3) == 0) {
    elementwise(unary[pick(6)], findReal());
    return;
  }
  int64_t first = findReal();
  int64_t rank = typeOf(values[0][static_cast<size_t>(first)]).getRank();
  // Values of the same rank more often, so that positions meet.
  int64_t second = pick(3) ? findReal(rank) : findReal();
  elementwise(binary[pick(5)], {first, second});
}

int64_t RaggedGraph::places(int64_t axis) {
  return add({}, [&](OpBuilder &builder, ArrayRef<Value>, int64_t size) -> Value {
    SmallVector<int64_t> shape{1, 1};
    shape[axis] = size;
    return nn::IotaOp::create(builder, builder.getUnknownLoc(),
                              RankedTensorType::get(shape, builder.getI64Type()), axis);
  });
}

int64_t RaggedGraph::causalMask() {
  int64_t rows = places(0), columns = places(1);
  int64_t queries = pick(3) ? rows : elementwise(Fn::add, {rows, constant(double(pick(3)) - 1, true)});
  return elementwise(pick(5) ? Fn::le : Fn::lt, {columns, queries});
}

/// Causal order, and keys no further back than two or three; now and then only those that the mask shows.
int64_t RaggedGraph::windowMask() {
  int64_t seen = causalMask();
  int64_t keys = elementwise(Fn::add, {places(1), constant(double(pick(3) + 1), true)});
  int64_t window = elementwise(Fn::logical_and, {seen, elementwise(Fn::gt, {keys, places(0)})});
  return pick(2) ? window : elementwise(Fn::logical_and, {window, cast(mask, builders[0].getI1Type())});
}

/// The mask as zeros and ones, as what is hidden, times something, or as a select.
void RaggedGraph::makeMask() {
  int64_t bits =
      cast(pick(3) ? int64_t(mask) : elementwise(Fn::ne, {ids, constant(3, true)}), builders[0].getI1Type());
  int64_t ones = cast(bits, builders[0].getF64Type());
  switch (pick(4)) {
  case 0: {
    int64_t hidden = elementwise(Fn::sub, {constant(1), ones});
    elementwise(Fn::mul, {hidden, constant(pick(2) ? -1e30 : -3.40282346638528859812e+38)});
    return;
  }
  case 1:
    elementwise(Fn::mul, {ones, findReal(2)});
    return;
  case 2:
    elementwise(Fn::select, {bits, findReal(2), constant(pick(2) ? 0 : -1e30)});
    return;
  default: { // of features
    int64_t column = reshape(ones, [](SmallVector<int64_t> &shape) { shape.push_back(1); });
    elementwise(Fn::mul, {column, findReal(3)});
  }
  }
}

/// Weights of positions in each of several rows, and a read at the end of each.
void RaggedGraph::makeRows() {
  int64_t ones = cast(cast(choices, builders[0].getI1Type()), builders[0].getF64Type());
  int64_t low =
      elementwise(Fn::mul, {elementwise(Fn::sub, {constant(1), ones}), constant(pick(2) ? -1e30 : -3.4e38)});
  int64_t scores = elementwise(Fn::add, {low, findReal(2)});
  if (pick(2)) { // a slope over distances from the right
    int64_t slope = add({}, [&](OpBuilder &builder, ArrayRef<Value>, int64_t size) -> Value {
      auto type = RankedTensorType::get({1, 1, size}, builder.getF64Type());
      SmallVector<double> values;
      for (int64_t k = 0; k < size; ++k)
        values.push_back(0.25 * double(k - size + 1));
      return nn::ConstantOp::create(builder, builder.getUnknownLoc(), type,
                                    DenseElementsAttr::get(type, ArrayRef<double>(values)));
    });
    scores = elementwise(pick(2) ? Fn::add : Fn::sub, {scores, slope});
  }
  int64_t weights = add(scores, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    return nn::SoftmaxOp::create(builder, builder.getUnknownLoc(), own[0], typeOf(own[0]).getRank() - 1,
                                 false);
  });
  int64_t rows = find([](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() == 3 && type.getDimSize(1) == kSizes[0];
  });
  auto multiply = [&](int64_t by) {
    add({by, rows}, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t size) -> Value {
      if (typeOf(own[0]).getShape() != ArrayRef<int64_t>{1, 2, size} || typeOf(own[1]).getDimSize(0) != 1 ||
          typeOf(own[1]).getDimSize(1) != size)
        return {};
      return nn::ContractOp::create(builder, builder.getUnknownLoc(), "bcs,bsd->bcd", own[0], own[1]);
    });
  };
  multiply(weights);
  multiply(ones);
  int64_t last = add(choices, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    SmallVector<int64_t> axes{2};
    return nn::ReduceOp::create(builder, builder.getUnknownLoc(), nn::ReduceKind::sum, own[0], axes);
  });
  add({rows, elementwise(Fn::sub, {last, constant(1, true)})},
      [&](OpBuilder &builder, ArrayRef<Value> own, int64_t size) -> Value {
        if (typeOf(own[0]).getDimSize(0) != 1 || typeOf(own[0]).getDimSize(1) < size)
          return {};
        return nn::GatherOp::create(builder, builder.getUnknownLoc(), own[0], own[1], /*axis=*/int64_t(1),
                                    /*batchDims=*/int64_t(1));
      });
}

/// Softmax of masked scores, times values.
void RaggedGraph::makeScores() {
  auto isRows = [](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() == 3 && type.getDimSize(1) == kSizes[0];
  };
  auto product = [&](const char *spec, int64_t a, int64_t b) {
    return add({a, b}, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
      if (typeOf(own[0]).getDimSize(0) != typeOf(own[1]).getDimSize(0))
        return {};
      if (typeOf(own[0]).getDimSize(2) != typeOf(own[1]).getDimSize(spec[1] == 'q' && spec[2] == 'd' ? 2 : 1))
        return {};
      return nn::ContractOp::create(builder, builder.getUnknownLoc(), spec, own[0], own[1]);
    });
  };
  int64_t scores = product("bqd,bkd->bqk", find(isRows), find(isRows));
  int64_t keys = cast(mask, builders[0].getI1Type());
  if (pick(2))
    scores = elementwise(Fn::select, {kind == Kind::Windows && pick(2) ? windowMask() : causalMask(), scores,
                                      constant(pick(2) ? -1e30 : -INFINITY)});
  else if (pick(4))
    scores = elementwise(Fn::add, {elementwise(Fn::select, {keys, constant(0), constant(-1e30)}), scores});
  int64_t weights = add(scores, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    return nn::SoftmaxOp::create(builder, builder.getUnknownLoc(), own[0], 2, false);
  });
  product("bqk,bkd->bqd", weights, find(isRows));
}

/// Orders and groups of axes.
void RaggedGraph::makeLayout() {
  int64_t value = findReal();
  int64_t rank = typeOf(values[0][static_cast<size_t>(value)]).getRank();
  if (rank == 0 || rank > 4)
    return;
  int64_t axis = pick(rank), kind = pick(4);
  if (kind == 0) {
    SmallVector<int64_t> perm = llvm::to_vector(llvm::seq<int64_t>(rank));
    std::shuffle(perm.begin(), perm.end(), random);
    add(value, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
      SmallVector<int64_t> shape;
      for (int64_t each : perm)
        shape.push_back(typeOf(own[0]).getDimSize(each));
      auto type = RankedTensorType::get(shape, builder.getF64Type());
      return nn::TransposeOp::create(builder, builder.getUnknownLoc(), type, own[0], perm);
    });
    return;
  }
  reshape(value, [&](SmallVector<int64_t> &shape) {
    int64_t extent = shape[axis];
    if (kind == 1)
      shape.insert(shape.begin() + axis, 1);
    else if (kind == 2 && axis + 1 < rank) { // merge
      shape[axis + 1] *= extent;
      shape.erase(shape.begin() + axis);
    } else if (extent % 4 == 0) { // split
      shape[axis] = extent / 4;
      shape.insert(shape.begin() + axis + 1, 4);
    }
  });
}

void RaggedGraph::grow(int tries) {
  for (int i = 0; i < tries; ++i)
    makeOp();
  for (size_t size : {0, 1})
    func::ReturnOp::create(builders[size], builders[size].getUnknownLoc(), values[size].back());
}

void RaggedGraph::makeOp() {
  void (RaggedGraph::*makers[])() = {
      &RaggedGraph::makeElementwise, &RaggedGraph::makeElementwise, &RaggedGraph::makeMask,
      &RaggedGraph::makeScores,      &RaggedGraph::makeLayout,      &RaggedGraph::makeCut,
      &RaggedGraph::makeReduction,   &RaggedGraph::makeContraction, &RaggedGraph::makeRead,
      &RaggedGraph::makeLoss,        &RaggedGraph::makeAttention};
  if (kind == Kind::Rows && pick(6) == 0)
    return makeRows();
  (this->*makers[pick(std::size(makers))])();
}

} // namespace accum::test
