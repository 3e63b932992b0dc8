// SPDX-License-Identifier: Apache-2.0
// The optimizers' formulas as one kernel over all parameters.
#include "passes/Fuse/UpdateKernels.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/Placement.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace accum {

namespace {

using Fn = nn::ElementwiseFn;

/// Indices of accum_hyper_slot in accum_program.h.
enum Hyper { lr = 0, beta1 = 1, beta2 = 2, eps = 3, correction1 = 4, correction2 = 5, gradScale = 6 };

/// Elementwise maths on flat tensors; scalars are computed in f64 and rounded once, as the reference formulas
/// do.
struct Formula {
  ImplicitLocOpBuilder b;
  Type element;
  Value hyper;

  Value place(Operation *op) {
    Value value = op->getResult(0);
    value.setType(nn::Placement::replicated().place(value.getType()));
    return value;
  }
  Value map(Fn fn, ValueRange values) { return place(nn::ElementwiseOp::create(b, fn, values)); }
  Value add(Value x, Value y) { return map(Fn::add, {x, y}); }
  Value sub(Value x, Value y) { return map(Fn::sub, {x, y}); }
  Value mul(Value x, Value y) { return map(Fn::mul, {x, y}); }
  Value div(Value x, Value y) { return map(Fn::div, {x, y}); }

  Value scalar(Hyper index) {
    auto one = RankedTensorType::get({1}, b.getF64Type()), none = RankedTensorType::get({}, b.getF64Type());
    Value slice = place(nn::SliceOp::create(b, one, hyper, ArrayRef<int64_t>(index), ArrayRef<int64_t>(1)));
    return place(nn::ReshapeOp::create(b, none, slice));
  }
  Value one() {
    auto type = nn::Placement::replicated().place(RankedTensorType::get({}, b.getF64Type()));
    auto value = DenseElementsAttr::get(nn::slabOf(type), Attribute(b.getF64FloatAttr(1)));
    return nn::ConstantOp::create(b, type, value);
  }
  /// A scalar in the parameter's element type.
  Value narrow(Value wide) {
    return element == b.getF64Type() ? wide : nn::CastOp::create(b, wide, element).getResult();
  }
};

/// x + g * decay: coupled L2.
Value coupledDecay(Formula &f, Value parameter, Value gradient, Value decay) {
  return f.add(gradient, f.mul(parameter, f.narrow(decay)));
}

SmallVector<Value> sgd(Formula &f, Value decay, Value p, Value g, ValueRange slots) {
  g = coupledDecay(f, p, g, decay);
  SmallVector<Value> results;
  if (!slots.empty()) {
    // The first step sets the buffer to g: correction1 is 0 there and 1 later.
    Value keep = f.narrow(f.mul(f.scalar(beta1), f.scalar(correction1)));
    g = f.add(f.mul(slots[0], keep), g);
    results.push_back(g);
  }
  results.insert(results.begin(), f.sub(p, f.mul(g, f.narrow(f.scalar(lr)))));
  return results;
}

SmallVector<Value> adam(Formula &f, Value decay, Value p, Value g, ValueRange slots, bool decoupled) {
  if (decoupled)
    p = f.mul(p, f.narrow(f.sub(f.one(), f.mul(f.scalar(lr), decay))));
  else
    g = coupledDecay(f, p, g, decay);
  // m += (g - m) * (1 - beta1); v = v * beta2 + g * g * (1 - beta2)
  Value m = f.add(slots[0], f.mul(f.sub(g, slots[0]), f.narrow(f.sub(f.one(), f.scalar(beta1)))));
  Value v = f.add(f.mul(slots[1], f.narrow(f.scalar(beta2))),
                  f.mul(f.mul(g, g), f.narrow(f.sub(f.one(), f.scalar(beta2)))));
  Value root = f.map(Fn::sqrt, {v});
  Value denominator = f.add(f.div(root, f.narrow(f.scalar(correction2))), f.narrow(f.scalar(eps)));
  Value stepSize = f.narrow(f.div(f.scalar(lr), f.scalar(correction1)));
  return {f.sub(p, f.mul(stepSize, f.div(m, denominator))), m, v};
}

} // namespace

