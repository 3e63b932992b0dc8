// SPDX-License-Identifier: Apache-2.0
// Where an op comes from, as its location says.
#include "dialects/NN/Origin.h"
#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace accum {

static std::string kindOf(Operation *op) {
  if (auto elementwise = dyn_cast<nn::ElementwiseOp>(op))
    return nn::stringifyElementwiseFn(elementwise.getFn()).str();
  return op->getName().stripDialect().str();
}

Location derivativeLocation(Operation *op) {
  return FusedLoc::get(op->getContext(), {op->getLoc()},
                       StringAttr::get(op->getContext(), kindOf(op) + "_grad"));
}

StringRef derivativeOf(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused || fused.getLocations().empty())
    return "";
  if (auto kind = dyn_cast_or_null<StringAttr>(fused.getMetadata()))
    return kind.getValue();
  return derivativeOf(fused.getLocations().front());
}

/// Which of several results of an op this is; empty for the main one.
static StringRef roleOf(OpResult result) {
  unsigned i = result.getResultNumber();
  return llvm::TypeSwitch<Operation *, StringRef>(result.getOwner())
      .Case([&](nn::LayerNormOp) { return ArrayRef<StringRef>{"", "mean", "rstd"}[i]; })
      .Case([&](nn::RmsNormOp) { return ArrayRef<StringRef>{"", "rstd"}[i]; })
      .Case([&](nn::CrossEntropyOp) { return ArrayRef<StringRef>{"loss", "lse"}[i]; })
      .Case([&](nn::AttentionOp) { return ArrayRef<StringRef>{"", "lse"}[i]; })
      .Case([&](nn::AttentionBwdOp) { return ArrayRef<StringRef>{"query", "key", "value"}[i]; })
      .Default([](Operation *) { return ""; });
}

static std::string labelOf(OpResult result) {
  std::string label = nodeLabel(result.getLoc());
  if (label.empty())
    return label;
  if (StringRef role = roleOf(result); !role.empty())
    label += " " + role.str();
  StringRef module = modulePath(result.getLoc());
  return module.empty() || StringRef(label).contains('/') ? label : module.str() + ": " + label;
}

Location commandLocation(MLIRContext *context, ArrayRef<Location> parts, ValueRange results) {
  SmallVector<Attribute> labels;
  for (Value result : results)
    labels.push_back(StringAttr::get(context, labelOf(cast<OpResult>(result))));
  return FusedLoc::get(context, parts, ArrayAttr::get(context, labels));
}

Location partLocation(Location command, ArrayRef<int64_t> results) {
  auto fused = dyn_cast<FusedLoc>(command);
  auto labels = fused ? dyn_cast_or_null<ArrayAttr>(fused.getMetadata()) : ArrayAttr();
  if (!labels)
    return command;
  auto kept = llvm::map_to_vector(results, [&](int64_t i) { return labels[i]; });
  return FusedLoc::get(command.getContext(), fused.getLocations(),
                       ArrayAttr::get(command.getContext(), kept));
}

std::string qualifiedLabel(OpResult result) {
  if (auto fused = dyn_cast<FusedLoc>(result.getLoc()))
    if (auto labels = dyn_cast_or_null<ArrayAttr>(fused.getMetadata());
        labels && labels.size() == result.getOwner()->getNumResults())
      return cast<StringAttr>(labels[result.getResultNumber()]).str();
  return labelOf(result);
}

std::string resultLabel(OpResult result) {
  std::string label = qualifiedLabel(result);
  size_t module = label.find(": ");
  return module == std::string::npos ? label : label.substr(module + 2);
}

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
  std::string label = names.size() == 1 ? names.front() : names.front() + " ...";
  return derivativeOf(location).empty() ? label : "d " + label;
}

StringRef modulePath(Location location) {
  if (auto fused = dyn_cast<FusedLoc>(location))
    return fused.getLocations().empty() ? "" : modulePath(fused.getLocations().front());
  auto node = dyn_cast<NameLoc>(location);
  auto type = node ? dyn_cast<NameLoc>(node.getChildLoc()) : NameLoc();
  auto module = type ? dyn_cast<NameLoc>(type.getChildLoc()) : NameLoc();
  return module ? module.getName().getValue() : "";
}

} // namespace accum
