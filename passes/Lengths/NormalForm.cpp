// SPDX-License-Identifier: Apache-2.0
// One form of a graph whatever folds at its size.
#include "passes/Lengths/NormalForm.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/PlacedBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Lengths/Tables.h"
#include <cmath>

using namespace mlir;

namespace accum::lengths {
namespace {

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Rows `start`, `start` + 1, ..., `count` of them.
struct Run {
  int64_t start, count;
};

class NormalForm {
public:
  explicit NormalForm(func::FuncOp forward)
      : body(forward.getBody().front()), builder(forward.getContext()), placed(forward.getContext()) {}

  void run() {
    findTables();
    spellTables();
    for (Operation &op : llvm::make_early_inc_range(body))
      if (auto attention = dyn_cast<nn::AttentionOp>(op))
        gatherMask(attention);
    spellTables();
    spellMasks();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
        shapeIndex(reshape);
    }
    for (Operation &op : llvm::make_early_inc_range(body))
      if (auto gather = dyn_cast<nn::GatherOp>(op))
        slicePieces(gather);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }

private:
  void findTables();
  void spellTables();
  void shapeIndex(nn::ReshapeOp reshape);
  void slicePieces(nn::GatherOp gather);
  void gatherMask(nn::AttentionOp attention);
  Value triangle(nn::AttentionOp attention);
  void spellMasks();
  Value copyOf(Value mask, const DenseMap<Value, int64_t> &masks);
  Value together(Value a, Value b);
  Value piece(Value from, int64_t axis, Run run);
  ElementsAttr attributeOf(Value value) const;

  Block &body;
  OpBuilder builder;
  nn::PlacedBuilder placed;
  DenseMap<Value, Table> tables;
};

/// Numbers that an attribute of that type holds exactly.
bool areExact(const Table &table, Type element) {
  constexpr double kExact = 9007199254740992; // 2^53
  return isa<FloatType>(element) || llvm::all_of(table.data, [](double x) { return std::abs(x) < kExact; });
}

void NormalForm::findTables() {
  for (Operation &op : body) {
    SmallVector<const Table *> operands;
    for (Value operand : op.getOperands())
      if (auto found = tables.find(operand); found != tables.end())
        operands.push_back(&found->second);
    bool isMade = op.getNumResults() == 1 && operands.size() == op.getNumOperands() &&
                  nn::Placement::of(op.getResult(0).getType()).isReplicated();
    std::optional<Table> table = isMade ? computeTable(&op, operands) : cutTable(&op);
    if (table && (isa<nn::ConstantOp>(op) || areExact(*table, typeOf(op.getResult(0)).getElementType())))
      tables.try_emplace(op.getResult(0), std::move(*table));
  }
}

ElementsAttr NormalForm::attributeOf(Value value) const {
  if (auto constant = value.getDefiningOp<nn::ConstantOp>())
    return constant.getValue();
  Type element = typeOf(value).getElementType();
  const std::vector<double> &data = tables.find(value)->second.data;
  auto type = RankedTensorType::get(typeOf(value).getShape(), element);
  if (auto real = dyn_cast<FloatType>(element))
    return DenseElementsAttr::get(type, llvm::map_to_vector(data, [&](double x) {
                                    APFloat number(x);
                                    bool loses = false;
                                    number.convert(real.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                                                   &loses);
                                    return number;
                                  }));
  return DenseElementsAttr::get(type, llvm::map_to_vector(data, [&](double x) {
                                  return APInt(element.getIntOrFloatBitWidth(), static_cast<int64_t>(x),
                                               /*isSigned=*/true, /*implicitTrunc=*/true);
                                }));
}

/// One for each use: which of them are equal is a matter of the size.
void NormalForm::spellTables() {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.getNumResults() == 1 && tables.contains(op.getResult(0)))
      continue;
    builder.setInsertionPoint(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = operand.get();
      if (!tables.contains(value))
        continue;
      Location location = value.getDefiningOp()->getLoc();
      Value constant = nn::ConstantOp::create(builder, location, value.getType(), attributeOf(value));
      Table table = tables.find(value)->second; // the map may move while it grows
      tables.try_emplace(constant, std::move(table));
      operand.set(constant);
    }
  }
}

