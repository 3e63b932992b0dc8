// SPDX-License-Identifier: Apache-2.0
// Elements of reductions, scans and contractions: a loop where their coordinates are known. Sums and products
// of floats are carried in f64, so that a long axis loses nothing and the order hardly matters. On a GPU only
// where a thread adds many, and then totals of many: cards for graphics have a 64th of the rate for f64.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Codegen/Part.h"
#include "llvm/Support/SaveAndRestore.h"
#include <numeric>

using namespace mlir;

namespace accum::codegen {
namespace {

/// Terms that a GPU's thread adds in f32. With the tree above, a sum of f32 is then off by 16e-6 of the sum
/// of its terms' magnitudes at the very worst, (256 + 9) * 2^-24, and by some 5e-7 as errors go.
constexpr int64_t kFewTerms = 256;

/// Rows that a processor asks for in advance where it adds columns: they lie too far apart for it to guess.
/// Two thirds of the time, measured at 256 and 1,024 columns of 4,160 rows of f32; 16 rows do the same.
constexpr int64_t kRowsAhead = 8;

/// How two elements of one reduction become one.
struct Combiner {
  nn::ReduceKind kind;
  Type type; ///< scalar type of the carried value

  /// `narrow`: carried in the type that is computed with.
  static Combiner of(nn::ReduceKind kind, Type element, bool narrow = false) {
    Type type = computeType(element);
    bool exact = kind == nn::ReduceKind::max || kind == nn::ReduceKind::min;
    if (isa<FloatType>(type) && !exact && !narrow)
      type = Float64Type::get(type.getContext());
    return {kind, type};
  }

  TypedAttr identity() const {
    OpBuilder builder(type.getContext());
    bool sum = kind == nn::ReduceKind::sum, largest = kind == nn::ReduceKind::min;
    if (isa<FloatType>(type)) {
      double infinity = std::numeric_limits<double>::infinity();
      bool extreme = largest || kind == nn::ReduceKind::max;
      return builder.getFloatAttr(type, extreme ? (largest ? infinity : -infinity) : (sum ? 0.0 : 1.0));
    }
    unsigned bits = type.getIntOrFloatBitWidth();
    switch (kind) {
    case nn::ReduceKind::sum:
      return builder.getIntegerAttr(type, APInt(bits, 0));
    case nn::ReduceKind::prod:
      return builder.getIntegerAttr(type, APInt(bits, 1));
    case nn::ReduceKind::max:
      return builder.getIntegerAttr(type, bits == 1 ? APInt(1, 0) : APInt::getSignedMinValue(bits));
    case nn::ReduceKind::min:
      return builder.getIntegerAttr(type, bits == 1 ? APInt(1, 1) : APInt::getSignedMaxValue(bits));
    }
    llvm_unreachable("reduction kind");
  }

  Value combine(ImplicitLocOpBuilder &builder, Value a, Value b) const {
    switch (kind) {
    case nn::ReduceKind::sum:
      return applyFunction(builder, nn::ElementwiseFn::add, {a, b});
    case nn::ReduceKind::prod:
      return applyFunction(builder, nn::ElementwiseFn::mul, {a, b});
    case nn::ReduceKind::max:
      return applyFunction(builder, nn::ElementwiseFn::max, {a, b});
    case nn::ReduceKind::min:
      return applyFunction(builder, nn::ElementwiseFn::min, {a, b});
    }
    llvm_unreachable("reduction kind");
  }

