// SPDX-License-Identifier: Apache-2.0
// Loops and scopes, and what keeps elements of different forms together.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Codegen/Emitter.h"
#include <numeric>

using namespace mlir;

namespace accum::codegen {

Emitter::Emitter(Operation *end, int64_t lanes) : builder(end->getLoc(), end), lanes(lanes) {
  scopes.push_back({nullptr, end, 0, false, {}, nullptr});
}

Emitter::Emitter(Operation *end, Team &team, int64_t lanes) : Emitter(end, lanes) { this->team = &team; }

ImplicitLocOpBuilder &Emitter::in(Scope *scope) {
  builder.setInsertionPoint(scope->anchor);
  return builder;
}

Emitter::Values Emitter::threadLoop(Scope *scope, Value lower, Value upper, int64_t step, ValueRange initial,
                                    const Body &body) {
  return loop(scope, lower, upper, step, initial, [&](Scope *inner, Value induction, ValueRange carried) {
    inner->perThread = true;
    return body(inner, induction, carried);
  });
}

Emitter::Values Emitter::shareLoop(Scope *scope, Value lower, Value upper, int64_t width, ValueRange initial,
                                   const Body &body) {
  Index own = mul(uniform(team->rank, root()), width);
  Value first = in(scope).createOrFold<arith::AddIOp>(lower, own.value);
  return threadLoop(scope, first, upper, team->size * width, initial, body);
}

Emitter::Values Emitter::loop(Scope *scope, Value lower, Value upper, int64_t step, ValueRange initial,
                              const Body &body) {
  Value stride = integer(step);
  auto loop = scf::ForOp::create(in(scope), lower, upper, stride, initial);
  Block *block = loop.getBody();
  Operation *yield = block->empty() ? nullptr : block->getTerminator();
  if (!yield) {
    builder.setInsertionPointToEnd(block);
    yield = scf::YieldOp::create(builder, loop.getRegionIterArgs());
  }
  Scope *inner = &scopes.emplace_back(Scope{scope, yield, scope->depth + 1, scope->perThread, {}, nullptr});
  Operation *outerAnchor = std::exchange(scope->anchor, loop.getOperation());
  Values results = body(inner, loop.getInductionVar(), loop.getRegionIterArgs());
  yield->setOperands(results);
  scope->anchor = outerAnchor;
  return Values(loop.getResults());
}

/// The first `count` of the lanes.
static Value firstLanes(ImplicitLocOpBuilder &builder, int64_t lanes, int64_t count) {
  SmallVector<bool> exist(lanes, false);
  std::fill_n(exist.begin(), count, true);
  auto type = VectorType::get({lanes}, builder.getI1Type());
  return arith::ConstantOp::create(builder, DenseElementsAttr::get(type, ArrayRef<bool>(exist)));
}

Emitter::Values Emitter::fold(Scope *scope, ArrayRef<int64_t> extents, bool vectorLast, ValueRange initial,
                              const Step &step) {
  SmallVector<Index> at;
  std::function<Values(Scope *, ValueRange)> nest = [&](Scope *outer, ValueRange carried) -> Values {
    int64_t axis = at.size();
    if (axis == static_cast<int64_t>(extents.size()))
      return step(outer, at, {}, carried);
    int64_t extent = extents[axis];
    bool vector = vectorLast && lanes > 1 && axis + 1 == static_cast<int64_t>(extents.size());
    int64_t width = vector ? lanes : 1, whole = extent - extent % width;
    Values values = llvm::to_vector(carried);
    if (whole > 0)
      values = loop(outer, integer(0), integer(whole), width, values,
                    [&](Scope *inner, Value induction, ValueRange now) {
                      Index::Form form = vector ? Index::Form::Lanes : Index::Form::Uniform;
                      at.push_back({induction, inner, form, width});
                      Values next = vector ? step(inner, at, {}, now) : nest(inner, now);
                      at.pop_back();
                      return next;
                    });
    if (whole == extent)
      return values;
    Mask mask{firstLanes(in(root()), lanes, extent - whole), root()};
    at.push_back({integer(whole), root(), Index::Form::Lanes, whole});
    values = step(outer, at, mask, values);
    at.pop_back();
    return values;
  };
  return nest(scope, initial);
}

/// Terms of a thread that are added up before the total is: f64 then has an eighth of the work, and terms
/// that are all the same, whose errors add up, are off by 1e-7.
constexpr int64_t kChunk = 8;

/// The team's threads fold every size-th term each (or `width` neighbours), over all extents as one; returns
/// what this thread has.
Value Emitter::foldTogether(Scope *scope, ArrayRef<int64_t> extents, int64_t width, Value identity,
                            const Step &step, const Totals &totals) {
  int64_t terms = std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
  int64_t round = team->size * width, whole = terms - terms % round;
  Index::Form form = width > 1 ? Index::Form::Lanes : Index::Form::Uniform;
  auto one = [&](Scope *inner, Value term, ValueRange carried) {
    SmallVector<Index> at = delinearize({term, inner, form, width}, extents);
    return step(inner, at, {}, carried);
  };
  Value own = mul(uniform(team->rank, root()), width).value;
  // The rounds in which everybody has a term have a constant number: they can be unrolled.
  auto rounds = [&](Scope *outer, Value from, Value to, const Values &value) {
    return loop(outer, from, to, round, value, [&](Scope *inner, Value start, ValueRange carried) {
      inner->perThread = true;
      return one(inner, in(inner).createOrFold<arith::AddIOp>(start, own), carried);
    });
  };
  int64_t inChunks = totals.add ? whole - whole % (kChunk * round) : 0;
  Value total = totals.identity;
  if (inChunks > 0)
    total = loop(scope, integer(0), integer(inChunks), kChunk * round, {total},
                 [&](Scope *outer, Value from, ValueRange carried) -> Values {
                   outer->perThread = true;
                   Value to = in(outer).createOrFold<arith::AddIOp>(from, integer(kChunk * round));
                   return {totals.add(outer, carried[0], rounds(outer, from, to, {identity})[0])};
                 })[0];
  Values value = {identity};
  if (inChunks < whole)
    value = rounds(scope, integer(inChunks), integer(whole), value);
  if (whole < terms)
    value = shareLoop(scope, integer(whole), integer(terms), width, value, one);
  return totals.add ? totals.add(scope, total, value[0]) : value[0];
}

Value Emitter::foldLanesTogether(Scope *scope, int64_t terms, Value identity, const Step &step,
                                 const Totals &totals, function_ref<Value(Value)> across) {
  int64_t whole = terms - terms % lanes;
  Value own = across(foldTogether(scope, {whole}, lanes, identity, step, totals));
  if (whole == terms)
    return own;
  Value initial = totals.add ? vector::ExtractOp::create(in(scope), identity, 0).getResult() : own;
  Value rest = shareLoop(scope, integer(whole), integer(terms), 1, initial,
                         [&](Scope *inner, Value term, ValueRange carried) {
                           return step(inner, {Index{term, inner}}, {}, carried);
                         })[0];
  return totals.add ? totals.add(scope, own, rest) : rest;
}

Index Emitter::ownColumns(Scope *scope) {
  Index own = mul(uniform(team->rank, root()), lanes);
  if (!scope->ownColumns)
    scope->ownColumns =
        &scopes.emplace_back(Scope{scope, scope->anchor, scope->depth + 1, true, {}, nullptr});
  return {own.value, scope->ownColumns, lanes > 1 ? Index::Form::Lanes : Index::Form::Uniform, lanes};
}

/// Numbers that a thread looks at between two meetings of its block: their loads are under way together.
constexpr int64_t kLooks = 16;

void Emitter::forEachFound(Scope *scope, int64_t count, function_ref<Element(Scope *, Index)> holds,
                           function_ref<void(Scope *, Value)> body) {
  Type word = builder.getI32Type();
  int64_t looks = std::min<int64_t>(kLooks, llvm::divideCeil(count, team->size)), round = looks * team->size;
  auto add = [&](Scope *at, Value a, Value b) { return in(at).createOrFold<arith::AddIOp>(a, b); };
  loop(scope, integer(0), integer(count), round, {}, [&](Scope *inner, Value first, ValueRange) -> Values {
    Value own, start = add(inner, first, team->rank); // a bit for each look
    for (int64_t look = 0; look < looks; ++look) {
      Value number = add(inner, start, integer(look * team->size)), exists;
      if (count % round != 0) {
        exists = arith::CmpIOp::create(in(inner), arith::CmpIPredicate::ult, number, integer(count));
        number = in(inner).createOrFold<arith::MinUIOp>(number, integer(count - 1));
      }
      Value isFound = holds(inner, {number, inner}).value;
      if (exists)
        isFound = arith::AndIOp::create(in(inner), isFound, exists);
      Value bit = arith::ExtUIOp::create(in(inner), word, isFound);
      Value place = arith::ConstantIntOp::create(builder, word, look);
      bit = builder.createOrFold<arith::ShLIOp>(bit, place);
      own = own ? builder.createOrFold<arith::OrIOp>(own, bit) : bit;
    }
    Value found = team->list(in(inner), own, looks, [&](Value look) -> Value {
      Value ahead = arith::MulIOp::create(builder, look, integer(team->size));
      return arith::TruncIOp::create(builder, word, builder.createOrFold<arith::AddIOp>(start, ahead));
    });
    body(inner, found);
    team->giveUpList(in(inner));
    return {};
  });
}

/// What is left behind the last whole vector of [lower, upper), where that is known.
static int64_t restOf(Value lower, Value upper, int64_t lanes) {
  APInt first, end;
  bool isKnown = matchPattern(lower, m_ConstantInt(&first)) && matchPattern(upper, m_ConstantInt(&end));
  return isKnown ? (end - first).getSExtValue() % lanes : 0;
}

void Emitter::shareLanes(Scope *scope, Value lower, Value upper, const LaneBody &body) {
  auto share = [&](Value from, Value to, int64_t width) {
    Index::Form form = width > 1 ? Index::Form::Lanes : Index::Form::Uniform;
    shareLoop(scope, from, to, width, {}, [&](Scope *inner, Value first, ValueRange) {
      body(inner, {first, inner, form, width}, {});
      return Values();
    });
  };
  Value whole = upper;
  if (int64_t rest = restOf(lower, upper, lanes))
    whole = in(scope).createOrFold<arith::SubIOp>(upper, integer(rest));
  share(lower, whole, lanes);
  if (whole != upper)
    share(whole, upper, 1);
}

void Emitter::lanesLoop(Scope *scope, Value lower, Value upper, const LaneBody &body) {
  auto round = [&](Scope *inner, Value first, Mask mask) {
    body(inner, {first, inner, lanes > 1 ? Index::Form::Lanes : Index::Form::Uniform, lanes}, mask);
    return Values();
  };
  if (isShared(scope))
    return shareLanes(scope, lower, upper, body);
  if (lanes == 1) {
    loop(scope, lower, upper, 1, {},
         [&](Scope *inner, Value first, ValueRange) { return round(inner, first, {}); });
    return;
  }
  Value width = integer(lanes);
  Value size = in(scope).createOrFold<arith::SubIOp>(upper, lower);
  Value vectors = builder.createOrFold<arith::DivUIOp>(size, width);
  Value whole =
      builder.createOrFold<arith::AddIOp>(builder.createOrFold<arith::MulIOp>(vectors, width), lower);
  APInt wholeEnd, end;
  bool constant = matchPattern(whole, m_ConstantInt(&wholeEnd)) && matchPattern(upper, m_ConstantInt(&end));
  if (!constant || wholeEnd.getSExtValue() > 0)
    loop(scope, lower, whole, lanes, {},
         [&](Scope *inner, Value first, ValueRange) { return round(inner, first, {}); });
  if (constant && wholeEnd == end)
    return;
  loop(scope, whole, upper, lanes, {}, [&](Scope *inner, Value first, ValueRange) {
    Element exists = less({first, inner, Index::Form::Lanes}, uniform(upper, scope));
    return round(inner, first, {exists.value, inner});
  });
}

Element Emitter::splat(Element element) {
  if (lanes == 1 || isa<VectorType>(element.value.getType()))
    return element;
  Scope::Key key = {"splat", element.value.getAsOpaquePointer()};
  if (const Element *known = element.scope->lookup(key))
    return *known;
  Value value =
      vector::BroadcastOp::create(in(element.scope), vectorOf(element.value.getType()), element.value);
  return element.scope->known[key] = {value, element.scope};
}

Scope *Emitter::unify(MutableArrayRef<Element> elements) {
  bool vector = llvm::any_of(elements, [](const Element &e) { return isa<VectorType>(e.value.getType()); });
  Scope *scope = root();
  for (Element &element : elements) {
    if (vector)
      element = splat(element);
    scope = deeper(scope, element.scope);
  }
  return scope;
}

Element Emitter::select(Element condition, Element yes, Element no) {
  Element values[] = {yes, no};
  if (isa<VectorType>(condition.value.getType())) {
    values[0] = splat(yes);
    values[1] = splat(no);
  }
  Scope *scope = deeper(condition.scope, unify(values));
  return {in(scope).createOrFold<arith::SelectOp>(condition.value, values[0].value, values[1].value), scope};
}

Element Emitter::both(Element a, Element b) {
  Element values[] = {a, b};
  Scope *scope = unify(values);
  return {in(scope).createOrFold<arith::AndIOp>(values[0].value, values[1].value), scope};
}

Mask Emitter::masked(Mask mask, Element condition) {
  if (!isa<VectorType>(condition.value.getType()))
    return mask;
  if (mask)
    condition = both({mask.value, mask.scope}, condition);
  return {condition.value, condition.scope};
}

Element Emitter::constant(TypedAttr value) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(root()->anchor->getBlock());
  return {arith::ConstantOp::create(builder, value), root()};
}

Element Emitter::constant(Type type, double value) {
  return constant(isa<FloatType>(type)
                      ? TypedAttr(builder.getFloatAttr(type, value))
                      : TypedAttr(builder.getIntegerAttr(type, static_cast<int64_t>(value))));
}

} // namespace accum::codegen
