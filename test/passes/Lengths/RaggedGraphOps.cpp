// SPDX-License-Identifier: Apache-2.0
// Random graphs at two sizes: cuts, reductions, products, indexed reads, losses, attention.
#include "test/passes/Lengths/RaggedGraph.h"

using namespace mlir;
using Fn = accum::nn::ElementwiseFn;

namespace accum::test {

/// Slices from the left or the right, pads, concatenations.
void RaggedGraph::makeCut() {
  int64_t value = findReal();
  int64_t rank = typeOf(values[0][static_cast<size_t>(value)]).getRank();
  if (rank == 0)
    return;
  int64_t axis = pick(rank), kind = pick(6), low = pick(2), high = pick(2);
  int64_t other = kind == 4 ? findReal(rank) : kind == 5 ? constant(double(pick(2))) : value;
  add({value, other}, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    Location loc = builder.getUnknownLoc();
    SmallVector<int64_t> shape(typeOf(own[0]).getShape()), start(rank), ones(rank, 1);
    int64_t extent = shape[axis];
    if (kind == 5) {
      start[axis] = low;
      shape[axis] += low + high;
      return nn::PadOp::create(builder, loc, RankedTensorType::get(shape, builder.getF64Type()), own[0],
                               own[1], start);
    }
    if (kind == 4) {
      for (int64_t each = 0; each < rank; ++each)
        if (each != axis && shape[each] != typeOf(own[1]).getDimSize(each))
          return {};
      return nn::ConcatOp::create(builder, loc, own, axis);
    }
    start[axis] = kind == 0 ? extent - 1 : low;
    shape[axis] = kind <= 1 ? 1 : extent - low - high;
    if (shape[axis] < 1 || start[axis] + shape[axis] > extent)
      return {};
    return nn::SliceOp::create(builder, loc, RankedTensorType::get(shape, builder.getF64Type()), own[0],
                               start, ones);
  });
}

void RaggedGraph::makeReduction() {
  int64_t value = findReal();
  int64_t rank = typeOf(values[0][static_cast<size_t>(value)]).getRank();
  if (rank == 0)
    return;
  int64_t axis = pick(rank), kind = pick(7);
  bool isSum = pick(2), isReverse = pick(2), isExclusive = pick(2);
  add(value, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    Location loc = builder.getUnknownLoc();
    SmallVector<int64_t> shape(typeOf(own[0]).getShape());
    if (kind == 0)
      return nn::CumSumOp::create(builder, loc, own[0].getType(), own[0], axis, isExclusive, isReverse);
    if (kind == 1)
      return nn::SoftmaxOp::create(builder, loc, own[0], axis, isReverse);
    if (kind == 2)
      return nn::LayerNormOp::create(builder, loc, own[0], Value(), Value(), axis, APFloat(1e-3)).getResult();
    if (kind == 3) {
      shape.erase(shape.begin() + axis);
      return nn::ArgReduceOp::create(builder, loc, RankedTensorType::get(shape, builder.getI64Type()),
                                     isSum ? nn::ReduceKind::max : nn::ReduceKind::min, own[0], axis);
    }
    SmallVector<int64_t> axes{axis};
    if (kind == 4 && axis + 1 < rank)
      axes.push_back(axis + 1);
    return nn::ReduceOp::create(builder, loc, isSum ? nn::ReduceKind::sum : nn::ReduceKind::max, own[0],
                                axes);
  });
}

void RaggedGraph::makeContraction() {
  constexpr const char *specs[] = {"bsd,de->bse",  "bsd,bs->bd", "bs,bs->b",
                                   "bqd,bkd->bqk", "bsd,d->bs",  "bs,bt->bst"};
  StringRef spec = specs[pick(6)];
  auto [lhs, rest] = spec.split(',');
  StringRef rhs = rest.split('-').first;
  int64_t a = findReal(static_cast<int64_t>(lhs.size())), b = findReal(static_cast<int64_t>(rhs.size()));
  add({a, b}, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    std::map<char, int64_t> extents;
    for (auto [letters, value] : {std::pair(lhs, own[0]), std::pair(rhs, own[1])})
      for (auto [letter, extent] : llvm::zip(letters, typeOf(value).getShape()))
        if (extents.try_emplace(letter, extent).first->second != extent)
          return {};
    return nn::ContractOp::create(builder, builder.getUnknownLoc(), spec, own[0], own[1]);
  });
}

