// SPDX-License-Identifier: Apache-2.0
// Takes names of values and traced calls apart.
#include "compiler/Import/parameters/FoldedValues.h"

namespace accum::import {

bool isIndexedInFront(const Node &node) {
  auto entry = node.metadata.find("pkg.torch.onnx.fx_node");
  return node.opType == "GatherND" && entry != node.metadata.end() &&
         entry->second.find("aten.index.Tensor](args = (") != std::string::npos &&
         entry->second.find(", [None") == std::string::npos;
}

Made howMade(std::string_view name) {
  size_t end = name.find_last_not_of("0123456789");
  if (end != std::string_view::npos && end > 0 && name[end] == '_')
    name = name.substr(0, end);
  if (isOneOf(name, {"alias", "clone", "detach", "_to_copy"}))
    return Made::Copy;
  if (isOneOf(name, {"val", "t", "transpose", "permute"}))
    return Made::Transpose;
  return isOneOf(name, {"view", "reshape", "_unsafe_view", "contiguous"}) ? Made::Moved : Made::Other;
}

} // namespace accum::import
