// SPDX-License-Identifier: Apache-2.0
// A case of ONNX's own node tests as a training problem.
#pragma once
#include "test/passes/Differentiate/StepRun.h"
#include <filesystem>
#include <optional>

namespace accum::test {

/// What of the case becomes a parameter, and what data.
enum class Roles {
  Parameters,  ///< every float input is a parameter; the loss is multiplied by a mean over other data
  FirstInput,  ///< input 0 is data, each sample a slab of its leading axis; the other float inputs are
               ///< parameters
  LeadingAxes, ///< all inputs whose leading axis is as long as that of input 0 are data
};

struct NodeProblem {
  std::string model;      ///< bytes of an ONNX file
  StepData data;          ///< at which `loss` holds
  double loss = 0;        ///< as the case's outputs have it
  double magnitude = 0;   ///< of the terms that it sums
  bool hasFloats = false; ///< among the inputs that became parameters or data
};

/// Folders of the cases: Debian's libonnx-testdata, or the environment's ACCUM_NODE_CASES.
std::vector<std::filesystem::path> nodeCases();

/// The loss is sum(outputs * weights), all outputs and weights at random, and a term that trains a parameter
/// whatever the node does. Data is shifted by a parameter of zeros, so that a gradient goes into it. Nothing
/// for cases of several nodes, or with something else than tensors of numbers.
std::optional<NodeProblem> makeNodeProblem(const std::filesystem::path &folder, Roles roles);

} // namespace accum::test
