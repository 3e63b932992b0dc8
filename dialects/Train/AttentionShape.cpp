// SPDX-License-Identifier: Apache-2.0
// Views of buffers, composed op by op.
#include "dialects/Train/AttentionShape.h"
#include "dialects/Train/GemmShape.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {

using View = std::optional<StridedView>;

static StridedView wholeBuffer(unsigned buffer, ArrayRef<int64_t> shape) {
  StridedView view{buffer, 0, SmallVector<int64_t>(shape), SmallVector<int64_t>(shape.size(), 1)};
  for (size_t i = shape.size(); i-- > 1;)
    view.strides[i - 1] = view.strides[i] * shape[i];
  return view;
}

/// Elements in the same order under another shape. Runs of axes whose products agree on both sides are
/// matched; the old ones of a run must be one step apart.
static View reshaped(const StridedView &view, ArrayRef<int64_t> shape) {
  StridedView result{view.buffer, view.offset, SmallVector<int64_t>(shape),
                     SmallVector<int64_t>(shape.size())};
  int64_t i = static_cast<int64_t>(view.shape.size()), j = static_cast<int64_t>(shape.size());
  while (j > 0) {
    // One old axis, split as far as it goes, then the next one if it continues it.
    int64_t left = 1, stride = 1;
    while (left == 1 && i > 0) {
      --i;
      left = view.shape[i], stride = view.strides[i];
    }
    for (; j > 0 && (left > 1 || shape[j - 1] == 1); --j) {
      int64_t extent = shape[j - 1];
      while (extent > left && i > 0) { // merge with the axis before
        --i;
        if (view.shape[i] != 1 && view.strides[i] != stride * left)
          return std::nullopt;
        left *= view.shape[i];
      }
      if (left % extent != 0)
        return std::nullopt;
      result.strides[j - 1] = stride;
      stride *= extent;
      left /= extent;
    }
    if (left != 1 || (j > 0 && i == 0))
      return std::nullopt;
  }
  return result;
}

static View transposed(const StridedView &view, ArrayRef<int64_t> perm) {
  StridedView result{view.buffer, view.offset, {}, {}};
  for (int64_t axis : perm) {
    result.shape.push_back(view.shape[axis]);
    result.strides.push_back(view.strides[axis]);
  }
  return result;
}

/// `starts` of slabs count slab rows.
static View sliced(StridedView view, nn::SliceOp slice) {
  auto slab = cast<RankedTensorType>(slice.getInput().getType()).getShape();
  SmallVector<int64_t> bound = boundShape(slice.getInput());
  for (size_t axis = 0; axis < slab.size(); ++axis) {
    view.offset += slice.getStarts()[axis] * (bound[axis] / slab[axis]) * view.strides[axis];
    view.strides[axis] *= slice.getStrides()[axis];
  }
  view.shape = boundShape(slice.getResult());
  return view;
}

View viewOfOperand(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return wholeBuffer(argument.getArgNumber(), boundShape(value));
  Operation *op = value.getDefiningOp();
  if (!isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp>(op))
    return std::nullopt;
  View input = viewOfOperand(op->getOperand(0));
  if (!input)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, View>(op)
      .Case([&](nn::ReshapeOp) { return reshaped(*input, boundShape(value)); })
      .Case([&](nn::TransposeOp transpose) { return transposed(*input, transpose.getPerm()); })
      .Case([&](nn::SliceOp slice) { return sliced(*input, slice); });
}

/// The part of a concat's result that its operand number `operand` becomes.
static View partOf(StridedView view, nn::ConcatOp concat, unsigned operand) {
  auto axis = static_cast<size_t>(concat.getAxis());
  for (Value before : concat.getInputs().take_front(operand))
    view.offset += boundShape(before)[axis] * view.strides[axis];
  view.shape = boundShape(concat.getInputs()[operand]);
  return view;
}

