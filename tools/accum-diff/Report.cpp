// SPDX-License-Identifier: Apache-2.0
// relative    absolute    magnitude   where        tensor
#include "tools/accum-diff/Report.h"
#include "base/Printable.h"
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace accum::diff {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json("inf"); }

Json describe(const TensorDifference &tensor) {
  return {{"name", tensor.name},
          {"relative", number(tensor.relative())},
          {"absolute", number(tensor.absolute)},
          {"magnitude", number(tensor.magnitude)},
          {"at", tensor.at}};
}

} // namespace

std::string toText(const Comparison &comparison, size_t rows) {
  std::string text;
  if (comparison.worst() > 0)
    text = "relative    absolute    magnitude   tensor\n";
  size_t shown = 0;
  for (const TensorDifference &tensor : comparison.tensors) {
    if (tensor.absolute == 0 || shown++ == rows)
      break;
    text += fmt::format("{:<11.3g} {:<11.3g} {:<11.3g} {} at {}: {:.9g} and {:.9g}\n", tensor.relative(),
                        tensor.absolute, tensor.magnitude, printable(tensor.name),
                        runtime::formatShape(tensor.at), tensor.a, tensor.b);
  }
  for (const std::string &name : comparison.onlyInA)
    text += "only in the first:  " + printable(name) + "\n";
  for (const std::string &name : comparison.onlyInB)
    text += "only in the second: " + printable(name) + "\n";
  for (const std::string &shapes : comparison.shapes)
    text += "shapes differ:      " + printable(shapes) + "\n";
  if (comparison.tensors.empty())
    return text + "no tensor is in both files\n";
  return text + fmt::format("{} tensors compared, largest relative difference {:.3g}\n",
                            comparison.tensors.size(), comparison.worst());
}

std::string toJson(const Comparison &comparison) {
  Json json = {{"worst", number(comparison.worst())},
               {"only_in_a", comparison.onlyInA},
               {"only_in_b", comparison.onlyInB},
               {"shapes", comparison.shapes},
               {"tensors", Json::array()}};
  for (const TensorDifference &tensor : comparison.tensors)
    json["tensors"].push_back(describe(tensor));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace accum::diff
