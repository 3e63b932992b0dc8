// SPDX-License-Identifier: Apache-2.0
// Letters -> M, N, K and batch dimensions with strides.
#include "dialects/Train/GemmShape.h"
#include "dialects/NN/Placement.h"
#include "dialects/Train/RowPitch.h"

using namespace mlir;

namespace accum {
namespace {

constexpr size_t kMaxBatchDims = 4;

/// An index, or several merged into one: its extent and its stride in A, B and C (0: absent there).
struct Axis {
  int64_t extent = 1;
  std::array<int64_t, 3> stride = {0, 0, 0};
};
using Axes = SmallVector<Axis, 4>;

/// An index that is not there; strides do not matter.
constexpr Axis kNone{};

struct Groups {
  Axes m, n, k, batch;
  bool summed = false, free = false; ///< has letters that are summed; has letters of one operand
};

/// The axis of one letter over (lhs, rhs, result).
Axis axisOf(char letter, ArrayRef<StringRef> letters, ArrayRef<SmallVector<int64_t>> shapes,
            GemmPitches pitches) {
  Axis axis;
  for (size_t tensor = 0; tensor < 3; ++tensor) {
    size_t at = letters[tensor].find(letter);
    if (at == StringRef::npos)
      continue;
    axis.extent = shapes[tensor][at];
    axis.stride[tensor] = 1;
    SmallVector<int64_t> lying = withPitch(shapes[tensor], pitches[tensor]);
    for (int64_t extent : ArrayRef(lying).drop_front(at + 1))
      axis.stride[tensor] *= extent;
  }
  return axis;
}

/// Joins neighbours that every tensor steps through with one stride; `order` is the tensor to sort by.
void merge(Axes &axes, size_t order) {
  llvm::sort(axes, [&](const Axis &x, const Axis &y) { return x.stride[order] > y.stride[order]; });
  Axes merged;
  for (const Axis &inner : axes) {
    auto continues = [&](size_t tensor) {
      return merged.back().stride[tensor] == inner.stride[tensor] * inner.extent;
    };
    if (!merged.empty() && continues(0) && continues(1) && continues(2))
      merged.back() = {merged.back().extent * inner.extent, inner.stride};
    else
      merged.push_back(inner);
  }
  axes = merged;
}

Groups groupsOf(nn::ContractOp contract, GemmPitches pitches) {
  std::array<StringRef, 3> letters = {contract.lhsLetters(), contract.rhsLetters(), contract.resultLetters()};
  std::array<SmallVector<int64_t>, 3> shapes = {boundShape(contract.getLhs()), boundShape(contract.getRhs()),
                                                boundShape(contract.getResult())};
  std::string all = letters[0].str();
  for (char letter : letters[1])
    if (!letters[0].contains(letter))
      all += letter;
  Groups groups;
  for (char letter : all) {
    bool inA = letters[0].contains(letter), inB = letters[1].contains(letter),
         inC = letters[2].contains(letter);
    groups.summed |= !inC;
    groups.free |= inC && inA != inB;
    Axis axis = axisOf(letter, letters, shapes, pitches);
    if (axis.extent != 1)
      (!inC ? groups.k : !inB ? groups.m : !inA ? groups.n : groups.batch).push_back(axis);
  }
  merge(groups.m, 2);
  merge(groups.n, 2);
  merge(groups.k, 0);
  merge(groups.batch, 2);
  return groups;
}

/// [row, col] strides of a matrix whose indices step by these; an index that is not there takes what makes
/// the other one legal. Nothing where neither is 1.
std::optional<std::array<int64_t, 2>> matrix(const Axis &row, int64_t rowStride, const Axis &col,
                                             int64_t colStride) {
  if (col.extent == 1)
    return std::array<int64_t, 2>{row.extent == 1 ? 1 : rowStride, 1};
  if (row.extent == 1)
    return std::array<int64_t, 2>{colStride == 1 ? col.extent : 1, colStride};
  if (rowStride != 1 && colStride != 1)
    return std::nullopt;
  return std::array<int64_t, 2>{rowStride, colStride};
}

/// A is tensor `a` (0 or 1), B the other one.
std::optional<Gemm> assemble(unsigned a, const Axis &m, const Axis &n, const Axis &k, ArrayRef<Axis> batch) {
  unsigned b = 1 - a;
  if (batch.size() > kMaxBatchDims || (n.extent != 1 && n.stride[2] != 1))
    return std::nullopt;
  auto aStrides = matrix(m, m.stride[a], k, k.stride[a]);
  auto bStrides = matrix(k, k.stride[b], n, n.stride[b]);
  if (!aStrides || !bStrides)
    return std::nullopt;
  Gemm gemm;
  gemm.a = a;
  gemm.b = b;
  gemm.m = m.extent;
  gemm.n = n.extent;
  gemm.k = k.extent;
  std::tie(gemm.aRow, gemm.aCol) = std::tuple((*aStrides)[0], (*aStrides)[1]);
  std::tie(gemm.bRow, gemm.bCol) = std::tuple((*bStrides)[0], (*bStrides)[1]);
  gemm.cRow = m.extent == 1 ? n.extent : m.stride[2];
  for (const Axis &axis : batch) {
    gemm.batch.push_back(axis.extent);
    gemm.aBatch.push_back(axis.stride[a]);
    gemm.bBatch.push_back(axis.stride[b]);
    gemm.cBatch.push_back(axis.stride[2]);
  }
  return gemm;
}

/// M and N are `groups.m[mi]` and `groups.n[ni]`; what else is in these groups becomes batch.
std::optional<Gemm> choose(const Groups &groups, size_t mi, size_t ni) {
  Axes batch = groups.batch;
  for (auto [i, axis] : llvm::enumerate(groups.m))
    if (i != mi)
      batch.push_back(axis);
  for (auto [i, axis] : llvm::enumerate(groups.n))
    if (i != ni)
      batch.push_back(axis);
  merge(batch, 2);
  const Axis &m = groups.m.empty() ? kNone : groups.m[mi];
  const Axis &n = groups.n.empty() ? kNone : groups.n[ni];
  const Axis &k = groups.k.empty() ? kNone : groups.k.front();
  if (auto gemm = assemble(0, m, n, k, batch))
    return gemm;
  return assemble(1, n, m, k, batch); // the transposed product
}

bool isSupported(nn::ContractOp contract) {
  auto elementOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); };
  Type element = elementOf(contract.getLhs()), other = elementOf(contract.getRhs()),
       result = elementOf(contract.getResult());
  // Beside bf16 a weight may stay f32, as B of the product, which the host rounds while it reads.
  bool isMixed = (element.isBF16() && other.isF32()) || (element.isF32() && other.isBF16());
  if (isMixed)
    return result.isBF16() || result.isF32();
  if (other != element)
    return false;
  return result == element ? element.isF32() || element.isF64() || element.isBF16()
                           : element.isBF16() && result.isF32();
}

} // namespace

