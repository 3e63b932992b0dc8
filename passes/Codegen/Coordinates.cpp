// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic on coordinates. Equal questions give the same value, so that elements at equal
// coordinates are found again.
#include "passes/Codegen/Emitter.h"
#include <numeric>

using namespace mlir;

namespace accum::codegen {

Index Emitter::constantIndex(int64_t value) {
  Value &known = constants[{builder.getI64Type().getAsOpaquePointer(), value}];
  if (!known) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(root()->anchor->getBlock());
    known = arith::ConstantIntOp::create(builder, builder.getI64Type(), value);
  }
  return {known, root(), Index::Form::Uniform, value};
}

Element Emitter::lanesOf(Index index) {
  if (index.form == Index::Form::Vector || lanes == 1)
    return {index.value, index.scope};
  Element first = splat({index.value, index.scope});
  if (index.form == Index::Form::Uniform)
    return first;
  SmallVector<int64_t> steps(lanes);
  std::iota(steps.begin(), steps.end(), 0);
  Scope::Key key = {"lanes", index.value.getAsOpaquePointer()};
  if (const Element *known = index.scope->lookup(key))
    return *known;
  Value offsets = arith::ConstantOp::create(in(root()), builder.getI64VectorAttr(steps));
  Value value = arith::AddIOp::create(in(index.scope), first.value, offsets);
  return index.scope->known[key] = {value, index.scope};
}

Index Emitter::arithmetic(StringRef name, Index a, Index b, Index::Form form,
                          function_ref<Value(Value, Value)> build) {
  Element x{a.value, a.scope}, y{b.value, b.scope};
  if (form == Index::Form::Vector) {
    x = lanesOf(a);
    y = lanesOf(b);
  }
  Scope *scope = deeper(x.scope, y.scope);
  Scope::Key key = {name.data(), x.value.getAsOpaquePointer(), y.value.getAsOpaquePointer()};
  if (const Element *known = scope->lookup(key))
    return {known->value, known->scope, form};
  in(scope);
  Value value = build(x.value, y.value);
  scope->known[key] = {value, scope};
  return {value, scope, form};
}

Index Emitter::add(Index a, Index b) {
  if (a.multiple == 0 && a.isUniform())
    return b;
  if (b.multiple == 0 && b.isUniform())
    return a;
  Index::Form form = Index::Form::Vector;
  if (a.isUniform() || b.isUniform())
    form = a.isUniform() ? b.form : a.form;
  Index sum = arithmetic("add", a, b, form,
                         [&](Value x, Value y) { return builder.createOrFold<arith::AddIOp>(x, y); });
  sum.multiple = std::gcd(a.multiple, b.multiple);
  return sum;
}

Index Emitter::mul(Index a, int64_t b) {
  if (b == 1)
    return a;
  if (b == 0)
    return constantIndex(0);
  Index::Form form = a.isUniform() ? Index::Form::Uniform : Index::Form::Vector;
  Index product = arithmetic("mul", a, constantIndex(b), form,
                             [&](Value x, Value y) { return builder.createOrFold<arith::MulIOp>(x, y); });
  product.multiple = a.multiple * b;
  return product;
}

/// Lanes that start at a multiple of the lane count stay within one block of `b` if that is one too.
static bool staysInBlock(Index a, int64_t b, int64_t lanes) {
  return a.form == Index::Form::Lanes && a.multiple % lanes == 0 && b % lanes == 0;
}

Index Emitter::div(Index a, int64_t b) {
  if (b == 1)
    return a;
  bool uniform = a.isUniform() || staysInBlock(a, b, lanes);
  Index::Form form = uniform ? Index::Form::Uniform : Index::Form::Vector;
  return arithmetic("div", a, constantIndex(b), form,
                    [&](Value x, Value y) { return builder.createOrFold<arith::DivUIOp>(x, y); });
}

Index Emitter::rem(Index a, int64_t b) {
  if (b == 1)
    return constantIndex(0);
  Index::Form form = a.isUniform() || staysInBlock(a, b, lanes) ? a.form : Index::Form::Vector;
  Index rest = arithmetic("rem", a, constantIndex(b), form,
                          [&](Value x, Value y) { return builder.createOrFold<arith::RemUIOp>(x, y); });
  rest.multiple = std::gcd(a.multiple, b);
  return rest;
}

Index Emitter::clamp(Index a, int64_t extent) {
  Index::Form form = a.isUniform() ? Index::Form::Uniform : Index::Form::Vector;
  Index low = arithmetic("max", a, constantIndex(0), form,
                         [&](Value x, Value y) { return builder.createOrFold<arith::MaxSIOp>(x, y); });
  return arithmetic("min", low, constantIndex(extent - 1), form,
                    [&](Value x, Value y) { return builder.createOrFold<arith::MinSIOp>(x, y); });
}

Element Emitter::less(Index a, Index b) {
  bool uniform = a.isUniform() && b.isUniform();
  Index condition = arithmetic("less", a, b, uniform ? Index::Form::Uniform : Index::Form::Vector,
                               [&](Value x, Value y) -> Value {
                                 return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, x, y);
                               });
  return {condition.value, condition.scope};
}

Index Emitter::linearize(ArrayRef<Index> at, ArrayRef<int64_t> shape, int64_t pitch) {
  SmallVector<Index> terms;
  int64_t stride = 1;
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1)
      terms.push_back(mul(at[axis], stride));
    bool isRow = pitch != 0 && axis + 1 == static_cast<int64_t>(shape.size());
    stride *= isRow ? pitch : shape[axis];
  }
  // Outermost scopes first, so that each part of the sum is computed as far out as it can be.
  Index sum = constantIndex(0);
  while (!terms.empty()) {
    auto outermost = llvm::min_element(
        terms, [](const Index &a, const Index &b) { return a.scope->depth < b.scope->depth; });
    sum = add(sum, *outermost);
    terms.erase(outermost);
  }
  return sum;
}

SmallVector<Index> Emitter::delinearize(Index position, ArrayRef<int64_t> shape) {
  SmallVector<Index> at(shape.size(), constantIndex(0));
  bool lanesLeft = position.form == Index::Form::Lanes;
  int64_t outer = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
    outer /= shape[axis];
    if (shape[axis] == 1)
      continue;
    if (outer == 1) {
      at[axis] = position;
      break;
    }
    at[axis] = rem(position, shape[axis]);
    position = div(position, shape[axis]);
    // Lanes that do not exist may start outside; what they share must not be read from there.
    if (lanesLeft && position.isUniform())
      position = clamp(position, outer);
    lanesLeft = position.form == Index::Form::Lanes;
  }
  return at;
}

} // namespace accum::codegen
