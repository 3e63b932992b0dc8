// SPDX-License-Identifier: Apache-2.0
// Contractions: letters to shapes.
#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNContraction.cpp.inc"

namespace accum::nn {

void detail::addContractionOps(Dialect *dialect) { RegisteredOperationName::insert<ContractOp>(*dialect); }

namespace {
struct Spec {
  StringRef lhs, rhs, result;
};
} // namespace

static Spec parseSpec(StringRef spec) {
  auto [operands, result] = spec.split("->");
  auto [lhs, rhs] = operands.split(',');
  return {lhs, rhs, result};
}

StringRef ContractOp::lhsLetters() { return parseSpec(getSpec()).lhs; }
StringRef ContractOp::rhsLetters() { return parseSpec(getSpec()).rhs; }
StringRef ContractOp::resultLetters() { return parseSpec(getSpec()).result; }

/// Records the extent of each letter; false where a letter stands twice or has two extents.
static bool bindLetters(StringRef letters, ArrayRef<int64_t> shape,
                        llvm::SmallDenseMap<char, int64_t> &extents) {
  if (letters.size() != shape.size())
    return false;
  for (auto [i, letter] : llvm::enumerate(letters)) {
    if (letters.find(letter) != i || extents.try_emplace(letter, shape[i]).first->second != shape[i])
      return false;
  }
  return true;
}

LogicalResult ContractOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  Spec spec = parseSpec(adaptor.getSpec());
  auto lhs = cast<RankedTensorType>(adaptor.getOperands()[0].getType());
  auto rhs = cast<RankedTensorType>(adaptor.getOperands()[1].getType());
  llvm::SmallDenseMap<char, int64_t> extents;
  if (!bindLetters(spec.lhs, lhs.getShape(), extents) || !bindLetters(spec.rhs, rhs.getShape(), extents))
    return emitOptionalError(location, "letters do not fit the operands' shapes");
  // Beside bf16 a weight may be f32: the product rounds it as it reads it.
  Type element = lhs.getElementType(), other = rhs.getElementType();
  bool isMixed = (element.isBF16() && other.isF32()) || (element.isF32() && other.isBF16());
  if (element != other && !isMixed)
    return emitOptionalError(location, "operands have different element types");
  SmallVector<int64_t> shape;
  for (auto [i, letter] : llvm::enumerate(spec.result)) {
    if (spec.result.find(letter) != i)
      return emitOptionalError(location, "letter '", std::string(1, letter), "' stands twice in the result");
    auto it = extents.find(letter);
    if (it == extents.end())
      return emitOptionalError(location, "letter '", std::string(1, letter),
                               "' of the result is in no operand");
    shape.push_back(it->second);
  }
  types.push_back(RankedTensorType::get(shape, element.isBF16() ? element : other));
  return success();
}

/// Products of bf16 may be summed to f32.
bool ContractOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  if (sameSlabs(inferred, actual))
    return true;
  RankedTensorType slabs[] = {slabOf(inferred.front()), slabOf(actual.front())};
  bool narrow = slabs[0].getElementType().isBF16() && slabs[1].getElementType().isF32();
  return narrow && slabs[0].getShape() == slabs[1].getShape();
}

void ContractOp::build(OpBuilder &builder, OperationState &state, StringRef spec, Value lhs, Value rhs) {
  build(builder, state, lhs, rhs, builder.getStringAttr(spec));
}

LogicalResult ContractOp::verify() {
  for (char letter : lhsLetters().str() + rhsLetters().str()) {
    bool inLhs = lhsLetters().contains(letter), inRhs = rhsLetters().contains(letter);
    if (!resultLetters().contains(letter) && !(inLhs && inRhs))
      return emitOpError("letter '") << letter << "' is summed but stands in one operand only";
  }
  return success();
}

} // namespace accum::nn