  /// One number of all lanes: halves onto halves.
  Value across(ImplicitLocOpBuilder &builder, Value lanes) const {
    auto vector = dyn_cast<VectorType>(lanes.getType());
    if (!vector)
      return lanes;
    for (int64_t half = vector.getNumElements() / 2; half > 0; half /= 2) {
      auto low = llvm::to_vector(llvm::seq<int64_t>(0, half)),
           high = llvm::to_vector(llvm::seq(half, 2 * half));
      Value first = vector::ShuffleOp::create(builder, lanes, lanes, low);
      lanes = combine(builder, first, vector::ShuffleOp::create(builder, lanes, lanes, high));
    }
    return vector::ExtractOp::create(builder, lanes, 0);
  }
};

bool allUniform(ArrayRef<Index> at) {
  return llvm::all_of(at, [](const Index &index) { return index.isUniform(); });
}

/// Elements between neighbours along `axis`.
int64_t strideOf(RankedTensorType type, int64_t axis) {
  ArrayRef<int64_t> inner = type.getShape().drop_front(axis + 1);
  return std::accumulate(inner.begin(), inner.end(), int64_t(1), std::multiplies<>());
}

Scope *scopeOf(ArrayRef<Index> at, Scope *scope) {
  for (const Index &index : at)
    scope = deeper(scope, index.scope);
  return scope;
}

} // namespace

/// Folds `term` over `extents` in `scope` and gives one element of type `to`.
Element Emitter::accumulate(Scope *scope, nn::ReduceKind kind, Type to, ArrayRef<int64_t> extents,
                            Along along, const Term &term) {
  int64_t terms = std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  Combiner wide = Combiner::of(kind, to), combiner = wide;
  bool chunks = false;
  if (isShared(scope)) {
    Combiner narrow = Combiner::of(kind, to, /*narrow=*/true);
    bool few = terms <= kFewTerms * team->size;
    chunks = !few && kind == nn::ReduceKind::sum && narrow.type != wide.type;
    if (few || chunks)
      combiner = narrow;
  }
  Element identity = constant(combiner.identity());
  // A team's rows have no masked ends.
  bool vectorLast = along.vectorLast && (!isShared(scope) || extents.back() % lanes == 0 || along.anyWidth);
  bool perLane = along.perLane, vectors = lanes > 1 && (vectorLast || perLane);
  Value initial = vectors ? splat(identity).value : identity.value;
  auto step = [&](Scope *inner, ArrayRef<Index> at, Mask mask, ValueRange carried) -> Values {
    Element value = convert(term(at, mask), to, combiner.type);
    if (isa<VectorType>(carried[0].getType()))
      value = splat(value);
    if (mask)
      value = select({mask.value, mask.scope}, value, identity);
    return {combiner.combine(in(inner), carried[0], value.value)};
  };
  if (isShared(scope)) {
    auto combine = [&](Value a, Value b) { return combiner.combine(builder, a, b); };
    auto across = [&](Value lanesOfOwn) { return combiner.across(in(scope), lanesOfOwn); };
    Totals totals;
    if (chunks) {
      Element zero = constant(wide.identity());
      totals = {vectors ? splat(zero).value : zero.value, [&](Scope *inner, Value total, Value part) {
                  Value term = convert({part, inner}, combiner.type, wide.type).value;
                  return wide.combine(in(inner), total, term);
                }};
    }
    bool alongTerms = vectors && !perLane;
    Value own;
    if (scope->ownColumns && extents == ArrayRef(team->size * lanes))
      own = across(step(scope->ownColumns, ownColumns(scope), {}, initial)[0]);
    else if (alongTerms && extents.size() == 1)
      own = foldLanesTogether(scope, terms, initial, step, totals, across);
    else
      own = foldTogether(scope, extents, alongTerms ? lanes : 1, initial, step, totals);
    if (alongTerms && extents.size() > 1)
      own = across(own);
    return convert({team->combine(in(scope), own, combine), scope}, chunks ? wide.type : combiner.type, to);
  }
  Value last = fold(scope, extents, vectorLast && !perLane, initial, step)[0];
  if (vectors && !perLane)
    last = combiner.across(in(scope), last);
  return convert({last, scope}, combiner.type, to);
}

Element Emitter::reduce(nn::ReduceOp op, ArrayRef<Index> at, Mask mask) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<int64_t> axes(op.getAxes()), extents;
  llvm::sort(axes);
  SmallVector<Index> source(type.getRank());
  auto next = at.begin();
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (llvm::is_contained(axes, axis))
      extents.push_back(type.getDimSize(axis));
    else
      source[axis] = *next++;
  }
  bool perLane = !allUniform(at);
  bool vectorLast = !axes.empty() && axes.back() + 1 == type.getRank() && extents.back() > 1;
  bool anyWidth = vectorLast && axes.size() == 1 && readsPadded(op.getInput(), extents.back());
  Scope *scope = scopeOf(at, mask ? mask.scope : root());
  bool isColumns = perLane && lanes > 1 && !team && !axes.empty();
  llvm::SaveAndRestore inAdvance(ahead, isColumns ? kRowsAhead * strideOf(type, axes.back()) : 0);
  std::vector<std::pair<Value, Buffer>> kept;
  if (vectorLast && !perLane && lanes > 1 && !team && axes.size() == 1)
    for (Value value : rowsWorthKeeping(op.getInput()))
      kept.push_back({value, allocateRow(value)});
  Element result = accumulate(scope, op.getKind(), type.getElementType(), extents,
                              {vectorLast, perLane, anyWidth}, [&](ArrayRef<Index> folded, Mask tail) {
                                for (auto [axis, index] : llvm::zip_equal(axes, folded))
                                  source[axis] = index;
                                for (const auto &[value, buffer] : kept) {
                                  Element one = element(value, source, tail);
                                  store(buffer, folded, tail, one, deeper(one.scope, folded[0].scope));
                                }
                                return element(op.getInput(), source, perLane ? mask : tail);
                              });
  for (const auto &[value, buffer] : kept)
    keepRow(value, source, scope, buffer);
  return result;
}

