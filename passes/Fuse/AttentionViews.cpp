// SPDX-License-Identifier: Apache-2.0
// Views on the way into an attention are cloned for it, those on the way out are taken along.
#include "passes/Fuse/AttentionViews.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/AttentionShape.h"
#include "passes/Fuse/Outline.h"

using namespace mlir;

namespace accum {
namespace {

using Leaders = DenseMap<Operation *, Operation *>;

bool isAttention(Operation *op) { return isa<nn::AttentionOp, nn::AttentionBwdOp>(op); }

bool isReadView(Operation *op) { return isa_and_nonnull<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp>(op); }

/// Reads and writes of one attention, tried on a kernel of its own: views there end at arguments and results.
class ViewTrial {
public:
  explicit ViewTrial(Operation *attention) : attention(attention) {}

  /// Whether operand number `operand` can be read in place through `chain`, its producers from the nearest
  /// on.
  bool reads(unsigned operand, ArrayRef<Operation *> chain) const {
    return runs([&](OpBuilder &builder, Block *body, Operation *copy) {
      Value value = body->addArgument(chain.back()->getOperand(0).getType(), copy->getLoc());
      builder.setInsertionPoint(copy);
      for (Operation *op : llvm::reverse(chain))
        value = applied(builder, op, value);
      copy->setOperand(operand, value);
    });
  }

  /// The same for a result and its users.
  bool writes(unsigned result, ArrayRef<Operation *> chain) const {
    return runs([&](OpBuilder &builder, Block *, Operation *copy) {
      Operation *end = copy->getBlock()->getTerminator();
      builder.setInsertionPoint(end);
      Value value = copy->getResult(result);
      for (Operation *op : chain)
        value = applied(builder, op, value);
      end->setOperand(result, value);
    });
  }

private:
  static Value applied(OpBuilder &builder, Operation *op, Value operand) {
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, operand);
    return copy->getResult(0);
  }

  bool runs(function_ref<void(OpBuilder &, Block *, Operation *)> change) const {
    OpBuilder builder(attention->getContext());
    Location loc = attention->getLoc();
    OwningOpRef<func::FuncOp> kernel = func::FuncOp::create(loc, "trial", builder.getFunctionType({}, {}));
    Block *body = kernel->addEntryBlock();
    builder.setInsertionPointToEnd(body);
    Operation *copy = builder.clone(*attention);
    for (OpOperand &operand : copy->getOpOperands())
      operand.set(body->addArgument(operand.get().getType(), loc));
    func::ReturnOp::create(builder, loc, copy->getResults());
    change(builder, body, copy);
    return analyseAttention(*kernel).has_value();
  }

  Operation *attention;
};

void claimOperand(const ViewTrial &trial, OpOperand &operand, Leaders &leaders) {
  SmallVector<Operation *> chain;
  // What another attention writes through is behind its result.
  for (Operation *op = operand.get().getDefiningOp(); isReadView(op) && !leaders.contains(op);
       op = op->getOperand(0).getDefiningOp())
    chain.push_back(op);
  // A reshape at the end is a free view outside too.
  while (!chain.empty() &&
         (isa<nn::ReshapeOp>(chain.back()) || !trial.reads(operand.getOperandNumber(), chain)))
    chain.pop_back();
  if (chain.empty())
    return;
  Operation *attention = operand.getOwner();
  OpBuilder builder(attention);
  Value value = chain.back()->getOperand(0);
  for (Operation *op : llvm::reverse(chain)) {
    Operation *copy = builder.clone(*op);
    copy->setOperand(0, value);
    leaders[copy] = attention;
    value = copy->getResult(0);
  }
  operand.set(value);
}

/// The ops that `value` goes through and nothing else does.
SmallVector<Operation *> usersInLine(Value value) {
  SmallVector<Operation *> chain;
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (!isa<nn::ReshapeOp, nn::TransposeOp>(user))
      break;
    chain.push_back(user);
    value = user->getResult(0);
  }
  return chain;
}

/// The concat that puts the results of one attention, and nothing else, side by side in one buffer.
nn::ConcatOp commonConcat(Operation *attention, ArrayRef<SmallVector<Operation *>> chains) {
  nn::ConcatOp common;
  DenseSet<Value> ends;
  for (auto [result, chain] : llvm::zip(attention->getResults(), chains)) {
    Value end = chain.empty() ? Value(result) : chain.back()->getResult(0);
    if (!end.hasOneUse())
      continue;
    ends.insert(end);
    if (auto concat = dyn_cast<nn::ConcatOp>(*end.getUsers().begin()))
      common = concat;
  }
  bool isOwn = common && llvm::all_of(common.getInputs(), [&](Value input) { return ends.contains(input); });
  return isOwn ? common : nn::ConcatOp();
}

/// The derivative reads the output where it is written for everyone else: y with its axes transposed.
void readTransposedOutput(nn::AttentionOp attention) {
  Value output = attention.getResult();
  nn::TransposeOp transposed;
  SmallVector<OpOperand *> others;
  for (OpOperand &use : output.getUses()) {
    auto user = dyn_cast<nn::TransposeOp>(use.getOwner());
    if (user && !transposed)
      transposed = user;
    else if (isAttention(use.getOwner()))
      others.push_back(&use);
    else
      return;
  }
  SmallVector<int64_t> inverse(4);
  for (int64_t i = 0; transposed && i < 4; ++i)
    inverse[transposed.getPerm()[i]] = i;
  for (OpOperand *use : transposed ? others : SmallVector<OpOperand *>()) {
    OpBuilder builder(use->getOwner());
    use->set(nn::TransposeOp::create(builder, attention.getLoc(), output.getType(), transposed.getResult(),
                                     inverse));
  }
}

void claimResults(const ViewTrial &trial, Operation *attention, Leaders &leaders) {
  SmallVector<SmallVector<Operation *>> chains;
  for (OpResult result : attention->getResults()) {
    SmallVector<Operation *> chain = usersInLine(result);
    while (!chain.empty() && !trial.writes(result.getResultNumber(), chain))
      chain.pop_back();
    chains.push_back(chain);
  }
  nn::ConcatOp concat = commonConcat(attention, chains);
  for (SmallVector<Operation *> &chain : chains) {
    while (!concat && !chain.empty() && isa<nn::ReshapeOp>(chain.back()))
      chain.pop_back();
    for (Operation *op : chain)
      leaders[op] = attention;
  }
  if (concat)
    leaders[concat] = attention;
}

} // namespace

void materialiseMasks(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isAttention(&op) || !isKernelConstant(op.getOperands().back().getDefiningOp()))
      continue;
    OpBuilder builder(&op);
    Value mask = op.getOperands().back();
    op.setOperand(op.getNumOperands() - 1,
                  nn::BroadcastOp::create(builder, mask.getLoc(), mask.getType(), mask));
  }
}

void claimViews(Block &block, Leaders &leaders) {
  for (auto attention : block.getOps<nn::AttentionOp>())
    readTransposedOutput(attention);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isAttention(&op))
      continue;
    ViewTrial trial(&op);
    leaders[&op] = &op;
    for (OpOperand &operand : op.getOpOperands())
      claimOperand(trial, operand, leaders);
    claimResults(trial, &op, leaders);
  }
}

} // namespace accum
