// SPDX-License-Identifier: Apache-2.0
// Rows that are written, and added up by tiles of consecutive rows on the way. An item is a tile: whoever has
// it goes through its rows and keeps a sum for each of its columns, so that no two threads add to one number.
#include "dialects/NN/TileSum.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/Codegen/Part.h"

using namespace mlir;

namespace accum::codegen {
namespace {

/// One result that is a sum over tiles.
struct Sum {
  Root root;
  Value rows; ///< what is summed
};

bool reducesRows(const Root &root) {
  SetVector<Operation *> below;
  BackwardSliceOptions options;
  options.inclusive = true;
  (void)getBackwardSlice(root.value, &below, options);
  return llvm::any_of(below, llvm::IsaPred<nn::ReduceOp, nn::ArgReduceOp>);
}

class TilePart : public Part {
public:
  TilePart(std::vector<Root> rowRoots, std::vector<Sum> tileSums, int64_t height)
      : roots(std::move(rowRoots)), sums(std::move(tileSums)), height(height) {
    auto type = cast<RankedTensorType>(sums.front().rows.getType());
    shape = SmallVector<int64_t>(type.getShape());
    tiles = SmallVector<int64_t>(ArrayRef(shape).drop_back());
    tiles.back() /= height;
    bool isTeams = llvm::any_of(roots, reducesRows);
    for (const Sum &sum : sums)
      isTeams |= reducesRows({sum.rows, Value(), false, Value(), 0});
    byBlocks = isTeams;
  }

  int64_t rows() const override { return product(tiles); }
  int64_t lanes(int64_t) const override { return 1; }
  int64_t columns() const override { return shape.back(); }

  /// Columns by themselves are a thread's each. Rows that reduce over themselves are a block's, which is as
  /// wide as they are: the fewer threads meet, the more rows are under way on a multiprocessor.
  Spread spread() const override {
    if (!byBlocks)
      return {Spread::Thread, rows() * columns()};
    int64_t wanted = llvm::alignTo(llvm::divideCeil(columns(), threadLanes()), kWarpThreads);
    return {Spread::Block, rows(), std::min(wanted, kMostThreads)};
  }

  int64_t threadLanes() const override {
    std::vector<Root> all = roots;
    for (const Sum &sum : sums)
      all.push_back({sum.rows, Value(), false, Value(), 0});
    return sideLanes(all, columns(), !byBlocks && hasPaddedRows());
  }

  void emitRow(Emitter &emitter, Scope *scope, Index row) const override {
    emitItem(emitter, scope, row, {0, columns()});
  }

  void emitItem(Emitter &emitter, Scope *scope, Index item, Columns among) const override {
    if (byBlocks)
      return emitBlock(emitter, scope, emitter.delinearize(item, tiles));
    int64_t lanes = emitter.laneCount(), groups = among.count / lanes;
    Index column = emitter.add(emitter.mul(emitter.rem(item, groups), lanes), among.first);
    column.form = formOf(lanes);
    SmallVector<Index> tile = emitter.delinearize(emitter.div(item, groups), tiles);
    Emitter::Values totals =
        emitRows(emitter, scope, tile, zeros(emitter), [&](Scope *inner, auto at, auto now) {
          at.push_back(column);
          return emitColumns(emitter, inner, at, now);
        });
    storeSums(emitter, scope, tile, column, totals);
  }

private:
  static constexpr int64_t kWarpThreads = 32, kMostThreads = 512;
  using RowBody = llvm::function_ref<Emitter::Values(Scope *, SmallVector<Index>, ValueRange)>;

  static Index::Form formOf(int64_t lanes) { return lanes > 1 ? Index::Form::Lanes : Index::Form::Uniform; }
  bool isFull(const Root &root) const { return root.type().getNumElements() == product(shape); }
  bool hasPaddedRows() const {
    auto pads = [&](Value value) { return readsPadded(value, columns()); };
    return llvm::any_of(roots, [&](const Root &root) { return root.pitch != 0 || pads(root.value); }) ||
           llvm::any_of(sums, [&](const Sum &sum) { return pads(sum.rows); });
  }

  Emitter::Values zeros(Emitter &emitter) const {
    Emitter::Values all;
    for (const Sum &sum : sums)
      all.push_back(emitter.splat(emitter.constant(computeType(sum.root.type().getElementType()), 0)).value);
    return all;
  }

  /// The rows of a tile, one after the other.
  Emitter::Values emitRows(Emitter &emitter, Scope *scope, ArrayRef<Index> tile, ValueRange initial,
                           RowBody body) const {
    Index first = emitter.mul(tile.back(), height);
    return emitter.loop(scope, emitter.integer(0), emitter.integer(height), 1, initial,
                        [&](Scope *inner, Value row, ValueRange now) {
                          SmallVector<Index> at(tile);
                          at.back() = emitter.add(first, emitter.uniform(row, inner));
                          return body(inner, at, now);
                        });
  }