Element Emitter::contract(nn::ContractOp op, ArrayRef<Index> at, Mask mask) {
  StringRef lhs = op.lhsLetters(), rhs = op.rhsLetters(), result = op.resultLetters();
  llvm::SmallMapVector<char, Index, 8> where;
  for (auto [letter, index] : llvm::zip_equal(result, at))
    where[letter] = index;
  SmallVector<char> folded;
  SmallVector<int64_t> extents;
  auto type = cast<RankedTensorType>(op.getLhs().getType());
  for (auto [axis, letter] : llvm::enumerate(lhs))
    if (!result.contains(letter)) {
      folded.push_back(letter);
      extents.push_back(type.getDimSize(axis));
    }
  bool perLane = !allUniform(at);
  bool vectorLast = !folded.empty() && lhs.back() == folded.back() && rhs.back() == folded.back();
  Scope *scope = scopeOf(at, mask ? mask.scope : root());
  // Products are exact in f64 where the operands are f32.
  Type product = Combiner::of(nn::ReduceKind::sum, type.getElementType()).type;
  auto operand = [&](Value value, StringRef letters, Mask lanesThatExist) {
    SmallVector<Index> source = llvm::map_to_vector(letters, [&](char letter) { return where[letter]; });
    return convert(element(value, source, lanesThatExist), type.getElementType(), product);
  };
  return convert(accumulate(scope, nn::ReduceKind::sum, product, extents, {vectorLast, perLane},
                            [&](ArrayRef<Index> indices, Mask tail) {
                              for (auto [letter, index] : llvm::zip_equal(folded, indices))
                                where[letter] = index;
                              Mask exist = perLane ? mask : tail;
                              Element factors[] = {operand(op.getLhs(), lhs, exist),
                                                   operand(op.getRhs(), rhs, exist)};
                              Scope *inner = unify(factors);
                              return Element{applyFunction(in(inner), nn::ElementwiseFn::mul,
                                                           {factors[0].value, factors[1].value}),
                                             inner};
                            }),
                 product, type.getElementType());
}

