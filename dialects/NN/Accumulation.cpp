// SPDX-License-Identifier: Apache-2.0
// Totals, row masks, shared terms, the batch size.
#include "dialects/NN/NNDialect.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/NN/NNAccumulation.cpp.inc"

void accum::nn::detail::addAccumulationOps(Dialect *dialect) {
  RegisteredOperationName::insert<TotalOp>(*dialect);
  RegisteredOperationName::insert<MaskRowsOp>(*dialect);
  RegisteredOperationName::insert<ShareOp>(*dialect);
  RegisteredOperationName::insert<BatchSizeOp>(*dialect);
}
