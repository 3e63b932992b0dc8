// SPDX-License-Identifier: Apache-2.0
// The frame of a GPU kernel: blocks are dealt out to the parts, threads of a block to teams, items to teams.
#include "passes/Codegen/Cuda/ThreadKernel.h"
#include "dialects/NN/Views.h"
#include "dialects/Train/RowPitch.h"
#include "passes/Codegen/Cuda/KernelFunction.h"
#include "passes/Codegen/Cuda/Teams.h"
#include "passes/Codegen/Kernel.h"
#include "passes/Codegen/Part.h"

using namespace mlir;

namespace accum::codegen {
namespace {

constexpr int64_t kBlockThreads = 256;
/// Column sums: deep blocks, because there are few of them.
constexpr int64_t kColumnBlockThreads = 512;
/// Columns beside each other in a block of column sums: a sector of 32 bytes at least, more where there are
/// many.
constexpr int64_t kFewColumns = 8, kManyColumns = 32, kColumnBlocks = 256;

/// A part, or some of its columns, and the blocks that run it.
struct Deal {
  const Part *part;
  Spread spread;
  int64_t lanes = 1; ///< of a thread
  Columns columns;
  int64_t side = 1;  ///< items that a block works on at once
  int64_t first = 0; ///< block
  int64_t blocks = 0;
};

class ThreadFrame {
public:
  ThreadFrame(func::FuncOp kernel, bool vectors) : kernel(kernel), vectors(vectors) {}

  LogicalResult emit() {
    if (failed(checkStaticTypes(kernel)))
      return failure();
    function = createKernelFunction(kernel);
    end = function.getBody().front().getTerminator();
    bindArguments();
    dealOut();
    place = {special("tid.x", blockThreads), blockThreads, function};
    block = special("ctaid.x", std::max<int64_t>(blocks, 1));
    for (const Deal &deal : deals)
      if (failed(emitPart(deal)))
        return failure();
    describeLaunch(kernel, function, std::max<int64_t>(blocks, 1), blockThreads);
    if (int64_t atOnce = blocksAtOnce())
      askForBlocks(function, atOnce);
    if (isOf(Spread::Columns))
      keepLoops(function);
    return success();
  }

private:
  void bindArguments() {
    ImplicitLocOpBuilder builder(kernel.getLoc(), end);
    int64_t next = 0;
    for (BlockArgument argument : kernel.getArguments())
      operands.push_back({function.getArgument(next++), cast<RankedTensorType>(argument.getType()),
                          pitchInKernel(argument)});
    auto added = kernel->getAttrOfType<DenseI64ArrayAttr>("accumulate");
    for (Value result : kernel.getBody().front().getTerminator()->getOperands()) {
      Root root{nn::behindViews(result), function.getArgument(next++), false, Value()};
      root.adds = added && llvm::is_contained(added.asArrayRef(), static_cast<int64_t>(roots.size()));
      root.pitch = resultPitch(kernel, static_cast<unsigned>(roots.size()));
      roots.push_back(root);
    }
    if (!added)
      return;
    Value flag = LLVM::LoadOp::create(builder, builder.getI8Type(), function.getArgument(next));
    Value zero = arith::ConstantIntOp::create(builder, builder.getI8Type(), 0);
    Value first = arith::CmpIOp::create(builder, arith::CmpIPredicate::ne, flag, zero);
    for (Root &root : roots)
      root.first = first;
  }

  /// Small kernels get small blocks.
  void chooseBlock() {
    blockThreads = kWarp;
    for (const Deal &deal : deals) {
      int64_t wanted = kBlockThreads;
      if (deal.spread.kind == Spread::Thread)
        wanted = std::min<int64_t>(wanted, llvm::alignTo(deal.spread.items, kWarp));
      if (deal.spread.kind == Spread::Warp)
        wanted = std::min<int64_t>(wanted, deal.spread.items * kWarp);
      if (deal.spread.kind == Spread::Columns)
        wanted = kColumnBlockThreads;
      if (deal.spread.threads != 0)
        wanted = deal.spread.threads;
      blockThreads = std::max(blockThreads, wanted);
    }
  }

