// SPDX-License-Identifier: Apache-2.0
// The common part: a loop over the elements of results of one shape, in vectors along the last axis, and
// results that are one number per row of it.
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/Codegen/Part.h"

using namespace mlir;

namespace accum::codegen {
namespace {

bool reduces(Value value) {
  SetVector<Operation *> below;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(value, &below, options);
  return llvm::any_of(below, [](Operation *op) {
    return isa<nn::ReduceOp, nn::ArgReduceOp, nn::CumSumOp, nn::ContractOp>(op);
  });
}

/// Terms of the longest reduction below `value`.
int64_t longestFold(Value value) {
  SetVector<Operation *> below;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(value, &below, options);
  int64_t most = 1;
  auto elements = [](Value v) {
    return std::max<int64_t>(cast<RankedTensorType>(v.getType()).getNumElements(), 1);
  };
  for (Operation *op : below)
    if (isa<nn::ReduceOp, nn::ArgReduceOp>(op))
      most = std::max(most, elements(op->getOperand(0)) / elements(op->getResult(0)));
    else if (isa<nn::ContractOp>(op))
      most = std::max(most,
                      elements(op->getOperand(0)) * elements(op->getOperand(1)) / elements(op->getResult(0)));
  return most;
}

/// What the reductions below some results have in common.
struct RowsReduced {
  int64_t columns = 1; ///< that all of them run along, side by side; 1 where there is no such
  bool each = false;   ///< an element of the results has a row of its own
};

RowsReduced rowsReduced(ArrayRef<Root> roots) {
  RowsReduced found{0, true};
  for (const Root &root : roots) {
    SetVector<Operation *> below;
    BackwardSliceOptions options;
    options.inclusive = true;
    (void)getBackwardSlice(root.value, &below, options);
    for (Operation *op : below) {
      if (isa<nn::ContractOp, nn::CumSumOp, nn::ArgReduceOp>(op))
        return {};
      auto reduce = dyn_cast<nn::ReduceOp>(op);
      if (!reduce)
        continue;
      auto type = cast<RankedTensorType>(reduce.getInput().getType());
      int64_t columns = type.getRank() > 0 ? type.getShape().back() : 1;
      bool isAlong = llvm::is_contained(reduce.getAxes(), type.getRank() - 1);
      if (!isAlong || (found.columns != 0 && found.columns != columns))
        return {};
      found.columns = columns;
      found.each &= cast<RankedTensorType>(reduce.getType()).getNumElements() == root.type().getNumElements();
    }
  }
  return found.columns > 1 ? found : RowsReduced();
}

class MapPart : public Part {
public:
  MapPart(std::vector<Root> group, Machine machine) : roots(std::move(group)) {
    shape = significant(roots.front().type().getShape());
    if (!shape.empty())
      use = laneUseOf(roots.front().value, lastAxis(roots.front().type()));
    if (use == LaneUse::Free && sharesRows(machine))
      use = LaneUse::Across;
    vectors = !shape.empty() && use != LaneUse::Across;
    for (const Root &root : roots)
      terms = std::max(terms, longestFold(root.value));
    if (!vectors)
      return;
    // Rows are cut where the last axis is nearly all there is, unless something is reduced over whole rows:
    // each piece would do it again, and find the row half overwritten where the result lies in its operand's
    // place.
    wholeRows = llvm::any_of(roots, [&](const Root &root) {
      return root.type().getNumElements() != roots.front().type().getNumElements() || reduces(root.value);
    });
    wholeRows &= use == LaneUse::Free;
    int64_t others = product(ArrayRef(shape).drop_back());
    int64_t wanted = use == LaneUse::PerLane ? lanes(machine.lanes) : kBlock;
    if (!wholeRows && others < kEnoughRows)
      block = std::min(block, wanted);
  }

  int64_t rows() const override {
    return vectors ? product(ArrayRef(shape).drop_back()) * blocks() : product(shape);
  }

  int64_t lanes(int64_t machine) const override {
    if (!vectors || machine == 1)
      return machine;
    // Columns: several vectors side by side, so that a row of the operand is read by whole cache lines; more
    // of long rows, each of which lies in a page of its own (2048 x 30522: a quarter less time).
    constexpr int64_t kLongRow = 4096;
    int64_t side = shape.back() > kLongRow ? 8 : 4;
    int64_t most = use == LaneUse::PerLane ? side * machine : machine;
    return std::min<int64_t>(most, llvm::PowerOf2Ceil(shape.back()));
  }

  /// Rows that reduce over themselves are a team's; so is an element with a long sum. With many elements, or
  /// short sums, every thread has its own.
  Spread spread() const override {
    if (wholeRows) {
      int64_t items = product(ArrayRef(shape).drop_back());
      return {shape.back() > kWarpRow || items < kFewRows ? Spread::Block : Spread::Warp, items};
    }
    int64_t items = product(shape);
    if (terms < kLongFold || (items >= kManyThreads && use != LaneUse::Across))
      return {Spread::Thread, items};
    if (use == LaneUse::PerLane)
      return {Spread::Columns, items};
    return {terms > kWarpRow || items < kFewRows ? Spread::Block : Spread::Warp, items};
  }

  void emitItem(Emitter &emitter, Scope *scope, Index item, Columns among) const override {
    if (wholeRows)
      return emitRow(emitter, scope, item);
    if (use == LaneUse::Across || (emitter.laneCount() == 1 && among.count == columns()))
      return emitElement(emitter, scope, item);
    int64_t lanes = emitter.laneCount(), groups = among.count / lanes;
    auto inLanes = [&](Index index) {
      index.form = lanes > 1 ? Index::Form::Lanes : Index::Form::Uniform;
      return index;
    };
    if (among.count == columns())
      return emitElement(emitter, scope, inLanes(emitter.mul(item, lanes)));
    // Vectors do not reach into the next row: row and place in it are apart.
    Index column = inLanes(emitter.add(emitter.mul(emitter.rem(item, groups), lanes), among.first));
    SmallVector<Index> at = emitter.delinearize(emitter.div(item, groups), ArrayRef(shape).drop_back());
    at.push_back(column);
    store(emitter, scope, {}, elements(emitter, at, {}, true));
  }

