// SPDX-License-Identifier: Apache-2.0
// Which ops of a region run in one command.
#include "passes/Fuse/Groups.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "passes/Fuse/Outline.h"

using namespace mlir;

namespace accum {

bool isCommandOp(Operation *op) {
  return isa<nn::NNDialect>(op->getDialect()) && !isKernelConstant(op) && !isa<nn::ReshapeOp>(op);
}

std::vector<Group> singleGroups(Block &block) {
  std::vector<Group> groups;
  for (Operation &op : block)
    if (isCommandOp(&op))
      groups.push_back({&op});
  return groups;
}

std::vector<Group> fusedGroups(Block &block) { return singleGroups(block); }

} // namespace accum
