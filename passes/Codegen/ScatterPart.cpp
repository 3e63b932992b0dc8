// SPDX-License-Identifier: Apache-2.0
// Parts that add updates at indices. A row owns a slice of the result, zeroes it and goes through all updates
// in order, so that updates of one element never race and are always added in the same order.
#include "passes/Codegen/Part.h"

using namespace mlir;

namespace accum::codegen {
namespace {

/// The end of the zeroing loop [begin, end): nothing is zeroed where the result is added to.
Value zeroedEnd(Emitter &emitter, const Root &root, Scope *scope, Value begin, Value end) {
  if (!root.adds)
    return end;
  return emitter.select({root.first, emitter.root()}, {end, scope}, {begin, scope}).value;
}

Element zeroOf(Emitter &emitter, const Root &root) {
  return emitter.constant(computeType(root.type().getElementType()), 0);
}

/// [begin, end) of an axis.
struct Range {
  Value begin, end;
};

/// result[b..., l..., indices[b..., i...], t...] += updates[b..., l..., i..., t...]: a row is one (b, l,
/// outer t) and a block of the scattered axis, where that is long (a vocabulary), else a block of the last t.
/// Every row goes through all indices of its b; a GPU's block looks at many at once for its own.
class ScatterPart : public Part {
public:
  ScatterPart(const Root &root, nn::ScatterAddOp op, Machine machine) : root(root), op(op) {
    ArrayRef<int64_t> shape = root.type().getShape();
    int64_t axis = op.getAxis();
    llvm::append_range(outer, shape.take_front(axis));
    leading = outer.size();
    targets = shape[axis];
    ArrayRef<int64_t> tail = shape.drop_front(axis + 1);
    if (!tail.empty()) {
      llvm::append_range(outer, tail.drop_back());
      columns = tail.back();
    }
    gpu = machine.gpu;
    byTargets = targets >= (gpu ? kTeamTargets : kManyTargets);
    int64_t most = gpu ? (byTargets ? kBlocks : kWarps) : kRows, cut = gpu ? kTeamColumns : kColumns;
    int64_t wanted = std::clamp<int64_t>(most / std::max<int64_t>(product(outer), 1), 1, most);
    if (byTargets)
      block = llvm::divideCeil(targets, wanted);
    else
      block = llvm::alignTo(llvm::divideCeil(columns, wanted), cut);
  }

  int64_t rows() const override { return product(outer) * blocks(); }
  int64_t lanes(int64_t machine) const override {
    return std::min<int64_t>(machine, llvm::PowerOf2Ceil(columns));
  }

  /// A team owns a row's slice, and each of its threads some of the columns.
  Spread spread() const override { return {byTargets ? Spread::Block : Spread::Warp, rows()}; }

  /// Where a team has columns enough for that.
  int64_t threadLanes() const override {
    int64_t lanes = sideLanes({root}, columns);
    return columns >= lanes * kTeamColumns && (byTargets || block % (lanes * kTeamColumns) == 0) ? lanes : 1;
  }

  void emitRow(Emitter &emitter, Scope *scope, Index row) const override {
    SmallVector<Index> at = emitter.delinearize(emitter.div(row, blocks()), outer);
    Range lines{emitter.integer(0), emitter.integer(targets)},
        across{emitter.integer(0), emitter.integer(columns)};
    if (blocks() > 1) {
      Range &cut = byTargets ? lines : across;
      Index first = emitter.mul(emitter.rem(row, blocks()), block);
      cut.begin = first.value;
      cut.end = arith::MinSIOp::create(emitter.in(scope), emitter.add(first, block).value, cut.end);
    }
    emitZeros(emitter, scope, at, lines, across);
    emitUpdates(emitter, scope, at, lines, across);
  }

private:
  static constexpr int64_t kRows = 32;          ///< pieces of work to aim at
  static constexpr int64_t kWarps = 4096;       ///< the same on a GPU
  static constexpr int64_t kBlocks = 384;       ///< where a block looks through all indices
  static constexpr int64_t kTogether = 6;       ///< updates that a thread loads at once
  static constexpr int64_t kTeamColumns = 32;   ///< one per thread of a warp
  static constexpr int64_t kColumns = 64;       ///< multiple of every vector width and of a cache line
  static constexpr int64_t kManyTargets = 1024; ///< so many make even shares, whatever the indices
  static constexpr int64_t kTeamTargets = 9;    ///< fewer are sums over columns (accum-sum-few-targets)

