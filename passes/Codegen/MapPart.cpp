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

class MapPart : public Part {
public:
  MapPart(std::vector<Root> group, int64_t machineLanes) : roots(std::move(group)) {
    shape = significant(roots.front().type().getShape());
    if (!shape.empty())
      use = laneUseOf(roots.front().value, lastAxis(roots.front().type()));
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
    int64_t wanted = use == LaneUse::PerLane ? lanes(machineLanes) : kBlock;
    if (!wholeRows && others < kEnoughRows)
      block = std::min(block, wanted);
  }

  int64_t rows() const override {
    return vectors ? product(ArrayRef(shape).drop_back()) * blocks() : product(shape);
  }

  int64_t lanes(int64_t machine) const override {
    if (!vectors || machine == 1)
      return machine;
    // Columns: several vectors side by side, so that a row of the operand is read by whole cache lines.
    int64_t most = use == LaneUse::PerLane ? 4 * machine : machine;
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
    if (terms < kLongFold || items >= kManyThreads)
      return {Spread::Thread, items};
    if (use == LaneUse::PerLane)
      return {Spread::Columns, items};
    return {terms > kWarpRow || items < kFewRows ? Spread::Block : Spread::Warp, items};
  }

  void emitItem(Emitter &emitter, Scope *scope, Index item) const override {
    if (wholeRows)
      return emitRow(emitter, scope, item);
    if (emitter.laneCount() > 1) {
      item = emitter.mul(item, emitter.laneCount());
      item.form = Index::Form::Lanes;
    }
    emitElement(emitter, scope, item);
  }

  int64_t threadLanes() const override {
    bool isSide = use == LaneUse::PerLane || (use == LaneUse::Free && spread().kind == Spread::Thread);
    return !shape.empty() && (wholeRows || isSide) ? sideLanes(roots, shape.back()) : 1;
  }

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
  static constexpr int64_t kManyThreads = 1 << 18; ///< that fill the machine

  void emitElement(Emitter &emitter, Scope *scope, Index position) const {
    SmallVector<Index> at = emitter.delinearize(position, shape);
    store(emitter, scope, {}, elements(emitter, at, {}, true));
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

std::unique_ptr<Part> makeMapPart(std::vector<Root> roots, int64_t machineLanes) {
  return std::make_unique<MapPart>(std::move(roots), machineLanes);
}

} // namespace accum::codegen
