// SPDX-License-Identifier: Apache-2.0
// Contractions by nested loops.
#include "test/dialects/NN/Evaluator.h"

using namespace mlir;

namespace accum::test {

static Array evaluate(Evaluator &e, nn::ContractOp op) {
  const Array &lhs = e.at(op.getLhs()), &rhs = e.at(op.getRhs());
  std::string letters = op.resultLetters().str();
  SmallVector<int64_t> extents;
  auto bind = [&](StringRef names, const Array &array) {
    for (auto [i, letter] : llvm::enumerate(names)) {
      if (letters.find(letter) == std::string::npos)
        letters += letter;
      extents.resize(letters.size());
      extents[letters.find(letter)] = array.shape[i];
    }
  };
  bind(op.lhsLetters(), lhs);
  bind(op.rhsLetters(), rhs);
  Array result = Array::zeros(e.shapeOf(op));
  forEachIndex(extents, [&](ArrayRef<int64_t> index) {
    auto pick = [&](StringRef names) {
      return llvm::map_to_vector(names, [&](char letter) { return index[letters.find(letter)]; });
    };
    result.at(index.take_front(result.rank())) +=
        lhs.at(pick(op.lhsLetters())) * rhs.at(pick(op.rhsLetters()));
  });
  return result;
}

bool evaluateContraction(Evaluator &e, Operation *op) {
  if (auto contract = dyn_cast<nn::ContractOp>(op)) {
    e.set(contract, evaluate(e, contract));
    return true;
  }
  return false;
}

} // namespace accum::test
