// SPDX-License-Identifier: Apache-2.0
// A row says what a loop reads; what runs once has none of that.
#include "runtime/artifact/PhaseJson.h"
#include "runtime/artifact/JsonFields.h"
#include <stdexcept>

namespace accum::runtime {

using Json = nlohmann::ordered_json;

Json phasesJson(const std::vector<PhaseSpec> &phases) {
  Json list = Json::array();
  for (const PhaseSpec &phase : phases) {
    const char *part = phase.isPredict ? "predict" : phase.isEval ? "eval" : "step";
    Json entry = {{"name", phase.name}, {"part", part}, {"loop", phase.isLoop}};
    if (phase.isLoop) {
      entry["gradients"] = phase.addsGradients;
      entry["inputs"] = phase.inputs;
      if (phase.length > 0)
        entry["length"] = phase.length;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

PhaseSpec phaseFrom(const Json &entry) {
  PhaseSpec phase;
  phase.name = entry.at("name").get<std::string>();
  std::string part = entry.at("part").get<std::string>();
  phase.isEval = part == "eval";
  phase.isPredict = part == "predict";
  if (part != "step" && !phase.isEval && !phase.isPredict)
    throw std::invalid_argument("`part` of phase `" + phase.name + "` is none of `step`, `eval`, `predict`");
  phase.isLoop = entry.at("loop").get<bool>();
  if (!phase.isLoop)
    return phase;
  phase.addsGradients = entry.at("gradients").get<bool>();
  phase.inputs = entry.at("inputs").get<std::vector<std::string>>();
  phase.length = entry.contains("length") ? readInteger<uint32_t>(entry, "length") : 0;
  return phase;
}

} // namespace accum::runtime
