// SPDX-License-Identifier: Apache-2.0
// What a rule sees of its op, and the rules.
#pragma once

#include "dialects/NN/NNDialect.h"
#include "passes/Lengths/Facts.h"
#include "passes/Lengths/Lockstep.h"
#include "passes/Lengths/Tables.h"

namespace accum::lengths {

/// An op at all sizes, with the facts of its operands.
struct Site {
  mlir::Operation *op;
  llvm::SmallVector<const Facts *> operands;
  const Lockstep &sizes;
  Tables &tables;
  /// Set by a rule that fails.
  std::string sentence = {}, wayOut = {};

  llvm::LogicalResult refuse(const llvm::Twine &why, llvm::StringRef out = "");
  /// A value with positions that enters where samples meet, where nothing is computed at each size.
  llvm::LogicalResult refuseEntry(mlir::Value value);
  /// What stands along `axis` of an operand after the end, where it has no ragged axis too (a number
  /// everywhere), and tables are looked at.
  std::optional<Fill> fill(unsigned operand, int64_t axis) const;
  /// The same of position 0.
  First first(unsigned operand, int64_t axis) const;
  /// Where two axes are at one position before the end; the operand may have one of them, or none.
  First diagonal(unsigned operand, int64_t axis, int64_t other) const;
  bool isRagged(mlir::Value value, int64_t axis) const { return sizes.isRagged(value, axis); }
  /// "[16, 8]", with the dimension's own extents at the smallest size.
  std::string shape(mlir::Value value) const;
};

inline int64_t rankOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getRank();
}
inline mlir::Type elementOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

using Results = llvm::MutableArrayRef<Facts>;

/// The facts of the results; failure, and `site` says why the size would matter.
using Rule = llvm::LogicalResult (*)(Site &site, Results results);

/// Null where an op of that name has none; every op of the nn dialect has one.
Rule findRule(llvm::StringRef name);

// By kind of op, as the placement rules are: dialects/NN/Placement*.cpp.
class RuleTable {
public:
  template <class Op, llvm::LogicalResult (*rule)(Op, Site &, Results)> void add() {
    rules[Op::getOperationName()] = [](Site &site, Results results) {
      return rule(mlir::cast<Op>(site.op), site, results);
    };
  }
  Rule find(llvm::StringRef name) const { return rules.lookup(name); }

private:
  llvm::StringMap<Rule> rules;
};

void addAccumulationRules(RuleTable &table);
void addAttentionRules(RuleTable &table);
void addContractionRules(RuleTable &table);
void addElementwiseRules(RuleTable &table);
void addSourceRules(RuleTable &table);
void addGatherRules(RuleTable &table);
void addNormRules(RuleTable &table);
void addReductionRules(RuleTable &table);
void addShapeRules(RuleTable &table);

/// The axes of `result` that some operands have as its axis `operand axis + offset`: positions are known
/// where they are in all of them. Failure: they lie in different orders.
struct Joined {
  unsigned operand;
  int64_t offset;
};
llvm::LogicalResult joinAxes(Site &site, llvm::ArrayRef<Joined> operands, Facts &result);

/// Whether every row that stays known has something along `axis` before the end that is not hidden: position
/// 0, or the row's own, for which rows after the end are given up.
bool opensRows(Facts &facts, int64_t axis, const First &first, const First &diagonal);

/// Lets all positions of `facts` from the end on be left out of a sum or a softmax over `axis`, whose fill is
/// neutral: where that is causal, fewer positions are known along the other axis. Failure: some are not
/// neutral.
llvm::LogicalResult leaveOut(Facts &facts, const RaggedAxis &axis, const Fill &fill);

} // namespace accum::lengths