SmallVector<int64_t> boundShape(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  auto placement = nn::Placement::of(type);
  if (placement.isBatched())
    shape[placement.dim] *= kSomeMicroBatch;
  return shape;
}

std::optional<Gemm> analyseGemm(nn::ContractOp contract) {
  // A kernel with a product returns that alone, or a sum of its shape.
  auto kernel = dyn_cast_or_null<func::FuncOp>(contract->getParentOp());
  int64_t result = kernel && kernel.getNumResults() == 1 ? resultPitch(kernel, 0) : 0;
  return analyseGemm(contract, {pitchInKernel(contract.getLhs()), pitchInKernel(contract.getRhs()), result});
}

std::optional<Gemm> analyseGemm(nn::ContractOp contract, GemmPitches pitches) {
  Groups groups = groupsOf(contract, pitches);
  if (!isSupported(contract) || !groups.summed || !groups.free || groups.k.size() > 1)
    return std::nullopt;
  std::optional<Gemm> best;
  for (size_t mi = 0; mi < std::max<size_t>(groups.m.size(), 1); ++mi)
    for (size_t ni = 0; ni < std::max<size_t>(groups.n.size(), 1); ++ni) {
      auto gemm = choose(groups, mi, ni);
      if (gemm && (!best || double(gemm->m) * gemm->n > double(best->m) * best->n))
        best = gemm;
    }
  return best;
}

Value biasOf(nn::ContractOp contract, nn::ElementwiseOp sum) {
  if (sum.getFn() != nn::ElementwiseFn::add)
    return Value();
  auto extent = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  auto isProduct = [&](Value value) {
    auto view = value.getDefiningOp<nn::ReshapeOp>();
    return value == contract.getResult() ||
           (view && view.getInput() == contract.getResult() && !extent(value).empty() &&
            extent(value).back() == extent(view.getInput()).back());
  };
  Value bias = isProduct(sum.getOperand(0)) ? sum.getOperand(1) : sum.getOperand(0),
        product = isProduct(sum.getOperand(0)) ? sum.getOperand(0) : sum.getOperand(1);
  auto gemm = isProduct(product) ? analyseGemm(contract) : std::nullopt;
  bool fits = gemm && gemm->batch.empty() && extent(bias).size() == 1 && extent(bias)[0] == gemm->n &&
              extent(product).back() == gemm->n && product.getType() == sum.getResult().getType();
  return fits ? bias : Value();
}

std::optional<GemmCall> analyseGemmKernel(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  auto contract = dyn_cast<nn::ContractOp>(body.front());
  auto gemm = contract ? analyseGemm(contract) : std::nullopt;
  auto argumentOf = [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? std::optional(argument.getArgNumber()) : std::nullopt;
  };
  auto lhs = gemm ? argumentOf(contract.getLhs()) : std::nullopt,
       rhs = gemm ? argumentOf(contract.getRhs()) : std::nullopt;
  if (!lhs || !rhs)
    return std::nullopt;
  GemmCall call{*gemm, {*lhs, *rhs}, std::nullopt};
  Operation *next = contract->getNextNode();
  if (next == body.getTerminator())
    return call;
  if (isa<nn::ReshapeOp>(next))
    next = next->getNextNode();
  auto sum = dyn_cast<nn::ElementwiseOp>(next);
  Value bias = sum && sum->getNextNode() == body.getTerminator() ? biasOf(contract, sum) : Value();
  call.bias = bias ? argumentOf(bias) : std::nullopt;
  return call.bias ? std::optional(call) : std::nullopt;
}

} // namespace accum
