// SPDX-License-Identifier: Apache-2.0
// What the model said of gradients and ONNX cannot: the dynamo exporter leaves the traced call of a node in
// its metadata (`pkg.torch.onnx.fx_node`). Files without such calls say nothing.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// `padding_idx` of the embedding that a Gather was: lookups of that row give it no gradient.
std::optional<int64_t> paddingRow(const Node &node);
/// The Identity was `x.detach()`: no gradient goes back through it.
bool isDetach(const Node &node);
/// A Max or Min that was a clamp by one number: where x is that number it has no gradient, not half of one.
bool isClamp(const Node &node);
/// The ReduceMax or ReduceMin was `x.max(dim)` or `x.min(dim)`: of equal elements the first, whose index it
/// also gives, takes the whole gradient. That of `amax` is divided.
bool selectsFirst(const Node &node);
/// The Softmax is in an attention of the framework, where rows of -inf give zeros; exporters write that down
/// for some masks only.
bool isSafeSoftmax(const Node &node);
/// The Where is in an attention of the framework: it makes a boolean mask one that is added to the scores.
bool isMaskOfAttention(const Node &node);
/// Names of the values that the node's call has as arguments.
std::vector<std::string> valuesRead(const Node &node);

} // namespace accum::import