  bool isOf(Spread::Kind kind) const {
    return llvm::any_of(deals, [&](const Deal &deal) { return deal.spread.kind == kind; });
  }

  /// On a multiprocessor, so that nothing is spilled; 0: as ptxas likes.
  int64_t blocksAtOnce() {
    if (isOf(Spread::Columns))
      return kernel.getNumArguments() > 1 ? 1 : 2; // of products, which take registers of their own
    return blockThreads == kBlockThreads && (isOf(Spread::Warp) || isOf(Spread::Block)) ? 3 : 0;
  }

  int64_t sideOf(const Spread &spread, int64_t lanes) const {
    int64_t columns = spread.items * lanes >= kManyColumns * kColumnBlocks ? kManyColumns : kFewColumns;
    switch (spread.kind) {
    case Spread::Thread:
      return blockThreads;
    case Spread::Warp:
      return blockThreads / kWarp;
    case Spread::Block:
      return 1;
    case Spread::Columns:
      // More to a thread of several lanes only where they are 16-bit, whose sector has more.
      return std::max<int64_t>(columns / lanes, 2);
    }
    llvm_unreachable("spread");
  }

  /// Threads of a part have lanes, but for those behind the last whole vector of each row.
  void addDeals(const Part &part) {
    Spread spread = part.spread();
    int64_t lanes = vectors ? part.threadLanes() : 1, columns = part.columns(), rest = columns % lanes;
    bool ofThreads = spread.kind == Spread::Thread || spread.kind == Spread::Columns;
    if (!ofThreads || lanes == 1) {
      deals.push_back({&part, spread, lanes, {0, columns}});
      return;
    }
    int64_t rows = spread.items / columns;
    deals.push_back({&part, {spread.kind, rows * (columns / lanes)}, lanes, {0, columns - rest}});
    if (rest > 0)
      deals.push_back({&part, {spread.kind, rows * rest}, 1, {columns - rest, rest}});
  }

  void dealOut() {
    parts = partsOf(roots, {1, /*gpu=*/true});
    for (const std::unique_ptr<Part> &part : parts)
      addDeals(*part);
    chooseBlock();
    for (Deal &deal : deals) {
      deal.side = sideOf(deal.spread, deal.lanes);
      deal.first = blocks;
      deal.blocks = std::min<int64_t>(llvm::divideCeil(deal.spread.items, deal.side),
                                      kMostBlocks / static_cast<int64_t>(deals.size()));
      blocks += deal.blocks;
    }
  }

  /// A special register as i64, with what is known of it.
  Value special(StringRef name, int64_t size) {
    ImplicitLocOpBuilder builder(kernel.getLoc(), end);
    Value value = readSpecialRegister(end, name, size);
    return arith::ExtUIOp::create(builder, builder.getI64Type(), value);
  }

  std::unique_ptr<Team> makeTeam(ImplicitLocOpBuilder &builder, const Deal &deal) {
    switch (deal.spread.kind) {
    case Spread::Thread:
      return makeThreadTeam(builder);
    case Spread::Warp:
      return makeWarpTeam(builder, place);
    case Spread::Block:
      return makeBlockTeam(builder, place);
    case Spread::Columns:
      return makeColumnTeam(builder, place, deal.side, deal.lanes);
    }
    llvm_unreachable("spread");
  }

  /// Which of the block's items this thread works on.
  Value besideIn(ImplicitLocOpBuilder &b, const Deal &deal) {
    auto constant = [&](int64_t value) { return arith::ConstantIntOp::create(b, b.getI64Type(), value); };
    switch (deal.spread.kind) {
    case Spread::Thread:
      return place.thread;
    case Spread::Warp:
      return arith::DivUIOp::create(b, place.thread, constant(kWarp));
    case Spread::Block:
      return constant(0);
    case Spread::Columns:
      return arith::RemUIOp::create(b, place.thread, constant(deal.side));
    }
    llvm_unreachable("spread");
  }