  int64_t blocks() const { return llvm::divideCeil(byTargets ? targets : columns, block); }
  bool hasColumns() const { return root.type().getRank() > static_cast<int64_t>(op.getAxis()) + 1; }

  /// Coordinates of the result, or of the updates.
  SmallVector<Index> place(ArrayRef<Index> at, ArrayRef<Index> middle, Index column) const {
    SmallVector<Index> where(at.take_front(leading));
    llvm::append_range(where, middle);
    llvm::append_range(where, at.drop_front(leading));
    if (hasColumns())
      where.push_back(column);
    return where;
  }

  void emitZeros(Emitter &emitter, Scope *scope, ArrayRef<Index> at, Range lines, Range across) const {
    Value end = zeroedEnd(emitter, root, scope, lines.begin, lines.end);
    emitter.loop(scope, lines.begin, end, 1, {}, [&](Scope *inner, Value target, ValueRange) {
      emitter.lanesLoop(inner, across.begin, across.end, [&](Scope *lane, Index column, Mask mask) {
        auto where = place(at, emitter.uniform(target, inner), column);
        emitter.store(root.buffer(), where, mask, zeroOf(emitter, root), lane);
      });
      return Emitter::Values();
    });
  }

  void emitUpdates(Emitter &emitter, Scope *scope, ArrayRef<Index> at, Range lines, Range across) const {
    ArrayRef<int64_t> dims = cast<RankedTensorType>(op.getIndices().getType()).getShape();
    dims = dims.drop_front(op.getBatchDims());
    auto isOwn = [&](Scope *inner, ArrayRef<Index> picked) {
      return isOwnIndex(emitter, inner, indexAt(emitter, at, picked), lines);
    };
    if (gpu && byTargets) {
      auto isFound = [&](Scope *inner, Index number) {
        return isOwn(inner, emitter.delinearize(number, dims));
      };
      emitter.forEachFound(scope, product(dims), isFound, [&](Scope *inner, Value found) {
        emitter.lanesLoop(inner, across.begin, across.end, [&](Scope *lane, Index column, Mask) {
          addFound(emitter, lane, at, dims, found, column);
        });
      });
      return;
    }
    auto add = [&](Scope *inner, ArrayRef<Index> picked, Mask, ValueRange) {
      Index target = targetAt(emitter, at, picked);
      Value times = emitter.integer(1);
      if (byTargets) {
        Value owns = isOwn(inner, picked).value;
        times = arith::ExtUIOp::create(emitter.in(inner), emitter.in(inner).getI64Type(), owns);
      }
      emitter.loop(inner, emitter.integer(0), times, 1, {}, [&](Scope *once, Value, ValueRange) {
        addUpdate(emitter, once, at, picked, target, across);
        return Emitter::Values();
      });
      return Emitter::Values();
    };
    emitter.fold(scope, dims, false, {}, add);
  }

  Element indexAt(Emitter &emitter, ArrayRef<Index> at, ArrayRef<Index> picked) const {
    SmallVector<Index> where(at.take_front(op.getBatchDims()));
    llvm::append_range(where, picked);
    return emitter.element(op.getIndices(), where, {});
  }

  Index targetAt(Emitter &emitter, ArrayRef<Index> at, ArrayRef<Index> picked) const {
    return emitter.indexFrom(indexAt(emitter, at, picked), targets);
  }

  void addUpdate(Emitter &emitter, Scope *scope, ArrayRef<Index> at, ArrayRef<Index> picked, Index target,
                 Range across) const {
    emitter.lanesLoop(scope, across.begin, across.end, [&](Scope *lane, Index column, Mask mask) {
      Element update = emitter.element(op.getUpdates(), place(at, picked, column), mask);
      addTo(emitter, root.buffer(), place(at, target, column), mask, update, lane);
    });
  }

  /// The row that a thread is adding to, which is in registers; a negative target: none.
  struct Current {
    Value sum, target;
  };