  int64_t threadLanes() const override {
    if (shape.empty())
      return 1;
    bool isThreads = spread().kind == Spread::Thread;
    if (use == LaneUse::Across)
      return isThreads ? 1 : lanesAlong();
    bool isSide = use == LaneUse::PerLane || isThreads;
    return wholeRows || isSide ? sideLanes(roots, shape.back(), hasPaddedRows(shape.back())) : 1;
  }

  int64_t columns() const override { return shape.empty() ? 1 : shape.back(); }

  void emitRow(Emitter &emitter, Scope *scope, Index row) const override {
    if (!vectors)
      return emitElement(emitter, scope, row);
    SmallVector<Index> at = emitter.delinearize(emitter.div(row, blocks()), ArrayRef(shape).drop_back());
    Value lower = emitter.integer(0), upper = emitter.integer(shape.back());
    if (blocks() > 1) {
      Index first = emitter.mul(emitter.rem(row, blocks()), block);
      lower = first.value;
      upper = arith::MinSIOp::create(emitter.in(scope), emitter.add(first, block).value, upper);
    }
    std::vector<Result> ofRow = elements(emitter, at, {}, false);
    emitter.lanesLoop(scope, lower, upper, [&](Scope *inner, Index lane, Mask mask) {
      SmallVector<Index> here(at);
      here.push_back(lane);
      store(emitter, inner, mask, elements(emitter, here, mask, true));
    });
    store(emitter, scope, {}, ofRow);
  }

private:
  static constexpr int64_t kBlock = 4096;    ///< elements of one row of a flat loop
  static constexpr int64_t kEnoughRows = 64; ///< so many need no cutting
  // On a GPU.
  static constexpr int64_t kWarpRow = 1024;        ///< elements; longer rows take a block
  static constexpr int64_t kFewRows = 512;         ///< so few do too, to fill the machine
  static constexpr int64_t kLongFold = 32;         ///< terms that pay for a team
  static constexpr int64_t kTeam = 32;             ///< threads, at least
  static constexpr int64_t kManyThreads = 1 << 18; ///< that fill the machine

  /// Elements that have a row of their own each: lanes (a GPU's threads) that have one of them each would
  /// read rows side by side, far apart, so they share each row; and the few elements of a slice are rows to
  /// deal out to the processors.
  bool sharesRows(Machine machine) const {
    RowsReduced reduced = rowsReduced(roots);
    return reduced.each && (machine.gpu || reduced.columns >= machine.lanes);
  }

  void emitElement(Emitter &emitter, Scope *scope, Index position) const {
    SmallVector<Index> at = emitter.delinearize(position, shape);
    store(emitter, scope, {}, elements(emitter, at, {}, true));
  }

  bool hasPaddedRows(int64_t columns) const {
    return llvm::any_of(roots, [&](const Root &root) {
      return (root.pitch != 0 && root.type().getShape().back() == columns) ||
             readsPadded(root.value, columns);
    });
  }

  /// Lanes of a team that reduces rows to one number each, where they are long enough for all of its threads.
  int64_t lanesAlong() const {
    int64_t extent = rowsReduced(roots).columns;
    int64_t lanes = sideLanes(roots, extent, hasPaddedRows(extent));
    return extent >= lanes * kTeam ? lanes : 1;
  }

  int64_t blocks() const { return (shape.back() + block - 1) / block; }

  struct Result {
    const Root *root;
    SmallVector<Index> at;
    Element element;
  };

  /// Elements of the results of the loops' whole shape, or of those of one number per row. All come before
  /// the first store: a result may lie where an operand does.
  std::vector<Result> elements(Emitter &emitter, ArrayRef<Index> at, Mask mask, bool whole) const {
    std::vector<Result> results;
    for (const Root &root : roots) {
      if ((root.type().getNumElements() == product(shape)) != whole)
        continue;
      SmallVector<Index> place = coordinates(emitter, root, at);
      Element element = emitter.element(root.value, place, mask);
      results.push_back({&root, place, element});
    }
    return results;
  }

  static void store(Emitter &emitter, Scope *scope, Mask mask, ArrayRef<Result> results) {
    for (const Result &result : results)
      result.root->write(emitter, result.at, mask, result.element, scope);
  }

  /// `at` without and with the axes of one element.
  static SmallVector<Index> coordinates(Emitter &emitter, const Root &root, ArrayRef<Index> at) {
    SmallVector<Index> place;
    auto next = at.begin();
    for (int64_t extent : root.type().getShape())
      place.push_back(extent == 1 ? emitter.constantIndex(0) : *next++);
    return place;
  }

  std::vector<Root> roots; ///< the first has the shape of the loops
  SmallVector<int64_t> shape;
  LaneUse use = LaneUse::Free;
  bool vectors = false;
  bool wholeRows = false; ///< rows reduce over themselves: they are not cut
  int64_t terms = 1;      ///< of the longest reduction
  int64_t block = std::numeric_limits<int64_t>::max() / 2;
};

} // namespace

std::unique_ptr<Part> makeMapPart(std::vector<Root> roots, Machine machine) {
  return std::make_unique<MapPart>(std::move(roots), machine);
}

} // namespace accum::codegen
