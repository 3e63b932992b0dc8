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

static Array evaluate(Evaluator &e, nn::ConvOp op) {
  const Array &input = e.at(op.getInput()), &weight = e.at(op.getWeight());
  Array result = Array::zeros(e.shapeOf(op));
  int64_t channels = weight.shape[1], perGroup = weight.shape[0] / static_cast<int64_t>(op.getGroups());
  forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
    double sum = op.getBias() ? e.at(op.getBias()).data[index[1]] : 0;
    forEachIndex(ArrayRef(weight.shape).drop_front(), [&](ArrayRef<int64_t> tap) {
      SmallVector<int64_t> from{index[0], index[1] / perGroup * channels + tap[0]}, at{index[1]};
      llvm::append_range(at, tap);
      for (int64_t i = 2; i < input.rank(); ++i) {
        from.push_back(index[i] * op.getStrides()[i - 2] - op.getPads()[i - 2] +
                       tap[i - 1] * op.getDilations()[i - 2]);
        if (from[i] < 0 || from[i] >= input.shape[i])
          return;
      }
      sum += input.at(from) * weight.at(at);
    });
    result.at(index) = sum;
  });
  return result;
}

bool evaluateContraction(Evaluator &e, Operation *op) {
  if (auto contract = dyn_cast<nn::ContractOp>(op)) {
    e.set(contract, evaluate(e, contract));
    return true;
  }
  if (auto conv = dyn_cast<nn::ConvOp>(op)) {
    e.set(conv, evaluate(e, conv));
    return true;
  }
  return false;
}

} // namespace accum::test
