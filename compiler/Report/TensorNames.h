// SPDX-License-Identifier: Apache-2.0
// Tensors of repeated layers under one name: `h.0..11.mlp.c_fc`.
#pragma once
#include "compiler/Planner/Search/PeakMoment.h"
#include <string>
#include <vector>

namespace accum::planner {

struct TensorGroup {
  std::string label = {};
  int64_t bytesEach = 0;
  int count = 0; ///< of the tensors
  int numbers =
      1; ///< that their labels differ in; fewer than `count` where a label stands for several tensors
};

/// Groups tensors of equal size whose labels differ in one number only; largest sum first. Of a label that
/// names a module and a node, `h.0.mlp.c_fc: node_addmm_2`, the module counts.
std::vector<TensorGroup> groupTensors(const std::vector<PeakTensor> &tensors);

/// A name that fits about `characters`: the middle is left out where it is longer, and everything where so
/// few say nothing.
std::string shortened(const std::string &name, size_t characters);
/// The same for a line of a table: names come from files, and may be of any length.
inline std::string shortened(const std::string &name) { return shortened(name, 96); }

} // namespace accum::planner
