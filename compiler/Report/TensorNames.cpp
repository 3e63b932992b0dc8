// SPDX-License-Identifier: Apache-2.0
// Tensors of repeated layers under one name.
#include "compiler/Report/TensorNames.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace accum::planner {

namespace {

/// A label around its first number of at most six digits that stands alone, as in `h.3.mlp`, `/h.3/mlp`,
/// `layer_3_out`.
struct Numbered {
  std::string before, after;
  int number = -1;
};

Numbered splitAtNumber(const std::string &label) {
  auto isDigit = [](char c) { return c >= '0' && c <= '9'; };
  auto isBreak = [](char c) { return c == '.' || c == '/' || c == '_' || c == '[' || c == ']' || c == ' '; };
  for (size_t begin = 0; begin < label.size(); ++begin) {
    if (!isDigit(label[begin]) || (begin > 0 && !isBreak(label[begin - 1])))
      continue;
    size_t end = begin;
    while (end < label.size() && isDigit(label[end]))
      ++end;
    if (end - begin <= 6 && (end == label.size() || isBreak(label[end]))) {
      Numbered parts{label.substr(0, begin), label.substr(end)};
      std::from_chars(label.data() + begin, label.data() + end, parts.number);
      return parts;
    }
  }
  return {label, ""};
}

/// Of distinct numbers in ascending order.
std::string rangeText(const std::vector<int> &numbers) {
  if (numbers.size() == 1)
    return fmt::format("{}", numbers[0]);
  bool isRun = numbers.back() - numbers.front() + 1 == static_cast<int>(numbers.size());
  return isRun ? fmt::format("{}..{}", numbers.front(), numbers.back())
               : fmt::format("{{{} of {}..{}}}", numbers.size(), numbers.front(), numbers.back());
}

} // namespace

std::vector<TensorGroup> groupTensors(const std::vector<PeakTensor> &tensors) {
  std::map<std::tuple<int64_t, std::string, std::string, bool>, std::vector<int>> byShape;
  for (const PeakTensor &tensor : tensors) {
    Numbered parts = splitAtNumber(tensor.label.substr(0, tensor.label.find(": "))); // its module alone
    byShape[{-tensor.bytes, parts.before, parts.after, parts.number >= 0}].push_back(parts.number);
  }
  std::vector<TensorGroup> groups;
  for (auto &[shape, numbers] : byShape) {
    auto count = static_cast<int>(numbers.size());
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    const auto &[bytes, before, after, numbered] = shape;
    std::string label = numbered ? before + rangeText(numbers) + after : before;
    groups.push_back({label, -bytes, count, static_cast<int>(numbers.size())});
  }
  std::sort(groups.begin(), groups.end(), [](const TensorGroup &a, const TensorGroup &b) {
    return std::tuple(-a.bytesEach * a.count, std::string_view(a.label)) <
           std::tuple(-b.bytesEach * b.count, std::string_view(b.label));
  });
  return groups;
}

std::string shortened(const std::string &name, size_t characters) {
  if (name.size() <= characters || characters < 5)
    return name.size() <= characters ? name : std::string();
  auto isInside = [&](size_t at) { return (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80; };
  size_t head = (characters - 3) / 3, tail = name.size() - (characters - 3 - head); // in bytes
  while (head > 0 && isInside(head))
    --head;
  while (tail < name.size() && isInside(tail))
    ++tail;
  return name.substr(0, head) + "..." + name.substr(tail);
}

} // namespace accum::planner
