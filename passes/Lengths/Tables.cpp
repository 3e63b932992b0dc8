// SPDX-License-Identifier: Apache-2.0
// Values made of constants, computed: masks of triangles, indices.
#include "passes/Lengths/Tables.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "passes/Lengths/Term.h"

using namespace mlir;

namespace accum::lengths {

static constexpr int64_t kLargest = int64_t{1} << 21;

static double numberOf(const APInt &value, bool isBit) {
  return isBit ? static_cast<double>(value.getZExtValue()) : static_cast<double>(value.getSExtValue());
}

std::vector<double> elementsOf(Attribute value) {
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      dense = DenseElementsAttr::getFromRawBuffer(resource.getType(), blob->getData());
  std::vector<double> elements;
  if (!dense)
    return elements;
  bool isBit = dense.getElementType().isInteger(1);
  if (isa<FloatType>(dense.getElementType())) {
    if (dense.isSplat())
      return {dense.getSplatValue<APFloat>().convertToDouble()};
    for (const APFloat &each : dense.getValues<APFloat>())
      elements.push_back(each.convertToDouble());
  } else if (isa<IntegerType>(dense.getElementType())) {
    if (dense.isSplat())
      return {numberOf(dense.getSplatValue<APInt>(), isBit)};
    for (const APInt &each : dense.getValues<APInt>())
      elements.push_back(numberOf(each, isBit));
  }
  return elements;
}

static SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

/// result[index] = read(offset), the offset being the sum of index[axis] * strides[axis] + start.
static Table strided(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides, int64_t start,
                     function_ref<double(int64_t)> read) {
  Table table{SmallVector<int64_t>(shape), {}};
  int64_t count = ShapedType::getNumElements(shape), offset = start;
  table.data.reserve(count);
  SmallVector<int64_t> index(shape.size());
  for (int64_t n = 0; n < count; ++n) {
    table.data.push_back(read(offset));
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return table;
}

static Table strided(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides, int64_t start, const Table &from) {
  return strided(shape, strides, start, [&](int64_t offset) { return from.data[offset]; });
}

static Table broadcast(const Table &from, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> own = stridesOf(from.shape), strides(shape.size());
  size_t lead = shape.size() - from.shape.size();
  for (size_t axis = 0; axis < from.shape.size(); ++axis)
    strides[lead + axis] = from.shape[axis] == 1 ? 0 : own[axis];
  return strided(shape, strides, 0, from);
}

static std::optional<Table> elementwise(nn::ElementwiseOp op, ArrayRef<const Table *> operands,
                                        ArrayRef<int64_t> shape) {
  SmallVector<Table> spread;
  for (const Table *each : operands)
    spread.push_back(broadcast(*each, shape));
  Type element = cast<RankedTensorType>(op.getOperands().back().getType()).getElementType();
  Table result{SmallVector<int64_t>(shape), {}};
  SmallVector<double> x(spread.size());
  for (int64_t n = 0, count = ShapedType::getNumElements(shape); n < count; ++n) {
    for (auto [number, from] : llvm::zip(x, spread))
      number = from.data[n];
    std::optional<double> y = apply(op.getFn(), x, element);
    if (!y)
      return std::nullopt;
    result.data.push_back(*y);
  }
  return result;
}

static Table castTo(const Table &from, Type element) {
  Table result = from;
  for (double &x : result.data)
    x = element.isInteger(1)      ? x != 0
        : isa<FloatType>(element) ? rounded(x, element)
                                  : (std::isfinite(x) ? std::trunc(x) : 0);
  return result;
}

static Table slice(nn::SliceOp op, const Table &from, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides = stridesOf(from.shape);
  int64_t start = 0;
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    start += op.getStarts()[axis] * strides[axis];
    strides[axis] *= op.getStrides()[axis];
  }
  return strided(shape, strides, start, from);
}

static Table transpose(nn::TransposeOp op, const Table &from, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> own = stridesOf(from.shape), strides;
  for (int64_t axis : op.getPerm())
    strides.push_back(own[axis]);
  return strided(shape, strides, 0, from);
}

std::optional<Table> computeTable(Operation *op, ArrayRef<const Table *> operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  ArrayRef<int64_t> shape = type.getShape();
  if (type.getNumElements() > kLargest)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Table>>(op)
      .Case([&](nn::ConstantOp constant) -> std::optional<Table> {
        std::vector<double> elements = elementsOf(constant.getValue());
        if (elements.size() == 1)
          elements.resize(type.getNumElements(), elements[0]);
        return static_cast<int64_t>(elements.size()) == type.getNumElements()
                   ? std::optional(Table{SmallVector<int64_t>(shape), std::move(elements)})
                   : std::nullopt;
      })
      .Case([&](nn::IotaOp iota) {
        SmallVector<int64_t> strides(shape.size());
        strides[iota.getDim()] = 1;
        return strided(shape, strides, 0, [](int64_t offset) { return static_cast<double>(offset); });
      })
      .Case([&](nn::ElementwiseOp elementwiseOp) { return elementwise(elementwiseOp, operands, shape); })
      .Case([&](nn::CastOp) { return castTo(*operands[0], type.getElementType()); })
      .Case([&](nn::ReshapeOp) { return Table{SmallVector<int64_t>(shape), operands[0]->data}; })
      .Case([&](nn::BroadcastOp) { return broadcast(*operands[0], shape); })
      .Case([&](nn::SliceOp sliceOp) { return slice(sliceOp, *operands[0], shape); })
      .Case([&](nn::TransposeOp transposeOp) { return transpose(transposeOp, *operands[0], shape); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Table> cutTable(Operation *op) {
  auto cut = dyn_cast<nn::SliceOp>(op);
  auto constant = cut ? cut.getInput().getDefiningOp<nn::ConstantOp>() : nn::ConstantOp();
  if (!constant || cut.getType().getNumElements() > kLargest)
    return std::nullopt;
  RankedTensorType from = constant.getType();
  Table all{SmallVector<int64_t>(from.getShape()), elementsOf(constant.getValue())};
  if (all.data.size() == 1)
    return Table{SmallVector<int64_t>(cut.getType().getShape()),
                 std::vector<double>(cut.getType().getNumElements(), all.data[0])};
  return static_cast<int64_t>(all.data.size()) == from.getNumElements()
             ? std::optional(slice(cut, all, cut.getType().getShape()))
             : std::nullopt;
}

std::optional<Table> Tables::compute(Operation *op) {
  Operation *largest = sizes.opAt(op, sizes.count() - 1);
  if (std::optional<Table> cut = largest ? cutTable(largest) : std::nullopt)
    return cut;
  SmallVector<const Table *> operands;
  for (Value operand : op->getOperands())
    operands.push_back(find(operand));
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  if (!largest) // a slice that takes all
    return *operands[0];
  return computeTable(largest, operands);
}

const Table *Tables::find(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  if (auto it = known.find(value); it != known.end())
    return it->second.get();
  std::optional<Table> table = compute(op);
  auto kept = table ? std::make_unique<Table>(std::move(*table)) : std::unique_ptr<Table>();
  return (known[value] = std::move(kept)).get();
}

/// The number of all elements whose flat index is one of those; they include the first.
static std::optional<double> numberWhere(const Table *table, function_ref<bool(int64_t)> isOne) {
  if (!table || table->data.empty())
    return std::nullopt;
  for (size_t n = 0; n < table->data.size(); ++n)
    if (isOne(static_cast<int64_t>(n)) && table->data[n] != table->data[0])
      return std::nullopt;
  return table->data[0];
}

std::optional<double> Tables::firstNumber(Value value, int64_t axis) {
  const Table *table = find(value);
  SmallVector<int64_t> strides = table ? stridesOf(table->shape) : SmallVector<int64_t>();
  return numberWhere(table, [&](int64_t n) { return n / strides[axis] % table->shape[axis] == 0; });
}

std::optional<double> Tables::diagonalNumber(Value value, int64_t axis, int64_t other) {
  const Table *table = find(value);
  SmallVector<int64_t> strides = table ? stridesOf(table->shape) : SmallVector<int64_t>();
  return numberWhere(table, [&](int64_t n) {
    return n / strides[axis] % table->shape[axis] == n / strides[other] % table->shape[other];
  });
}

std::optional<Fill> Tables::causalFill(Value value, int64_t axis, int64_t other) {
  const Table *table = find(value);
  if (!table)
    return std::nullopt;
  SmallVector<int64_t> strides = stridesOf(table->shape);
  int64_t extent = table->shape[axis], queries = table->shape[other];
  // The last position of the first query is hidden, if any is.
  double hidden = table->data[(extent - 1) * strides[axis]];
  int64_t from = 1 - queries; // the last query may hide all
  for (size_t n = 0; n < table->data.size(); ++n) {
    auto at = static_cast<int64_t>(n);
    if (table->data[n] != hidden)
      from = std::max(from, at / strides[axis] % extent - at / strides[other] % queries);
  }
  if (from >= extent - 1)
    return std::nullopt;
  Fill fill;
  fill.number = hidden;
  fill.from = from;
  fill.isCausal = true;
  return fill;
}

} // namespace accum::lengths
