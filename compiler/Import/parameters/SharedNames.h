// SPDX-License-Identifier: Apache-2.0
// All names that the framework has for one parameter, which its strict loading wants, and those of no tensor.
#pragma once
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/parameters/Signature.h"

namespace accum::import {

/// Adds the names of other modules that share a parameter: in a traced export those of the modules that read
/// it, and `shared.weight` of an encoder and a decoder with one table, which no node reads by that name.
void nameShared(const Graph &graph, const Signature &signature, ParameterTable &table);

/// Names of state_dict that none of the parameters in `read` (names of initializers) goes by, as far as the
/// file tells; sorted.
std::vector<std::string> namesOfNone(const ParameterTable &table, const std::set<std::string> &read);

} // namespace accum::import