  /// Writes elements and adds to their columns' sums. All elements come before the first store: a result may
  /// lie where an operand does.
  Emitter::Values emitColumns(Emitter &emitter, Scope *scope, ArrayRef<Index> at, ValueRange now) const {
    SmallVector<Element> elements;
    for (const Root &root : roots)
      if (isFull(root))
        elements.push_back(emitter.element(root.value, at, {}));
    Emitter::Values next;
    for (auto [sum, before] : llvm::zip_equal(sums, now)) {
      Element term = emitter.splat(emitter.element(sum.rows, at, {}));
      next.push_back(applyFunction(emitter.in(scope), nn::ElementwiseFn::add, {before, term.value}));
    }
    auto element = elements.begin();
    for (const Root &root : roots)
      if (isFull(root))
        root.write(emitter, at, {}, *element++, scope);
    return next;
  }

  void storeSums(Emitter &emitter, Scope *scope, ArrayRef<Index> tile, Index column,
                 ValueRange totals) const {
    SmallVector<Index> at(tile);
    at.push_back(column);
    for (auto [sum, total] : llvm::zip_equal(sums, totals))
      sum.root.write(emitter, at, {}, {total, scope}, scope);
  }

  void emitBlock(Emitter &emitter, Scope *scope, ArrayRef<Index> tile) const {
    int64_t width = emitter.teamSize() * emitter.laneCount(), each = sums.size();
    int64_t chunks = llvm::divideCeil(columns(), width);
    Emitter::Values initial;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      llvm::append_range(initial, zeros(emitter));
    // The columns of a thread, chunk by chunk: `body` has one, or nothing to do. Where each has one, what its
    // row was read for once stays in registers.
    auto share = [&](Scope *at, int64_t chunk, ValueRange values, auto body) -> Emitter::Values {
      if (columns() == width) {
        Index column = emitter.ownColumns(at);
        return body(column.scope, column, values);
      }
      Value lower = emitter.integer(chunk * width),
            upper = emitter.integer(std::min(columns(), (chunk + 1) * width));
      int64_t lanes = emitter.laneCount();
      return emitter.shareLoop(at, lower, upper, lanes, values,
                               [&](Scope *own, Value first, ValueRange carried) -> Emitter::Values {
                                 return body(own, Index{first, own, formOf(lanes), lanes}, carried);
                               });
    };
    Emitter::Values totals = emitRows(emitter, scope, tile, initial, [&](Scope *row, auto at, auto now) {
      Emitter::Values next;
      for (int64_t chunk = 0; chunk < chunks; ++chunk)
        llvm::append_range(next, share(row, chunk, now.slice(chunk * each, each),
                                       [&](Scope *own, Index column, ValueRange carried) {
                                         SmallVector<Index> place(at);
                                         place.push_back(column);
                                         loadRow(emitter, place);
                                         return emitColumns(emitter, own, place, carried);
                                       }));
      for (const Root &root : roots)
        if (!isFull(root))
          storeStatistic(emitter, row, root, at);
      return next;
    });
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      share(scope, chunk, {}, [&](Scope *own, Index column, ValueRange) {
        storeSums(emitter, own, tile, column, ValueRange(totals).slice(chunk * each, each));
        return Emitter::Values();
      });
  }

  /// All that is read of the row, before its threads meet: one wait instead of several.
  void loadRow(Emitter &emitter, ArrayRef<Index> at) const {
    Value any = sums.front().rows;
    for (BlockArgument argument : any.getParentBlock()->getArguments())
      if (cast<RankedTensorType>(argument.getType()).getShape() == ArrayRef(shape))
        (void)emitter.element(argument, at, {});
  }

  /// One number per row.
  void storeStatistic(Emitter &emitter, Scope *scope, const Root &root, SmallVector<Index> at) const {
    at.resize(root.type().getRank(), emitter.constantIndex(0)); // a last extent of 1
    root.write(emitter, at, {}, emitter.element(root.value, at, {}), scope);
  }

  std::vector<Root> roots; ///< of whole rows, or one number per row
  std::vector<Sum> sums;
  int64_t height;
  SmallVector<int64_t> shape, tiles; ///< of the rows; of the tiles of each column
  bool byBlocks = false;
};

/// Whether a result is of these rows, or of one number for each.
bool isOfRows(const Root &root, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = root.type().getShape();
  return own == shape || own == shape.drop_back() ||
         (own.size() == shape.size() && own.drop_back() == shape.drop_back() && own.back() == 1);
}

} // namespace

std::unique_ptr<Part> makeTilePart(ArrayRef<Root> roots) {
  std::vector<Root> others;
  std::vector<Sum> sums;
  std::optional<nn::TileSum> first;
  for (const Root &root : roots) {
    auto sum = nn::tileSumOf(root.value.getDefiningOp());
    if (!sum) {
      others.push_back(root);
      continue;
    }
    if (!first)
      first = sum;
    if (sum->height != first->height || sum->rows.getType() != first->rows.getType())
      return nullptr;
    sums.push_back({root, sum->rows});
  }
  if (!first || others.empty())
    return nullptr;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(first->rows.getType()).getShape();
  if (!llvm::all_of(others, [&](const Root &root) { return isOfRows(root, shape); }))
    return nullptr;
  return std::make_unique<TilePart>(std::move(others), std::move(sums), first->height);
}

} // namespace accum::codegen
