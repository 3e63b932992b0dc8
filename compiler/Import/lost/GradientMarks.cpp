// SPDX-License-Identifier: Apache-2.0
// Reads calls of the framework's operators.
#include "compiler/Import/lost/GradientMarks.h"
#include "compiler/Import/lost/TracedCall.h"
#include <algorithm>
#include <charconv>

namespace accum::import {

static bool isFusedAttention(const TracedCall &call) {
  return call.target.starts_with("aten.scaled_dot_product_") ||
         call.target.starts_with("aten._scaled_dot_product_");
}

std::optional<int64_t> paddingRow(const Node &node) {
  std::optional<TracedCall> call = node.opType == "Gather" ? TracedCall::of(node) : std::nullopt;
  if (!call || call->target != "aten.embedding.default")
    return std::nullopt;
  std::string_view text = call->argument(2, "padding_idx");
  int64_t row = -1;
  std::from_chars(text.data(), text.data() + text.size(), row);
  return row >= 0 ? std::optional(row) : std::nullopt; // -1: none
}

bool isDetach(const Node &node) {
  std::optional<TracedCall> call = node.opType == "Identity" ? TracedCall::of(node) : std::nullopt;
  return call && call->target == "aten.detach.default";
}

bool isClamp(const Node &node) {
  std::optional<TracedCall> call = node.inputs.size() == 2 ? TracedCall::of(node) : std::nullopt;
  return call && call->target.starts_with("aten.clamp.");
}

bool selectsFirst(const Node &node) {
  std::optional<TracedCall> call = TracedCall::of(node);
  return call && (call->target == "aten.max.dim" || call->target == "aten.min.dim");
}

bool isSafeSoftmax(const Node &node) {
  std::optional<TracedCall> call = node.opType == "Softmax" ? TracedCall::of(node) : std::nullopt;
  return call && (isFusedAttention(*call) || call->target.starts_with("aten._safe_softmax"));
}

bool isMaskOfAttention(const Node &node) {
  std::optional<TracedCall> call = node.opType == "Where" ? TracedCall::of(node) : std::nullopt;
  return call && isFusedAttention(*call);
}

std::vector<std::string> valuesRead(const Node &node) {
  std::optional<TracedCall> call = TracedCall::of(node);
  return call ? call->operands() : std::vector<std::string>();
}

} // namespace accum::import
