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

class MapPart : public Part {
public:
  MapPart(std::vector<Root> group, int64_t machineLanes) : roots(std::move(group)) {
    shape = significant(roots.front().type().getShape());
    if (!shape.empty())
      use = laneUseOf(roots.front().value, lastAxis(roots.front().type()));
    vectors = !shape.empty() && use != LaneUse::Across;
    if (!vectors)
      return;
    // Rows are cut where the last axis is nearly all there is, unless something is reduced over whole rows:
    // each piece would do it again, and find the row half overwritten where the result lies in its operand's
    // place.
    bool wholeRows = llvm::any_of(roots, [&](const Root &root) {
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

  void emitRow(Emitter &emitter, Scope *scope, Index row) const override {
    if (!vectors) {
      SmallVector<Index> at = emitter.delinearize(row, shape);
      store(emitter, scope, {}, elements(emitter, at, {}, true));
      return;
    }
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
  int64_t block = std::numeric_limits<int64_t>::max() / 2;
};

} // namespace

std::unique_ptr<Part> makeMapPart(std::vector<Root> roots, int64_t machineLanes) {
  return std::make_unique<MapPart>(std::move(roots), machineLanes);
}

} // namespace accum::codegen
