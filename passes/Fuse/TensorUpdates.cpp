// SPDX-License-Identifier: Apache-2.0
// Adafactor, as torch.optim.Adafactor has it (single-tensor version).
#include "passes/Fuse/TensorUpdates.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/OneParameter.h"
#include "passes/Fuse/UpdateFormulas.h"

using namespace mlir;

namespace accum {

using Fn = nn::ElementwiseFn;

namespace {

/// PyTorch's eps[1] and d, which no run changes.
constexpr double kLeastNorm = 1e-3, kLargestUpdate = 1;

/// The ops of one parameter's update.
class Adafactor {
public:
  Adafactor(train::UpdateOp update, bool keepsAverage)
      : update(update), keepsAverage(keepsAverage), type(nn::slabOf(update.getGradient().getType())),
        element(type.getElementType()),
        f(ImplicitLocOpBuilder(update.getLoc(), update), element, update.getHyper()) {}

  void build();

private:
  using Shape = SmallVector<int64_t>;

  Shape shape() const { return Shape(type.getShape()); }
  /// One element along `axis`, counted from the last.
  Shape without(int64_t axis) const {
    Shape kept = shape();
    kept[kept.size() - 1 - axis] = 1;
    return kept;
  }
  Type typeOf(ArrayRef<int64_t> extents, Type of) const {
    return nn::Placement::replicated().place(RankedTensorType::get(extents, of));
  }
  template <typename Load, typename... Args> Value load(Type loaded, Args... args) {
    auto op = Load::create(f.b, loaded, args...);
    op->setAttr(train::kOneParameter, update.getParamAttr());
    return op;
  }
  Value slot(StringRef name, ArrayRef<int64_t> extents) {
    return load<train::LoadSlotOp>(typeOf(extents, element), name);
  }
  void store(Value value, StringRef name) {
    train::StoreOp::create(f.b, value, name)->setAttr(train::kOneParameter, update.getParamAttr());
  }

  Value reshape(Value value, ArrayRef<int64_t> extents, Type of) {
    return f.place(nn::ReshapeOp::create(f.b, RankedTensorType::get(extents, of), value));
  }
  Value sum(Value value, ArrayRef<int64_t> axes) {
    return f.place(nn::ReduceOp::create(f.b, nn::ReduceKind::sum, value, axes));
  }
  Value number(double value, Type of) {
    Type none = typeOf({}, of);
    auto constant = DenseElementsAttr::get(nn::slabOf(none), Attribute(FloatAttr::get(of, value)));
    return nn::ConstantOp::create(f.b, none, constant);
  }
  Value wide(Value value) {
    return element == f.b.getF64Type() ? value : nn::CastOp::create(f.b, value, f.b.getF64Type()).getResult();
  }
  Value rootMeanSquare(Value value);
  // What is as large as the tensor is computed anew for each command that reads it: none of it is in memory,
  // beside the state.
  Value gradient() { return f.mul(slot("gradient", shape()), f.narrow(f.scalar(ACCUM_HYPER_GRAD_SCALE))); }
  Value square() {
    Value g = gradient();
    return f.mul(g, g);
  }
  /// Updates what is kept of the second moment; its estimate is the product of these factors.
  SmallVector<Value> moment();
  Value direction(ArrayRef<Value> moment);
  Value kept(StringRef name, Value fresh, ArrayRef<int64_t> extents);
  Value mean(Value value, int64_t axis);
  Value eps() { return f.narrow(f.scalar(ACCUM_HYPER_EPS)); }

  train::UpdateOp update;
  bool keepsAverage;
  RankedTensorType type;
  Type element;
  UpdateMath f;
};

/// f64, of all elements: rows are summed in the element's type.
Value Adafactor::rootMeanSquare(Value value) {
  Value square = f.mul(value, value);
  int64_t rank = type.getRank();
  if (rank > 0)
    square = wide(sum(square, rank - 1));
  else
    square = wide(square);
  if (rank > 1)
    square = sum(square, llvm::to_vector(llvm::seq<int64_t>(rank - 1)));
  return f.map(Fn::sqrt,
               {f.div(square, number(static_cast<double>(type.getNumElements()), f.b.getF64Type()))});
}

/// Over an axis, counted from the last, which stays with one element.
Value Adafactor::mean(Value value, int64_t axis) {
  Shape extents(nn::slabOf(value.getType()).getShape());
  auto at = static_cast<int64_t>(extents.size()) - 1 - axis;
  Value count = number(static_cast<double>(extents[at]), element);
  extents[at] = 1;
  return reshape(f.div(sum(value, at), count), extents, element);
}

/// old + (fresh - old) * (1 - beta2), where that is t^-0.8.
Value Adafactor::kept(StringRef name, Value fresh, ArrayRef<int64_t> extents) {
  Value old = slot(name, extents);
  Value result = f.add(old, f.mul(f.sub(fresh, old), f.narrow(f.scalar(ACCUM_HYPER_CORRECTION1))));
  store(result, name);
  return result;
}

SmallVector<Value> Adafactor::moment() {
  if (type.getRank() < 2)
    return {kept("v", square(), shape())};
  Value row = kept("row", mean(square(), 0), without(0)),
        column = kept("column", mean(square(), 1), without(1));
  return {f.div(row, f.map(Fn::max, {mean(row, 1), eps()})), column};
}

Value Adafactor::direction(ArrayRef<Value> moment) {
  Value estimate = moment.size() == 1 ? moment.front() : f.mul(moment.front(), moment.back());
  estimate = f.map(Fn::max, {estimate, f.mul(eps(), eps())});
  return f.mul(f.map(Fn::rsqrt, {estimate}), gradient());
}

void Adafactor::build() {
  Value pair = load<train::LoadDecayOp>(typeOf({2}, f.b.getF64Type()));
  auto entry = [&](int64_t index) {
    Type one = RankedTensorType::get({1}, f.b.getF64Type());
    Value slice =
        f.place(nn::SliceOp::create(f.b, one, pair, ArrayRef<int64_t>(index), ArrayRef<int64_t>(1)));
    return reshape(slice, {}, f.b.getF64Type());
  };
  Value rate = f.mul(f.scalar(ACCUM_HYPER_LR), entry(1));
  Value p = slot("parameter", shape());
  Value least = f.map(Fn::max, {rootMeanSquare(p), number(kLeastNorm, f.b.getF64Type())});
  // correction2 is t^-0.5.
  Value stepSize = f.mul(least, f.map(Fn::min, {rate, f.scalar(ACCUM_HYPER_CORRECTION2)}));
  SmallVector<Value> factors = moment();
  Value excess = f.div(rootMeanSquare(direction(factors)), number(kLargestUpdate, f.b.getF64Type()));
  stepSize = f.div(stepSize, f.map(Fn::max, {excess, f.one()}));
  Value decayed = f.mul(p, f.narrow(f.sub(f.one(), f.mul(rate, entry(0)))));
  Value fresh = f.sub(decayed, f.mul(direction(factors), f.narrow(stepSize)));
  if (keepsAverage)
    store(f.average(slot(runtime::kAverage, shape()), fresh), runtime::kAverage);
  store(fresh, "parameter");
}

} // namespace

std::string expandTensorUpdates(train::PhaseOp phase) {
  std::string name;
  for (auto update : llvm::to_vector(phase.getBlock().getOps<train::UpdateOp>())) {
    const runtime::OptimizerSpec *spec = runtime::findOptimizer(update.getOptimizer().str());
    if (!spec || !spec->isByTensor())
      continue;
    Adafactor(update, spec->keepsAverage).build();
    update.erase();
    name = spec->name;
  }
  return name;
}

} // namespace accum
