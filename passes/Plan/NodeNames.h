// SPDX-License-Identifier: Apache-2.0
// ONNX node names of an op, read off its location.
#pragma once

#include "mlir/IR/Location.h"
#include <string>
#include <vector>

namespace accum {

/// Names of the ONNX nodes that a location stands for, in order, each once.
std::vector<std::string> nodeNames(mlir::Location location);

/// The first of them, with ` ...` behind it where there are more; empty where there is none.
std::string nodeLabel(mlir::Location location);

} // namespace accum
