// SPDX-License-Identifier: Apache-2.0
// The dropout of fused attention, which PyTorch's exporters leave out or write switched off.
#pragma once
#include "compiler/Import/model/Failure.h"
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// Puts the dropout of `scaled_dot_product_attention` where the model had it, and tells so: that a call
/// dropped probabilities its metadata say, or a Dropout without training_mode, which PyTorch writes for
/// nothing else.
Result<std::vector<std::string>> restoreAttentionDropout(Model &model);

} // namespace accum::import