View viewOfResult(Value value) {
  if (!value.hasOneUse())
    return std::nullopt;
  OpOperand &use = *value.getUses().begin();
  Operation *user = use.getOwner();
  if (isa<func::ReturnOp>(user)) {
    auto arguments = value.getParentBlock()->getNumArguments();
    return wholeBuffer(arguments + use.getOperandNumber(), boundShape(value));
  }
  if (!isa<nn::ReshapeOp, nn::TransposeOp, nn::ConcatOp>(user))
    return std::nullopt;
  View result = viewOfResult(user->getResult(0));
  if (!result)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, View>(user)
      .Case([&](nn::ReshapeOp) { return reshaped(*result, boundShape(value)); })
      .Case([&](nn::TransposeOp transpose) {
        SmallVector<int64_t> inverse(transpose.getPerm().size());
        for (auto [i, axis] : llvm::enumerate(transpose.getPerm()))
          inverse[axis] = static_cast<int64_t>(i);
        return transposed(*result, inverse);
      })
      .Case([&](nn::ConcatOp concat) { return partOf(*result, concat, use.getOperandNumber()); });
}

Operation *attentionOf(func::FuncOp kernel) {
  for (Operation &op : kernel.getBody().front())
    if (isa<nn::AttentionOp, nn::AttentionBwdOp>(op))
      return &op;
  return nullptr;
}

/// Features of keys or of values, the more of them.
static int64_t widthOf(Operation *attention) {
  auto query = cast<RankedTensorType>(attention->getOperand(0).getType()),
       value = cast<RankedTensorType>(attention->getOperand(2).getType());
  return std::max(query.getDimSize(3), value.getDimSize(3));
}

bool fitsTiles(Operation *attention) {
  constexpr int64_t kWidest = 256;
  Type element = getElementTypeOrSelf(attention->getOperand(0));
  return (element.isF32() || element.isBF16()) && widthOf(attention) <= kWidest;
}

bool usesTensorCores(Operation *attention, StringRef precision) {
  constexpr int64_t kWidest = 128; // of f32 operands
  Type element = getElementTypeOrSelf(attention->getOperand(0));
  return element.isBF16() || (element.isF32() && precision == "tf32" && widthOf(attention) <= kWidest);
}

/// Four strides, those of absent axes 0; false where columns are not neighbours.
static bool finish(StridedView &view, bool isStatistic, bool isMask) {
  for (auto [extent, stride] : llvm::zip(view.shape, view.strides))
    if (extent == 1)
      stride = 0;
  if (isStatistic) {
    view.shape.push_back(1);
    view.strides.push_back(0);
  } else if (!isMask) {
    if (view.shape.back() == 1)
      view.strides.back() = 1;
    return view.strides.back() == 1;
  }
  return true;
}

std::optional<SmallVector<StridedView>> analyseAttention(func::FuncOp kernel) {
  Operation *op = attentionOf(kernel);
  if (!op)
    return std::nullopt;
  SmallVector<View> views;
  SmallVector<Value> values;
  auto read = [&](Value value) { views.push_back(viewOfOperand(value)), values.push_back(value); };
  auto write = [&](Value value) { views.push_back(viewOfResult(value)), values.push_back(value); };
  for (Value value : op->getOperands().take_front(3))
    read(value);
  auto backward = dyn_cast<nn::AttentionBwdOp>(op);
  Value mask = backward ? backward.getMask() : cast<nn::AttentionOp>(op).getMask();
  if (mask)
    read(mask);
  if (backward)
    for (Value value : {backward.getOutput(), backward.getLse(), backward.getDoutput()})
      read(value);
  for (Value value : op->getResults())
    write(value);
  SmallVector<StridedView> result;
  for (auto [view, value] : llvm::zip(views, values)) {
    bool isStatistic = cast<RankedTensorType>(value.getType()).getRank() == 3;
    if (!view || !finish(*view, isStatistic, value == mask))
      return std::nullopt;
    result.push_back(*view);
  }
  return result;
}

} // namespace accum
