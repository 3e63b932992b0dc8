// SPDX-License-Identifier: Apache-2.0
// Floats of 16 bits in a file: what is done with them, and what they lost.
#pragma once
#include "compiler/Import/parameters/Parameters.h"

namespace accum::import {

/// Adds a notice where the file holds, or its graph casts to, floats of 16 bits, with the names of constants
/// that the export rounded to them: rotary tables, scales.
void noteShortFloats(const Graph &graph, ParameterTable &table);

} // namespace accum::import
