// SPDX-License-Identifier: Apache-2.0
// A session's weights from another file than the artifact's.
#include "runtime/session/Session.h"

namespace accum::runtime {

Expected<size_t> Session::initWeights(const InitialWeights &from) {
  auto taken = initParameters(artifact.manifest, from, *device, state);
  if (!taken)
    return taken.error();
  for (size_t p : taken->params) {
    unset.erase(p);
    if (!artifact.manifest.params[p].trained)
      carried.insert(p);
  }
  for (const std::string &notice : taken->notices)
    decisions.push_back(notice);
  if (Status status = checkValues(); !status)
    return status.error();
  return taken->params.size();
}

/// Where the artifact's own weights are gone.
Status Session::checkValues() const {
  if (unset.empty())
    return {};
  return Error{
      kExitFile,
      artifact.folder + ": " + std::to_string(unset.size()) + " parameters have no value: `" +
          artifact.manifest.params[*unset.begin()].onnxName +
          "` is neither in the file of weights nor in the artifact, whose params.safetensors is gone",
      "weights",
      {"compile the model again", "--random-params SEED draws all"}};
}

} // namespace accum::runtime