/// A table's rows at a flat index, then a reshape: at an index of that shape.
void NormalForm::shapeIndex(nn::ReshapeOp reshape) {
  auto gather = reshape.getInput().getDefiningOp<nn::GatherOp>();
  auto index = gather ? tables.find(gather.getIndices()) : tables.end();
  if (index == tables.end() || index->second.shape.size() != 1 || gather.getBatchDims() != 0)
    return;
  ArrayRef<int64_t> from = typeOf(gather.getResult()).getShape(), to = typeOf(reshape.getResult()).getShape();
  size_t axis = gather.getAxis(), after = from.size() - axis - 1;
  if (to.size() < axis + 1 + after || to.take_front(axis) != from.take_front(axis) ||
      to.take_back(after) != from.take_back(after))
    return;
  ArrayRef<int64_t> shape = to.drop_front(axis).drop_back(after);
  if (ShapedType::getNumElements(shape) != from[axis])
    return;
  builder.setInsertionPoint(gather);
  auto flat = typeOf(gather.getIndices());
  auto type = RankedTensorType::get(shape, flat.getElementType(), flat.getEncoding());
  auto value = dyn_cast<DenseElementsAttr>(attributeOf(gather.getIndices()));
  if (!value)
    return;
  Value shaped = nn::ConstantOp::create(builder, gather.getLoc(), type,
                                        value.reshape(RankedTensorType::get(shape, flat.getElementType())));
  Value rows = nn::GatherOp::create(builder, gather.getLoc(), reshape.getType(), gather.getInput(), shaped,
                                    gather.getAxisAttr(), gather.getBatchDimsAttr());
  reshape.getResult().replaceAllUsesWith(rows);
}

/// At most two of them; none where there are more, or an index counts from the end.
SmallVector<Run, 2> runsOf(const Table &index) {
  SmallVector<Run, 2> runs;
  for (double at : index.data) {
    auto row = static_cast<int64_t>(at);
    if (!runs.empty() && runs.back().start + runs.back().count == row)
      ++runs.back().count;
    else if (row >= 0 && runs.size() < 2)
      runs.push_back({row, 1});
    else
      return {};
  }
  return runs;
}

/// Those rows, of the one operand of a concatenation that has them.
Value NormalForm::piece(Value from, int64_t axis, Run run) {
  RankedTensorType type = typeOf(from);
  if (run.start == 0 && run.count == type.getDimSize(axis))
    return from;
  auto concat = from.getDefiningOp<nn::ConcatOp>();
  int64_t start = run.start;
  for (Value part :
       concat &&concat.getAxis() == static_cast<uint64_t>(axis) ? concat.getInputs() : ValueRange()) {
    int64_t extent = typeOf(part).getDimSize(axis);
    if (start >= 0 && start + run.count <= extent)
      return piece(part, axis, {start, run.count});
    start -= extent;
  }
  SmallVector<int64_t> shape(type.getShape()), starts(shape.size(), 0), strides(shape.size(), 1);
  shape[axis] = run.count;
  starts[axis] = run.start;
  auto result = RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
  return nn::SliceOp::create(builder, from.getLoc(), result, from, builder.getDenseI64ArrayAttr(starts),
                             builder.getDenseI64ArrayAttr(strides));
}

void NormalForm::slicePieces(nn::GatherOp gather) {
  auto index = tables.find(gather.getIndices());
  nn::Placement placement = nn::Placement::of(gather.getInput().getType());
  int64_t axis = gather.getAxis();
  bool isRows = index != tables.end() && index->second.shape.size() == 1 && gather.getBatchDims() == 0 &&
                !(placement.isBatched() && placement.dim == axis) &&
                typeOf(gather.getResult()).getEncoding() == typeOf(gather.getInput()).getEncoding();
  SmallVector<Run, 2> runs = isRows ? runsOf(index->second) : SmallVector<Run, 2>();
  if (runs.empty())
    return;
  builder.setInsertionPoint(gather);
  SmallVector<Value> pieces;
  for (Run run : runs)
    pieces.push_back(piece(gather.getInput(), axis, run));
  Value rows =
      pieces.size() == 1
          ? pieces[0]
          : nn::ConcatOp::create(builder, gather.getLoc(), gather.getType(), pieces, axis).getResult();
  gather.getResult().replaceAllUsesWith(rows);
}

/// Elementwise, or the same elements in another shape or type.
bool isOfElements(Operation *op) {
  return isa<nn::ElementwiseOp, nn::CastOp, nn::ReshapeOp, nn::BroadcastOp, nn::TransposeOp>(op);
}

