// SPDX-License-Identifier: Apache-2.0
// What an exporter dropped without a word, where the metadata that it leaves behind betrays it.
#include "compiler/Import/lost/LostInExport.h"
#include <regex>
#include <set>

namespace accum::import {

std::optional<Failure> lostBatchNorm(const Graph &graph) {
  auto entry = graph.metadata.find("pkg.torch.export.ExportedProgram.graph_signature");
  if (entry == graph.metadata.end())
    return std::nullopt;
  static const std::regex mutation("BUFFER_MUTATION target='([^']*)\\.running_(mean|var)'");
  std::set<std::string> modules;
  for (std::sregex_iterator it(entry->second.begin(), entry->second.end(), mutation), end; it != end; ++it)
    modules.insert((*it)[1]);
  if (modules.empty())
    return std::nullopt;
  return Failure{
      "cross-batch",
      "`" + *modules.begin() + "`",
      "was batch normalisation in training mode (" + std::to_string(modules.size()) +
          " such modules), which the exporter silently replaced by its evaluation form: the graph does "
          "not compute the loss of the model",
      {"to train with frozen statistics: export after model.eval(), scale and bias still train",
       "or use GroupNorm",
       "in a head where samples meet, as SimCLR's: accum.Trainer(..., on_cross_batch=\"split\") keeps it"}};
}

} // namespace accum::import
