// SPDX-License-Identifier: Apache-2.0
// Exporters merge initializers of equal content; parameters that merely were equal when exported are not one.
#pragma once
#include "compiler/Import/Signature.h"

namespace accum::import {

/// Gives each of several parameters that share one initializer an initializer of its own over the same bytes,
/// under the framework's name, and lets its readers read that. Separated are: `Identity(a) -> b` where b is a
/// module's name; a vector of equal values read by several norms or biases; an initializer read at the same
/// place of several layers where the signature knows each of them. Sharing that is none of these stays.
/// Returns the new names.
std::vector<std::string> separateMerged(Graph &graph, const Signature &signature);

} // namespace accum::import