Element Emitter::cumSum(nn::CumSumOp op, ArrayRef<Index> at, Mask mask) {
  // The element alone: all of the axis, what does not count replaced by zero. A kernel whose result is a
  // running sum is written as one (Roots.cpp).
  auto type = cast<RankedTensorType>(op.getInput().getType());
  int64_t axis = op.getAxis();
  bool perLane = !allUniform(at);
  bool vectorLast = axis + 1 == type.getRank() && type.getDimSize(axis) > 1;
  Type computed = computeType(type.getElementType()), wide = builder.getF64Type();
  SmallVector<Index> source(at);
  Scope *scope = scopeOf(at, mask ? mask.scope : root());
  auto overThose = [&](nn::ReduceKind kind, Type to, Element other,
                       llvm::function_ref<Element(Element)> term) {
    return accumulate(scope, kind, to, {type.getDimSize(axis)}, {vectorLast, perLane},
                      [&](ArrayRef<Index> folded, Mask tail) {
                        Index here = at[axis], from = source[axis] = folded[0];
                        if (op.getReverse())
                          std::swap(here, from);
                        Element counts = less(from, op.getExclusive() ? here : add(here, 1));
                        Element value = element(op.getInput(), source, perLane ? mask : tail);
                        return select(counts, term(value), other);
                      });
  };
  auto itself = [](Element value) { return value; };
  if (!op.getLog())
    return overThose(nn::ReduceKind::sum, type.getElementType(), constant(computed, 0), itself);
  auto apply = [&](nn::ElementwiseFn fn, Element a, Element b) -> Element {
    Element both[] = {a, b};
    Scope *inner = unify(both);
    return {applyFunction(in(inner), fn, {both[0].value, both[1].value}), inner};
  };
  Element top = overThose(nn::ReduceKind::max, type.getElementType(),
                          constant(computed, std::numeric_limits<float>::lowest()), itself);
  // As in CumSumPart: at least one, that of the largest term.
  Element sum = overThose(nn::ReduceKind::sum, wide, constant(wide, 0), [&](Element value) -> Element {
    Element rest = select(apply(nn::ElementwiseFn::eq, value, top), constant(computed, 0),
                          apply(nn::ElementwiseFn::sub, value, top));
    Element power{applyFunction(in(rest.scope), nn::ElementwiseFn::exp, {rest.value}), rest.scope};
    return convert(power, type.getElementType(), wide);
  });
  Element more = convert(apply(nn::ElementwiseFn::sub, sum, constant(wide, 1)), wide, type.getElementType());
  Element log{applyFunction(in(more.scope), nn::ElementwiseFn::log1p, {more.value}), more.scope};
  return apply(nn::ElementwiseFn::add, top, log);
}

/// The first of equals wins, and NaN wins over everything.
Element Emitter::argReduce(nn::ArgReduceOp op, ArrayRef<Index> at, Mask mask) {
  auto type = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<Index> source(at);
  source.insert(source.begin() + op.getAxis(), Index());
  bool perLane = !allUniform(at), isFloat = isa<FloatType>(type.getElementType());
  Combiner combiner = Combiner::of(op.getKind(), type.getElementType());
  auto better = op.getKind() == nn::ReduceKind::max ? nn::ElementwiseFn::gt : nn::ElementwiseFn::lt;
  auto start = [&](Element value) { return perLane ? splat(value).value : value.value; };
  Value initial[] = {start(constant(combiner.identity())), start({integer(0), root()})};
  auto step = [&](Scope *inner, ArrayRef<Index> folded, Mask, ValueRange carried) -> Values {
    source[op.getAxis()] = folded[0];
    Element value = element(op.getInput(), source, mask), position{folded[0].value, folded[0].scope};
    if (perLane) {
      value = splat(value);
      position = splat(position);
    }
    Value wins = applyFunction(in(inner), better, {value.value, carried[0]});
    if (isFloat) {
      Value isNaN = applyFunction(builder, nn::ElementwiseFn::is_nan, {value.value});
      Value bestIsNot = arith::CmpFOp::create(builder, arith::CmpFPredicate::ORD, carried[0], carried[0]);
      wins = arith::OrIOp::create(builder, wins, arith::AndIOp::create(builder, isNaN, bestIsNot));
    }
    return {arith::SelectOp::create(builder, wins, value.value, carried[0]),
            arith::SelectOp::create(builder, wins, position.value, carried[1])};
  };
  Scope *scope = scopeOf(at, mask ? mask.scope : root());
  return {fold(scope, {type.getDimSize(op.getAxis())}, false, initial, step)[1], scope};
}

} // namespace accum::codegen
