// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/walk/Draws.h"
#include "dialects/NN/NNDialect.h"
#include <cmath>
#include <fmt/format.h>

using namespace mlir;

namespace accum::import {
namespace {
using Fn = nn::ElementwiseFn;

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

/// The number that all elements of a float are.
std::optional<double> numberOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<nn::BroadcastOp, nn::ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_or_null<nn::ConstantOp>(op);
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat || !isa<FloatType>(splat.getElementType()))
    return std::nullopt;
  return splat.getSplatValue<APFloat>().convertToDouble();
}

nn::ElementwiseOp userBy(OpOperand &use, Fn fn) {
  auto op = dyn_cast<nn::ElementwiseOp>(use.getOwner());
  return op && op.getFn() == fn ? op : nn::ElementwiseOp();
}

/// Zeros and ones, the latter with that probability.
struct ZerosAndOnes {
  Value value;
  double chance;
};

/// The probability that `compared` holds, one of whose operands is uniform in [0, 1).
std::optional<double> chanceOf(nn::ElementwiseOp compared, unsigned uniform) {
  std::optional<double> bound = numberOf(compared.getOperand(1 - uniform));
  bool isLess = compared.getFn() == Fn::lt || compared.getFn() == Fn::le;
  bool isGreater = compared.getFn() == Fn::gt || compared.getFn() == Fn::ge;
  if (!bound || (!isLess && !isGreater))
    return std::nullopt;
  return isLess == (uniform == 0) ? *bound : 1 - *bound;
}

/// Casts of a condition to floats, of its negation too; false where something else reads it.
bool addCasts(Value condition, double chance, SmallVectorImpl<ZerosAndOnes> &found) {
  return llvm::all_of(condition.getUsers(), [&](Operation *user) {
    if (auto cast = dyn_cast<nn::CastOp>(user);
        cast && isa<FloatType>(getElementTypeOrSelf(cast.getType()))) {
      found.push_back({cast, chance});
      return true;
    }
    auto negation = dyn_cast<nn::ElementwiseOp>(user);
    return negation && negation.getFn() == Fn::logical_not &&
           addCasts(negation.getResult(), 1 - chance, found);
  });
}

/// u < p, u > 1 - p, floor(u + p); false where the numbers themselves are read.
bool addFrom(OpOperand &use, SmallVectorImpl<ZerosAndOnes> &found) {
  auto op = dyn_cast<nn::ElementwiseOp>(use.getOwner());
  if (!op || op->getNumOperands() != 2)
    return false;
  if (std::optional<double> chance = chanceOf(op, use.getOperandNumber()))
    return addCasts(op.getResult(), *chance, found);
  std::optional<double> added =
      op.getFn() == Fn::add ? numberOf(op.getOperand(1 - use.getOperandNumber())) : std::nullopt;
  if (!added)
    return false;
  return llvm::all_of(op->getUses(), [&](OpOperand &next) {
    nn::ElementwiseOp floor = userBy(next, Fn::floor);
    if (floor)
      found.push_back({floor, *added});
    return floor != nullptr;
  });
}

/// A division by `chance`, or the product with its inverse.
bool isScaled(nn::ElementwiseOp op, double chance) {
  if (!op || op->getNumOperands() != 2)
    return false;
  std::optional<double> left = numberOf(op.getOperand(0)), right = numberOf(op.getOperand(1));
  if (op.getFn() == Fn::div)
    return right && isNear(*right, chance);
  return op.getFn() == Fn::mul &&
         ((left && isNear(*left, 1 / chance)) || (right && isNear(*right, 1 / chance)));
}

bool isScaled(Value value, double chance) {
  return isScaled(value.getDefiningOp<nn::ElementwiseOp>(), chance);
}

/// Whether what a reader makes of the ones is scaled: itself, its other factor, or the product behind it.
bool isScaledIn(OpOperand &use, double chance) {
  auto op = dyn_cast<nn::ElementwiseOp>(use.getOwner());
  if (!op || op->getNumOperands() != 2)
    return false;
  if (isScaled(op, chance))
    return use.getOperandNumber() == 0 || op.getFn() == Fn::mul;
  if (op.getFn() != Fn::mul)
    return false;
  if (isScaled(op.getOperand(1 - use.getOperandNumber()), chance))
    return true;
  return !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
    return isScaled(dyn_cast<nn::ElementwiseOp>(user), chance);
  });
}

/// Ones are `chance` times the mask; what divides them by it is the mask itself.
void replace(nn::RandomOp uniform, const ZerosAndOnes &drawn) {
  OpBuilder builder(drawn.value.getDefiningOp());
  auto mask = nn::RandomOp::create(builder, uniform.getLoc(), drawn.value.getType(), uniform.getLike(),
                                   ValueRange(), nn::RandomKind::mask, uniform.getKey(), uniform.getSeeded(),
                                   builder.getF64FloatAttr(1 - drawn.chance), IntegerAttr(), IntegerAttr(),
                                   IntegerAttr(), DenseI64ArrayAttr());
  for (Operation *user : llvm::make_early_inc_range(drawn.value.getUsers()))
    if (auto op = dyn_cast<nn::ElementwiseOp>(user);
        isScaled(op, drawn.chance) && op.getType() == mask.getType()) {
      op.replaceAllUsesWith(mask.getResult());
      op.erase();
    }
  if (drawn.value.use_empty())
    return;
  Type element = getElementTypeOrSelf(mask.getType());
  auto scalar = RankedTensorType::get({}, element);
  Value chance = nn::ConstantOp::create(
      builder, uniform.getLoc(), scalar,
      DenseElementsAttr::get(scalar, Attribute(builder.getFloatAttr(element, drawn.chance))));
  Value ones = nn::ElementwiseOp::create(builder, uniform.getLoc(), mask.getType(), Fn::mul,
                                         ValueRange{mask.getResult(), chance});
  Value value = drawn.value;
  value.replaceAllUsesWith(ones);
}

void recogniseMask(nn::RandomOp uniform) {
  SmallVector<ZerosAndOnes, 2> drawn;
  bool isRead = llvm::all_of(uniform->getUses(), [&](OpOperand &use) { return addFrom(use, drawn); });
  // One that is read twice, as x * b + y * (1 - b), is no dropout of either.
  if (!isRead || drawn.size() != 1 || !(drawn[0].chance > 0 && drawn[0].chance < 1))
    return;
  if (llvm::all_of(drawn[0].value.getUses(),
                   [&](OpOperand &use) { return isScaledIn(use, drawn[0].chance); }))
    replace(uniform, drawn[0]);
}

} // namespace

void recogniseMasks(func::FuncOp forward) {
  for (auto uniform : llvm::to_vector(forward.getOps<nn::RandomOp>()))
    if (uniform.getKind() == nn::RandomKind::uniform)
      recogniseMask(uniform);
}

std::optional<std::string> noteDraws(func::FuncOp forward) {
  std::vector<std::string> names;
  for (auto draw : forward.getOps<nn::RandomOp>())
    if (auto name = dyn_cast<NameLoc>(draw.getLoc()); name && draw.getKind() != nn::RandomKind::mask)
      names.push_back("`" + name.getName().str() + "`");
  if (names.empty())
    return std::nullopt;
  std::string text = names.front();
  if (names.size() > 1)
    text += fmt::format(" and {} more", names.size() - 1);
  return text + (names.size() > 1 ? " draw" : " draws") +
         " random numbers in evaluation too, as the file says: it has no sign that training alone does";
}

} // namespace accum::import
