// SPDX-License-Identifier: Apache-2.0
// Takes names of values and traced calls apart.
#include "compiler/Import/parameters/FoldedValues.h"
#include <algorithm>
#include <array>

namespace accum::import {

bool isIndexedInFront(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.fx_node");
  return node.opType == "GatherND" && entry != node.metadata.end() &&
         entry->second.find("aten.index.Tensor](args = (") != std::string::npos &&
         entry->second.find(", [None") == std::string::npos;
}

Made howMade(std::string_view name) {
  static constexpr std::array<std::string_view, 4> copies{"alias", "clone", "detach", "_to_copy"};
  static constexpr std::array<std::string_view, 4> transposes{"val", "t", "transpose", "permute"};
  static constexpr std::array<std::string_view, 4> moves{"view", "reshape", "_unsafe_view", "contiguous"};
  size_t end = name.find_last_not_of("0123456789");
  if (end != std::string_view::npos && end > 0 && name[end] == '_')
    name = name.substr(0, end);
  auto isOne = [&](const auto &names) { return std::find(names.begin(), names.end(), name) != names.end(); };
  return isOne(copies)       ? Made::Copy
         : isOne(transposes) ? Made::Transpose
         : isOne(moves)      ? Made::Moved
                             : Made::Other;
}

} // namespace accum::import
