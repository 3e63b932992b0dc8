// SPDX-License-Identifier: Apache-2.0
// Library calls and operation counts: their text, and the point of a table that they stand for.
#include "compiler/Planner/Problem/CallShape.h"
#include "compiler/Planner/Problem/ProblemLine.h"
#include <algorithm>
#include <cmath>

namespace accum::planner {

namespace {

constexpr std::string_view kGemms[] = {"gemm-nn", "gemm-nt", "gemm-tn", "gemm-tt"};
constexpr std::string_view kAttentions[] = {"attention", "attention-causal", "attention-backward",
                                            "attention-backward-causal"};

bool isName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

} // namespace

size_t sizeCountOf(std::string_view call) {
  if (std::ranges::find(kGemms, call) != std::end(kGemms))
    return 4;
  return std::ranges::find(kAttentions, call) != std::end(kAttentions) ? 7 : 0;
}

std::array<double, 3> callPoint(const CallShape &call, int64_t m, int64_t pieces) {
  auto size = [&](size_t index) { return std::max(1.0, call.sizes[index].real(m, pieces)); };
  if (call.sizes.size() == 4)
    return {size(0) * size(1), size(2), size(3)};
  return {size(0) * size(1), std::sqrt(size(3) * size(4)), (size(5) + size(6)) / 2};
}

std::array<double, 3> callPointInVectors(const CallShape &call, int64_t m, int64_t pieces, int64_t lanes) {
  if (call.sizes.size() == 4)
    return callPoint(call, m, pieces);
  auto size = [&](size_t index) { return std::max(1.0, call.sizes[index].real(m, pieces)); };
  auto filled = [&](size_t index) {
    auto each = static_cast<double>(lanes);
    return std::ceil(size(index) / each) * each;
  };
  return {size(0) * size(1), std::sqrt(size(3) * filled(4)), (filled(5) + filled(6)) / 2};
}

double callWork(std::string_view call, const std::array<double, 3> &point) {
  double work = point[0] * point[1] * point[2];
  return call.starts_with("attention") ? work * point[1] : work;
}

std::string toText(const CallShape &call) {
  std::string text = call.name;
  for (size_t index = 0; index < call.sizes.size(); ++index)
    text += (index == 0 ? ":" : ",") + toText(call.sizes[index]);
  return text;
}

std::optional<CallShape> parseCall(std::string_view text) {
  size_t colon = std::min(text.find(':'), text.size());
  CallShape call{.name = std::string(text.substr(0, colon))};
  for (size_t at = colon + 1; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    auto size = parseAmount(text.substr(at, comma - at));
    if (!size || !size->table.empty())
      return std::nullopt;
    call.sizes.push_back(*size);
    at = comma + 1;
  }
  if (call.sizes.empty() || call.sizes.size() != sizeCountOf(call.name))
    return std::nullopt;
  return call;
}

std::string toText(const OperationCount &count) { return count.operation + "@" + toText(count.elements); }

std::optional<OperationCount> parseOperationCount(std::string_view text) {
  size_t at = std::min(text.find('@'), text.size());
  auto elements = parseAmount(text.substr(std::min(at + 1, text.size())));
  if (!isName(text.substr(0, at)) || !elements)
    return std::nullopt;
  return OperationCount{std::string(text.substr(0, at)), *elements};
}

} // namespace accum::planner
