// SPDX-License-Identifier: Apache-2.0
// From the ops of a kernel to tiles: operands by their strides, a shape by the width of a head.
#include "passes/Codegen/Cuda/AttentionKernel.h"
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Codegen/Cuda/AttentionCode.h"
#include "passes/Codegen/Cuda/KernelFunction.h"
#include "passes/Codegen/Cuda/TensorAttention.h"
#include "passes/Codegen/Kernel.h"

using namespace mlir;

namespace accum::codegen {
namespace {

/// Wider heads get smaller tiles: to 128 features all of a block's tiles fit into the 48 KiB that every card
/// gives without asking, but for cotangents in tf32.
constexpr int64_t kWide = 64, kVeryWide = 128;

TileShape shapeOf(int64_t width, bool backward) {
  if (width <= kWide)
    return backward ? TileShape{64, 32, 32} : TileShape{128, 64, 32};
  if (backward && width > kVeryWide)
    return {128, 16, 16};
  if (backward && width % 32 != 0) // what ends within a tile needs registers, too
    return TileShape{64, 16, 8};
  return backward ? TileShape{64, 16, 16} : TileShape{64, 32, 16};
}

/// On tensor cores. Registers are the limit: the sums of 64 columns take 32 a thread, backward twice.
WarpShape warpShapeOf(int64_t width, bool backward, int64_t bytes) {
  int64_t narrow = bytes == 2 ? 64 : 32;
  int64_t columns = width <= kWide ? narrow : width <= kVeryWide ? narrow / 2 : 16;
  return {1, backward ? std::max<int64_t>(columns / 2, 16) : columns, bytes};
}

class AttentionFrame {
public:
  explicit AttentionFrame(func::FuncOp kernel)
      : kernel(kernel), op(attentionOf(kernel)), backward(isa<nn::AttentionBwdOp>(op)),
        isTensor(usesTensorCores(op, train::precisionOf(kernel->getParentOp()))),
        isBf16(getElementTypeOrSelf(op->getOperand(0)).isBF16()) {}

  LogicalResult emit() {
    auto views = analyseAttention(kernel);
    if (failed(checkStaticTypes(kernel)))
      return failure();
    if (!fitsTiles(op) || !views || kernel->hasAttr("accumulate"))
      return op->emitOpError("has no kernel code [kernel-op]");
    function = createKernelFunction(kernel);
    readOperands(*views);
    if (auto forward = dyn_cast<nn::AttentionOp>(op))
      readRules(forward);
    else
      readRules(cast<nn::AttentionBwdOp>(op));
    return writeBlocks();
  }

private:
  Type elementOf(unsigned buffer) {
    auto types = llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes());
    return cast<RankedTensorType>(*std::next(types.begin(), buffer)).getElementType();
  }

  Heads headsOf(const StridedView &view) {
    Heads heads;
    heads.data = function.getArgument(view.buffer);
    heads.element = elementOf(view.buffer);
    heads.rows = view.shape[2], heads.columns = view.shape[3];
    heads.batch = view.strides[0], heads.head = view.strides[1];
    heads.row = view.strides[2], heads.column = view.strides[3];
    heads.vectors = !kernel->hasAttr("accum.shifted") && heads.column == 1;
    int64_t neighbours = 128 / heads.element.getIntOrFloatBitWidth();
    for (int64_t number : {view.offset, heads.batch, heads.head, heads.row, heads.columns})
      heads.vectors &= number % neighbours == 0;
    if (isBf16) // what is f32 there is rounded one by one
      heads.vectors &= heads.element.isBF16();
    return heads;
  }

  void readOperands(ArrayRef<StridedView> views) {
    size_t next = 0;
    auto read = [&](Heads &heads) {
      offsets.push_back({&heads, views[next].offset});
      heads = headsOf(views[next++]);
    };
    bool hasMask = views.size() == (backward ? 10 : 6);
    for (Heads *heads : {&operands.q, &operands.k, &operands.v})
      read(*heads);
    if (hasMask)
      read(operands.mask);
    read(operands.y);
    read(operands.lse);
    for (Heads *heads : {&operands.dy, &operands.dq, &operands.dk, &operands.dv})
      if (backward)
        read(*heads);
    operands.batch = views[0].shape[0], operands.heads = views[0].shape[1],
    operands.groups = views[1].shape[1];
  }

