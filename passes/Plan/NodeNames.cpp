// SPDX-License-Identifier: Apache-2.0
// ONNX node names of an op, read off its location.
#include "passes/Plan/NodeNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {

static void collect(Location location, std::vector<std::string> &names) {
  llvm::TypeSwitch<LocationAttr>(location)
      .Case([&](NameLoc loc) {
        std::string name = loc.getName().str();
        if (!name.empty() && !llvm::is_contained(names, name))
          names.push_back(std::move(name));
      })
      .Case([&](FusedLoc loc) {
        for (Location part : loc.getLocations())
          collect(part, names);
      });
}

std::vector<std::string> nodeNames(Location location) {
  std::vector<std::string> names;
  collect(location, names);
  return names;
}

std::string nodeLabel(Location location) {
  std::vector<std::string> names = nodeNames(location);
  if (names.empty())
    return "";
  return names.size() == 1 ? names.front() : names.front() + " ...";
}

} // namespace accum