  /// Adds the columns of all that was found, a few at a time, whose loads are under way together. A row stays
  /// in registers until another one comes.
  void addFound(Emitter &emitter, Scope *scope, ArrayRef<Index> at, ArrayRef<int64_t> dims, Value found,
                Index column) const {
    Value none = emitter.integer(-1), zero = emitter.splat(zeroOf(emitter, root)).value;
    Value last = arith::SubIOp::create(emitter.in(scope), found, emitter.integer(1));
    auto values = emitter.loop(
        scope, emitter.integer(0), found, kTogether, {zero, none},
        [&](Scope *inner, Value first, ValueRange carried) -> Emitter::Values {
          SmallVector<Index> targets;
          SmallVector<Element> updates;
          for (int64_t ahead = 0; ahead < kTogether; ++ahead) {
            Value place = emitter.in(inner).createOrFold<arith::AddIOp>(first, emitter.integer(ahead));
            place = arith::MinUIOp::create(emitter.in(inner), place, last);
            SmallVector<Index> picked = emitter.delinearize(emitter.listed(inner, place), dims);
            targets.push_back(targetAt(emitter, at, picked));
            updates.push_back(
                emitter.splat(emitter.element(op.getUpdates(), this->place(at, picked, column), {})));
          }
          Current now{carried[0], carried[1]};
          for (int64_t ahead = 0; ahead < kTogether; ++ahead) {
            Value place = emitter.in(inner).createOrFold<arith::AddIOp>(first, emitter.integer(ahead));
            Value exists = arith::CmpIOp::create(emitter.in(inner), arith::CmpIPredicate::ult, place, found);
            now = addOne(emitter, inner, at, now, targets[ahead], updates[ahead].value, exists, column);
          }
          return {now.sum, now.target};
        });
    Value always = arith::ConstantIntOp::create(emitter.in(scope), 1, 1);
    writeBack(emitter, scope, at, {values[0], values[1]}, always, column);
  }

  Current addOne(Emitter &emitter, Scope *scope, ArrayRef<Index> at, Current now, Index target, Value update,
                 Value exists, Index column) const {
    Value differs =
        arith::CmpIOp::create(emitter.in(scope), arith::CmpIPredicate::ne, target.value, now.target);
    Value changes = arith::AndIOp::create(emitter.in(scope), exists, differs);
    writeBack(emitter, scope, at, now, changes, column);
    Value sum = when(emitter, scope, changes, {now.sum}, [&](Scope *once) -> Emitter::Values {
      SmallVector<Index> here = place(at, target, column);
      return {emitter.splat(emitter.loadWritten(root.buffer(), here, {}, once)).value};
    })[0];
    Value more = applyFunction(emitter.in(scope), nn::ElementwiseFn::add, {sum, update});
    return {arith::SelectOp::create(emitter.in(scope), exists, more, sum),
            arith::SelectOp::create(emitter.in(scope), changes, target.value, now.target)};
  }

  /// Stores what `now` holds, if it is a row at all.
  void writeBack(Emitter &emitter, Scope *scope, ArrayRef<Index> at, Current now, Value condition,
                 Index column) const {
    Value isRow =
        arith::CmpIOp::create(emitter.in(scope), arith::CmpIPredicate::sge, now.target, emitter.integer(0));
    Value both = arith::AndIOp::create(emitter.in(scope), condition, isRow);
    when(emitter, scope, both, {}, [&](Scope *once) {
      Index target = emitter.uniform(now.target, once);
      emitter.store(root.buffer(), place(at, target, column), {}, {now.sum, scope}, once);
      return Emitter::Values();
    });
  }

  /// A loop that is run once, or not at all.
  static Emitter::Values when(Emitter &emitter, Scope *scope, Value condition, ValueRange otherwise,
                              llvm::function_ref<Emitter::Values(Scope *)> body) {
    Value times = arith::ExtUIOp::create(emitter.in(scope), emitter.in(scope).getI64Type(), condition);
    return emitter.loop(scope, emitter.integer(0), times, 1, otherwise,
                        [&](Scope *once, Value, ValueRange) { return body(once); });
  }