  template <typename Attention> void readRules(Attention attention) {
    rules.scale = attention.getScale().convertToDouble();
    rules.causal = attention.getCausal();
    rules.hidden = attention.getHidden();
    rules.queries = operands.q.rows, rules.keys = operands.k.rows;
    if (Value mask = attention.getMask()) {
      bool isShown = cast<RankedTensorType>(mask.getType()).getElementType().isInteger(1);
      (isShown ? rules.shown : rules.added) = true;
      rules.maskRow = operands.mask.row, rules.maskColumn = operands.mask.column;
    }
  }

  /// Views begin behind their buffers' first elements; those of masks count bytes.
  void moveToOffsets(ThreadCode &code) {
    for (auto [heads, offset] : offsets) {
      bool isByte = heads->element.isInteger(1), isBf16 = heads->element.isBF16();
      Type element = isByte   ? Type(code.b.getI8Type())
                     : isBf16 ? Type(code.b.getI16Type())
                              : Type(code.b.getF32Type());
      if (offset != 0)
        heads->data = code.at(heads->data, code.stretched(code.integer(1), offset), element);
    }
  }

  LogicalResult writeBlocks() {
    Operation *end = function.getBody().front().getTerminator();
    ThreadCode code(op->getLoc(), end);
    moveToOffsets(code);
    SharedArea shared(code, function);
    int64_t width = std::max(operands.q.columns, operands.v.columns);
    if (isTensor) {
      WarpShape shape = warpShapeOf(width, backward, isBf16 ? 2 : 4);
      TensorAttention blocks(op->getLoc(), end, shape, operands, rules, shared);
      if (failed(writeBlocks(blocks, shared, end, WarpShape::kThreads)))
        return failure();
      bool isLight = width <= kWide / 2 || (width <= kWide && !backward && !rules.added);
      askForBlocks(function, isLight ? 3 : 2);
      keepLoops(function);
      return success();
    }
    TileShape shape = shapeOf(width, backward);
    AttentionCode blocks(op->getLoc(), end, shape, operands, rules, shared);
    if (failed(writeBlocks(blocks, shared, end, shape.threads)))
      return failure();
    if (backward && (width <= kWide / 2 || width > kWide)) {
      askForBlocks(function, width > kVeryWide ? 2 : 4);
      keepLoops(function);
    }
    return success();
  }

  /// Those that own keys have more to do, and begin.
  template <typename Code> void writeBackward(Code &blocks, SharedArea &shared, Value block) {
    using Part = typename Code::Part;
    int64_t keyBlocks = blocks.keyBlocks();
    auto behind = [&](int64_t number) { return blocks.sub(block, blocks.integer(number)); };
    auto queries = [&](int64_t number) {
      shared.restart();
      blocks.backwardQueries(behind(number));
    };
    if (!blocks.splitsKeys())
      return blocks.choose(
          blocks.below(block, keyBlocks), [&] { blocks.backwardKeys(block, Part::Both); },
          [&] { queries(keyBlocks); });
    auto values = [&] {
      shared.restart();
      blocks.backwardKeys(behind(keyBlocks), Part::Values);
    };
    blocks.choose(
        blocks.below(block, keyBlocks), [&] { blocks.backwardKeys(block, Part::Keys); },
        [&] { blocks.choose(blocks.below(block, 2 * keyBlocks), values, [&] { queries(2 * keyBlocks); }); });
  }

  template <typename Code>
  LogicalResult writeBlocks(Code &blocks, SharedArea &shared, Operation *end, int64_t threads) {
    int64_t all = blocks.queryBlocks();
    if (backward)
      all += blocks.keyBlocks() * (blocks.splitsKeys() ? 2 : 1);
    if (all > kMostBlocks)
      return op->emitOpError("needs more blocks than a launch has [kernel-op]");
    Value block = readSpecialRegister(end, "ctaid.x", all);
    backward ? writeBackward(blocks, shared, block) : blocks.forward(block);
    shared.finish();
    assert(shared.bytes() <= SharedArea::kMost && "tiles do not fit");
    describeLaunch(kernel, function, all, threads, shared.askedBytes());
    return success();
  }

  func::FuncOp kernel;
  Operation *op;
  bool backward, isTensor, isBf16;
  LLVM::LLVMFuncOp function;
  AttentionOperands operands;
  ScoreRules rules;
  SmallVector<std::pair<Heads *, int64_t>> offsets;
};

} // namespace

LogicalResult emitAttentionKernel(func::FuncOp kernel) { return AttentionFrame(kernel).emit(); }

} // namespace accum::codegen
