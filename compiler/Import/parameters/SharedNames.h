// SPDX-License-Identifier: Apache-2.0
// All names that the framework has for one parameter, which its strict loading wants, and those of no tensor.
#pragma once
#include "compiler/Import/model/Readers.h"
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/parameters/Signature.h"

namespace accum::import {

/// The parameters that traced calls take, by the names they use.
std::set<std::string> namesInCalls(const Graph &graph, const Signature &signature);
/// Of an export with a signature: the framework's name of what the readers take, and its other names.
void nameByReaders(const Graph &graph, const Signature &signature, const std::set<std::string> &called,
                   const std::vector<Reader> &readers, Parameter &parameter);

/// Adds the names of other modules that share a parameter: in a traced export those of the modules that read
/// it, and `shared.weight` of an encoder and a decoder with one table, which no node reads by that name.
void nameShared(const Graph &graph, const Signature &signature, ParameterTable &table);

/// Names of state_dict that none of the parameters in `read` (names of initializers) goes by, as far as the
/// file tells; sorted.
std::vector<std::string> namesOfNone(const ParameterTable &table, const std::set<std::string> &read);

} // namespace accum::import
