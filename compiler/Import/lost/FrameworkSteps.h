// SPDX-License-Identifier: Apache-2.0
// What the framework's own functions do that may change no value: a loss times its delta of 1.
#pragma once
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// `reader` reads what `source` computes, both in one line that calls a function of the framework, and that
/// function has a step `operation` (`mul`) between them: what an optimiser drops there is none of the
/// model's.
bool isFrameworkStep(const Node &source, const Node &reader, std::string_view operation);

} // namespace accum::import