Value NormalForm::copyOf(Value mask, const DenseMap<Value, int64_t> &masks) {
  Operation *op = mask.getDefiningOp();
  if (!op || (!masks.contains(mask) && !tables.contains(mask)))
    return mask;
  IRMapping operands;
  for (Value each : op->getOperands())
    operands.map(each, copyOf(each, masks));
  Value copy = builder.clone(*op, operands)->getResult(0);
  if (auto table = tables.find(mask); table != tables.end()) {
    Table same = table->second;
    tables.try_emplace(copy, std::move(same));
  }
  return copy;
}

/// What is made of inputs and tables element by element, one for each use: masks of a window and without are
/// one where the window is no narrower than the size.
void NormalForm::spellMasks() {
  constexpr int64_t kMost = 64; // ops, each as often as it is read
  DenseMap<Value, int64_t> masks;
  for (Operation &op : body) {
    if (!isOfElements(&op) || tables.contains(op.getResult(0)))
      continue;
    int64_t count = 1;
    for (Value operand : op.getOperands()) {
      auto inner = masks.find(operand);
      bool isLeaf = isa<BlockArgument>(operand) || tables.contains(operand);
      count += inner != masks.end() ? inner->second : isLeaf ? 1 : kMost;
    }
    if (count <= kMost)
      masks[op.getResult(0)] = count;
  }
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.getNumResults() == 1 && masks.contains(op.getResult(0)))
      continue;
    builder.setInsertionPoint(&op);
    for (OpOperand &operand : op.getOpOperands())
      if (masks.contains(operand.get()))
        operand.set(copyOf(operand.get(), masks));
  }
}

/// The conditions that must all hold, in order.
void conditionsOf(Value mask, SmallVectorImpl<Value> &conditions) {
  auto both = mask.getDefiningOp<nn::ElementwiseOp>();
  if (!both || both.getFn() != nn::ElementwiseFn::logical_and) {
    conditions.push_back(mask);
    return;
  }
  for (Value each : both.getOperands())
    conditionsOf(each, conditions);
}

/// Key j and query i at 1 where j <= i.
Value NormalForm::triangle(nn::AttentionOp attention) {
  int64_t queries = typeOf(attention.getQuery()).getDimSize(2),
          keys = typeOf(attention.getKey()).getDimSize(2);
  Table table{{1, 1, queries, keys}, {}};
  for (int64_t at = 0; at < queries * keys; ++at)
    table.data.push_back(at % keys <= at / keys);
  auto type = RankedTensorType::get(table.shape, placed.getI1Type());
  auto bits = llvm::map_to_vector(table.data, [](double x) { return x != 0; });
  Value constant =
      nn::ConstantOp::create(placed, attention.getLoc(), type, DenseElementsAttr::get(type, bits));
  tables.try_emplace(constant, std::move(table));
  return constant;
}

/// Both of them; a table, where both are.
Value NormalForm::together(Value a, Value b) {
  if (!a)
    return b;
  Value both =
      nn::ElementwiseOp::create(placed, b.getLoc(), nn::ElementwiseFn::logical_and, ValueRange{a, b});
  auto first = tables.find(a), second = tables.find(b);
  if (first == tables.end() || second == tables.end())
    return both;
  std::optional<Table> table = computeTable(both.getDefiningOp(), {&first->second, &second->second});
  if (table)
    tables.try_emplace(both, std::move(*table));
  return both;
}

/// Causal order and tables as one table, since a window that is no narrower than a size is causal order
/// there; then the other conditions.
void NormalForm::gatherMask(nn::AttentionOp attention) {
  Value mask = attention.getMask();
  if (mask && !typeOf(mask).getElementType().isInteger(1))
    return;
  SmallVector<Value> conditions;
  if (mask)
    conditionsOf(mask, conditions);
  placed.setInsertionPoint(attention);
  Value gathered = attention.getCausal() ? triangle(attention) : Value();
  for (bool isTable : {true, false})
    for (Value each : conditions)
      if (tables.contains(each) == isTable)
        gathered = together(gathered, each);
  if (!gathered)
    return;
  auto masked = nn::AttentionOp::create(
      placed, attention.getLoc(), attention.getResultTypes(), attention.getQuery(), attention.getKey(),
      attention.getValue(), gathered, attention.getHidden(), /*causal=*/false, attention.getScale());
  attention.replaceAllUsesWith(masked);
}

} // namespace

OwningOpRef<func::FuncOp> inNormalForm(func::FuncOp forward) {
  OwningOpRef<func::FuncOp> copy = forward.clone();
  NormalForm(*copy).run();
  return copy;
}

} // namespace accum::lengths