/// Places of positions, the last real one, the first largest.
void RaggedGraph::makeRead() {
  auto isRows = [](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() == 3 && type.getDimSize(0) == 1;
  };
  auto gather = [&](int64_t input, int64_t indices, int64_t axis, int64_t batch) {
    return add({input, indices}, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t size) -> Value {
      if (typeOf(own[0]).getDimSize(axis) < size)
        return {};
      return nn::GatherOp::create(builder, builder.getUnknownLoc(), own[0], own[1], axis, batch);
    });
  };
  auto reduce = [&](int64_t input, bool isLargest) {
    return add(input, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
      Location loc = builder.getUnknownLoc();
      SmallVector<int64_t> axes{1};
      if (!isLargest)
        return nn::ReduceOp::create(builder, loc, nn::ReduceKind::sum, own[0], axes);
      auto type = RankedTensorType::get({1}, builder.getI64Type());
      return nn::ArgReduceOp::create(builder, loc, type, nn::ReduceKind::max, own[0], 1);
    });
  };
  auto sized = [&](int64_t extra) {
    return add({}, [&](OpBuilder &builder, ArrayRef<Value>, int64_t size) -> Value {
      auto type = RankedTensorType::get({size + extra}, builder.getI64Type());
      return nn::IotaOp::create(builder, builder.getUnknownLoc(), type, 0);
    });
  };
  int64_t places = find([](RankedTensorType type) { return type.getShape() == ArrayRef<int64_t>{12, 4}; });
  switch (pick(5)) {
  case 0:
    gather(places, elementwise(Fn::add, {sized(pick(2)), constant(double(pick(3)), true)}), 0, 0);
    return;
  case 1:
    gather(find(isRows),
           elementwise(Fn::max, {elementwise(Fn::sub, {sized(-1), constant(double(pick(2)), true)}),
                                 constant(0, true)}),
           1, 0);
    return;
  case 2:
    gather(find(isRows), elementwise(Fn::sub, {reduce(mask, false), constant(1, true)}), 1, pick(2));
    return;
  case 3: {
    int64_t real = cast(elementwise(Fn::ne, {ids, constant(3, true)}), builders[0].getI64Type());
    gather(find(isRows), reduce(elementwise(Fn::mul, {real, sized(0)}), true), 1, pick(2));
    return;
  }
  default:
    gather(places, pick(2) ? int64_t(ids) : int64_t(mask), 0, 0);
  }
}

void RaggedGraph::makeLoss() {
  int64_t logits = find([](RankedTensorType type) {
    return type.getElementType().isF64() && type.getRank() == 3 && type.getDimSize(0) == 1 &&
           type.getDimSize(2) == 4;
  });
  add({logits, labels}, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    if (typeOf(own[0]).getDimSize(1) != typeOf(own[1]).getDimSize(1))
      return {};
    return nn::CrossEntropyOp::create(builder, builder.getUnknownLoc(), own[0], own[1],
                                      builder.getI64IntegerAttr(-100))
        .getLoss();
  });
}

void RaggedGraph::makeAttention() {
  auto heads = [&] {
    int64_t rows = find([](RankedTensorType type) {
      return type.getElementType().isF64() && type.getRank() == 3 && type.getDimSize(0) == 1 &&
             type.getDimSize(2) == 4;
    });
    return reshape(rows, [](SmallVector<int64_t> &shape) { shape.insert(shape.begin(), 1); });
  };
  int64_t query = heads(), key = heads(),
          keys =
              reshape(cast(mask, builders[0].getI1Type()), [](auto &shape) { shape = {1, 1, 1, shape[1]}; });
  bool isCausal = pick(2), isMasked = pick(3) != 0;
  auto hidden = static_cast<nn::HiddenScore>(pick(4));
  add({query, key, keys}, [&](OpBuilder &builder, ArrayRef<Value> own, int64_t) -> Value {
    if (typeOf(own[0]).getDimSize(3) != typeOf(own[1]).getDimSize(3))
      return {};
    if (isMasked && typeOf(own[1]).getDimSize(2) != typeOf(own[2]).getDimSize(3))
      return {};
    return nn::AttentionOp::create(builder, builder.getUnknownLoc(), own[0], own[1], own[1],
                                   isMasked ? own[2] : Value(), hidden, isCausal, APFloat(0.5))
        .getResult();
  });
}

} // namespace accum::test