SmallVector<StringRef> optimizerSlots(StringRef optimizer) {
  if (optimizer == "adam" || optimizer == "adamw")
    return {"m", "v"};
  if (optimizer == "sgd-momentum")
    return {"momentum"};
  return {};
}

/// The parameter that each row belongs to, as i64: a binary search in the table of first rows, which costs a
/// row what a table of all rows would cost memory.
static Value ownersOfRows(Formula &f, ArrayRef<int64_t> starts) {
  auto type = [&](ArrayRef<int64_t> shape) {
    return nn::Placement::replicated().place(RankedTensorType::get(shape, f.b.getI64Type()));
  };
  auto constant = [&](ArrayRef<int64_t> shape, ArrayRef<int64_t> values) -> Value {
    return nn::ConstantOp::create(f.b, type(shape), DenseElementsAttr::get(nn::slabOf(type(shape)), values));
  };
  int64_t rows = starts.back();
  auto column = type({rows, 1});
  Value row = nn::IotaOp::create(f.b, column, 0);
  Value owner = nn::BroadcastOp::create(f.b, column, constant({}, {0}));
  SmallVector<int64_t> table(starts.drop_back());
  table.resize(llvm::PowerOf2Ceil(table.size()), rows); // nobody's
  Value firsts = constant({static_cast<int64_t>(table.size())}, table);
  for (auto half = static_cast<int64_t>(table.size()) / 2; half > 0; half /= 2) {
    Value behind = f.add(owner, constant({}, {half}));
    Value first = f.place(nn::GatherOp::create(f.b, firsts, behind, int64_t(0)));
    owner = f.map(Fn::select, {f.map(Fn::ge, {row, first}), behind, owner});
  }
  return owner;
}

func::FuncOp buildUpdateKernel(StringRef optimizer, ArrayRef<int64_t> starts, Type element) {
  MLIRContext *context = element.getContext();
  Location loc = NameLoc::get(StringAttr::get(context, optimizer));
  nn::Placement replicated = nn::Placement::replicated();
  Type wide = Float64Type::get(context);
  int64_t columns = device::kStateAlignment * 8 / element.getIntOrFloatBitWidth();
  auto count = static_cast<int64_t>(starts.size()) - 1;
  Type rows = replicated.place(RankedTensorType::get({starts.back(), columns}, element));
  size_t slots = optimizerSlots(optimizer).size();
  SmallVector<Type> inputs = {replicated.place(RankedTensorType::get({8}, wide)),
                              replicated.place(RankedTensorType::get({count}, wide))};
  inputs.append(2 + slots, rows);
  SmallVector<Type> results(1 + slots, rows);
  auto kernel = func::FuncOp::create(loc, "update", FunctionType::get(context, inputs, results));
  Block *body = kernel.addEntryBlock();
  ImplicitLocOpBuilder builder(loc, context);
  builder.setInsertionPointToEnd(body);
  Formula f{builder, element, body->getArgument(0)};
  Value decay =
      f.place(nn::GatherOp::create(builder, body->getArgument(1), ownersOfRows(f, starts), int64_t(0)));
  Value p = body->getArgument(2);
  Value g = f.mul(body->getArgument(3), f.narrow(f.scalar(gradScale)));
  ValueRange state = body->getArguments().drop_front(4);
  bool adaptive = optimizer == "adam" || optimizer == "adamw";
  SmallVector<Value> values =
      adaptive ? adam(f, decay, p, g, state, optimizer == "adamw") : sgd(f, decay, p, g, state);
  func::ReturnOp::create(f.b, values);
  kernel->setAttr("accum.update", StringAttr::get(context, optimizer));
  return kernel;
}

} // namespace accum
