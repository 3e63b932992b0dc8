// SPDX-License-Identifier: Apache-2.0
// The outputs of the graph that a run can predict, in a function of their own: what is trained stays as it
// is.
#pragma once
#include "compiler/Import/walk/Forward.h"

namespace accum::import {

/// Fills `function` with those of ImportOptions::outputs that can be told from the inputs and parameters of
/// the other functions of its module, and names them in train::kOutputNames; erases it where there is none.
/// `lossOutput`: empty where the loss is on an output, which is none itself.
void buildPredict(Forward &forward, mlir::func::FuncOp function, const Graph &graph,
                  const std::string &option, const std::string &lossOutput, ImportReport &report);

} // namespace accum::import
