// SPDX-License-Identifier: Apache-2.0
// What makes values: constants, positions, parameters, random numbers.
#include "dialects/Train/TrainDialect.h"
#include "passes/Lengths/Drift.h"
#include "passes/Lengths/Site.h"
#include <cmath>

using namespace mlir;

namespace accum::lengths {
namespace {

/// Whether the smaller table is the beginning of the larger one, along all axes.
bool isPrefix(ArrayRef<int64_t> small, const std::vector<double> &a, ArrayRef<int64_t> large,
              const std::vector<double> &b) {
  if (a.size() == 1 && b.size() == 1)
    return a[0] == b[0] || (std::isnan(a[0]) && std::isnan(b[0]));
  SmallVector<int64_t> index(small.size());
  int64_t count = ShapedType::getNumElements(small);
  for (int64_t n = 0; n < count; ++n) {
    int64_t offset = 0, rest = n;
    for (size_t axis = small.size(); axis-- > 0; rest /= small[axis])
      index[axis] = rest % small[axis];
    for (size_t axis = 0; axis < small.size(); ++axis)
      offset = offset * large[axis] + index[axis];
    double x = a[a.size() == 1 ? 0 : n], y = b[b.size() == 1 ? 0 : offset];
    if (x != y && !(std::isnan(x) && std::isnan(y)))
      return false;
  }
  return true;
}

/// Everything along the axes that the type has is the same at all sizes.
void knowEverywhere(Site &site, Value value, Facts &facts) {
  for (int64_t axis = 0; axis < rankOf(value); ++axis)
    if (site.isRagged(value, axis))
      facts.axes.push_back({.axis = axis, .known = kEverywhere});
}

LogicalResult constant(nn::ConstantOp op, Site &site, Results results) {
  Facts &result = results[0];
  auto at = [&](size_t size) { return mlir::cast<nn::ConstantOp>(site.sizes.opAt(op, size)); };
  // Ends as those of the largest, which has what the others lack: the beginning of a mask may hide nothing.
  std::vector<double> elements = elementsOf(op.getValue());
  for (size_t size = 1; size < site.sizes.count(); ++size) {
    std::vector<double> larger = elementsOf(at(size).getValue());
    auto before = mlir::cast<RankedTensorType>(at(size - 1).getType()).getShape();
    auto shape = mlir::cast<RankedTensorType>(at(size).getType()).getShape();
    if (elements.empty() != larger.empty() || !isPrefix(before, elements, shape, larger)) {
      (void)site.refuse(rankOf(op.getResult()) == 0 || larger.size() == 1
                            ? "uses a number that is another one at another size"
                            : "uses a table of shape " + site.shape(op) +
                                  " that is no beginning of the one at a larger size",
                        "count positions from the left, and divide by counts of what is not padding");
      std::optional<int64_t> axis = findDrift(site, at(size - 1), at(size));
      if (!axis || (result.drift && result.drift->axis != *axis))
        return failure();
      result.drift = Drift{*axis, std::make_shared<Cause>(Cause{op, site.sentence, site.wayOut})};
    }
    elements = std::move(larger);
  }
  knowEverywhere(site, op, result);
  result.isTable = !result.drift;
  result.isCapped = llvm::all_of(elements, [](double x) { return x < -kLow; });
  result.isFinite = llvm::all_of(elements, [](double x) { return std::isfinite(x); });
  result.isOrdinary =
      result.isCapped && result.isFinite && llvm::all_of(elements, [](double x) { return x > kLow; });
  if (result.drift)
    return success();
  if (elements.size() == 1)
    result.number = elements[0];
  if (!elements.empty())
    result.least = *llvm::min_element(elements);
  return success();
}

LogicalResult iota(nn::IotaOp op, Site &site, Results results) {
  knowEverywhere(site, op, results[0]);
  results[0].isTable = true;
  results[0].least = 0;
  return success();
}

LogicalResult loadParam(train::LoadParamOp op, Site &site, Results results) {
  for (int64_t axis = 0; axis < rankOf(op.getResult()); ++axis)
    if (site.isRagged(op.getResult(), axis))
      return site.refuse("reads a parameter whose shape depends on the size",
                         "a parameter has the shape of the largest size, of which others read the beginning");
  return success();
}

LogicalResult random(nn::RandomOp op, Site &site, Results results) {
  knowEverywhere(site, op, results[0]);
  return success();
}

} // namespace

void addSourceRules(RuleTable &table) {
  table.add<nn::ConstantOp, constant>();
  table.add<nn::IotaOp, iota>();
  table.add<train::LoadParamOp, loadParam>();
  table.add<nn::RandomOp, random>();
}

} // namespace accum::lengths