  /// Whether this row owns the target of an index as it is read; what is out of range is nobody's.
  Element isOwnIndex(Emitter &emitter, Scope *scope, Element index, Range lines) const {
    Type wide = emitter.in(scope).getI64Type();
    Value number = index.value;
    if (number.getType() != wide)
      number = arith::ExtSIOp::create(emitter.in(scope), wide, number);
    Value zero = emitter.integer(0), all = emitter.integer(targets);
    Value fromBack = arith::CmpIOp::create(emitter.in(scope), arith::CmpIPredicate::slt, number, zero);
    Value wrapped = arith::AddIOp::create(emitter.in(scope), number, all);
    number = arith::SelectOp::create(emitter.in(scope), fromBack, wrapped, number);
    Value beyond = arith::SubIOp::create(emitter.in(scope), number, lines.begin);
    Value length = arith::SubIOp::create(emitter.in(scope), lines.end, lines.begin);
    return {arith::CmpIOp::create(emitter.in(scope), arith::CmpIPredicate::ult, beyond, length), scope};
  }

  Root root;
  mutable nn::ScatterAddOp op;
  SmallVector<int64_t> outer; ///< b, l and all t but the last
  int64_t leading = 0;        ///< how many of them stand before the scattered axis
  int64_t targets = 1, columns = 1, block = 1;
  bool byTargets = false, gpu = false;
};

/// result[..., indices[..., j, ...], ...] += updates[..., j, ...]: a row is one line along the axis.
class ScatterElementsPart : public Part {
public:
  ScatterElementsPart(const Root &root, nn::ScatterElementsAddOp op) : root(root), op(op) {
    shape = SmallVector<int64_t>(root.type().getShape());
    shape[op.getAxis()] = 1;
  }

  int64_t rows() const override { return product(shape); }
  int64_t lanes(int64_t) const override { return 1; }

  void emitRow(Emitter &emitter, Scope *scope, Index row) const override {
    SmallVector<Index> at = emitter.delinearize(row, shape);
    int64_t axis = op.getAxis(), extent = root.type().getDimSize(axis);
    Value zero = emitter.integer(0);
    emitter.loop(scope, zero, zeroedEnd(emitter, root, emitter.root(), zero, emitter.integer(extent)), 1, {},
                 [&](Scope *inner, Value target, ValueRange) {
                   at[axis] = emitter.uniform(target, inner);
                   emitter.store(root.buffer(), at, {}, zeroOf(emitter, root), inner);
                   return Emitter::Values();
                 });
    emitter.loop(scope, emitter.integer(0), updateEnd(emitter, scope, at), 1, {},
                 [&](Scope *inner, Value from, ValueRange) {
                   SmallVector<Index> source(at);
                   source[axis] = emitter.uniform(from, inner);
                   at[axis] = emitter.indexFrom(emitter.element(op.getIndices(), source, {}), extent);
                   Element update = emitter.element(op.getUpdates(), source, {});
                   addTo(emitter, root.buffer(), at, {}, update, inner);
                   return Emitter::Values();
                 });
  }

private:
  /// Lines outside the updates' shape get none.
  Value updateEnd(Emitter &emitter, Scope *scope, ArrayRef<Index> at) const {
    auto updates = cast<RankedTensorType>(op.getUpdates().getType());
    Element end{emitter.integer(updates.getDimSize(op.getAxis())), emitter.root()};
    for (int64_t axis = 0; axis < updates.getRank(); ++axis)
      if (axis != static_cast<int64_t>(op.getAxis()) && updates.getDimSize(axis) < shape[axis])
        end = emitter.select(emitter.less(at[axis], emitter.constantIndex(updates.getDimSize(axis))), end,
                             {emitter.integer(0), emitter.root()});
    return end.value;
  }

  Root root;
  mutable nn::ScatterElementsAddOp op;
  SmallVector<int64_t> shape; ///< of the result, the scattered axis 1
};

} // namespace

std::unique_ptr<Part> makeScatterPart(const Root &root, nn::ScatterAddOp op, Machine machine) {
  return std::make_unique<ScatterPart>(root, op, machine);
}

std::unique_ptr<Part> makeScatterElementsPart(const Root &root, nn::ScatterElementsAddOp op) {
  return std::make_unique<ScatterElementsPart>(root, op);
}

} // namespace accum::codegen
