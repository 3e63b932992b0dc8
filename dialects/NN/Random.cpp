// SPDX-License-Identifier: Apache-2.0
// Dropout.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNRandom.cpp.inc"

void accum::nn::detail::addRandomOps(Dialect *dialect) {
  RegisteredOperationName::insert<DropoutOp>(*dialect);
}