  /// Items first, first + step, ... of a part, in blocks [deal.first, deal.first + deal.blocks).
  LogicalResult emitPart(const Deal &deal) {
    ImplicitLocOpBuilder b(kernel.getLoc(), end);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(b, b.getI64Type(), value);
    };
    std::unique_ptr<Team> team = makeTeam(b, deal);
    Value beside = besideIn(b, deal);
    // Blocks of other parts have nothing to do here: their first item is behind the last.
    Value own = arith::SubIOp::create(b, block, constant(deal.first));
    Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, own, constant(deal.blocks));
    Value start = arith::MulIOp::create(b, own, constant(deal.side));
    bool columns = deal.spread.kind == Spread::Columns;
    if (!columns)
      start = arith::AddIOp::create(b, start, beside);
    if (deals.size() > 1)
      start = arith::SelectOp::create(b, mine, start, constant(deal.spread.items));
    Emitter emitter(end, *team, deal.lanes);
    for (auto [argument, buffer] : llvm::zip_equal(kernel.getArguments(), operands))
      emitter.bind(argument, buffer);
    emitter.loop(emitter.root(), start, constant(deal.spread.items), deal.blocks * deal.side, {},
                 [&](Scope *scope, Value item, ValueRange) {
                   scope->perThread = deal.spread.kind == Spread::Thread;
                   if (columns)
                     item = columnItem(emitter, scope, *team, item, beside, deal.spread.items);
                   deal.part->emitItem(emitter, scope, emitter.uniform(item, scope), deal.columns);
                   return Emitter::Values();
                 });
    if (Operation *op = emitter.unsupported())
      return op->emitOpError("has no kernel code [kernel-op]");
    return success();
  }

  /// All threads of the block stay together at barriers; those behind the last item repeat it and do not
  /// write.
  static Value columnItem(Emitter &emitter, Scope *scope, Team &team, Value start, Value beside,
                          int64_t items) {
    Value last = emitter.integer(items - 1);
    Value item = arith::AddIOp::create(emitter.in(scope), start, beside);
    Value exists = arith::CmpIOp::create(emitter.in(scope), arith::CmpIPredicate::ule, item, last);
    team.leader = arith::AndIOp::create(emitter.in(scope), team.leader, exists);
    return arith::MinUIOp::create(emitter.in(scope), item, last);
  }

  func::FuncOp kernel;
  bool vectors;
  LLVM::LLVMFuncOp function;
  Operation *end = nullptr;
  SmallVector<Buffer> operands;
  SmallVector<Root> roots;
  std::vector<std::unique_ptr<Part>> parts;
  std::vector<Deal> deals;
  int64_t blocks = 0, blockThreads = kWarp;
  ThreadPlace place;
  Value block;
};

} // namespace

/// Whether neighbours are loaded and stored one by one somewhere: they do not lie side by side.
static bool hasLooseLanes(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    bool isLoose =
        isa<LLVM::MaskedLoadOp, LLVM::MaskedStoreOp, LLVM::masked_gather, LLVM::masked_scatter>(op);
    return isLoose ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Tried in vectors, on the side; where an access would come apart, or operands start anywhere, each thread
/// has one element at a time.
LogicalResult emitThreadKernel(func::FuncOp kernel) {
  OwningOpRef<ModuleOp> trial = ModuleOp::create(kernel.getLoc());
  func::FuncOp copy = kernel.clone();
  trial->push_back(copy);
  if (failed(ThreadFrame(copy, /*vectors=*/true).emit()))
    return failure();
  if (kernel->hasAttr("accum.shifted") || hasLooseLanes(*trial))
    return ThreadFrame(kernel, /*vectors=*/false).emit();
  copy.erase();
  Block *target = kernel->getBlock();
  target->getOperations().splice(kernel->getIterator(), trial->getBody()->getOperations());
  return success();
}

} // namespace accum::codegen
