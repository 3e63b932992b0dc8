// SPDX-License-Identifier: Apache-2.0
// Numbers of the file as known content.
#pragma once
#include "compiler/Import/content/Content.h"
#include "compiler/Import/model/Model.h"

namespace accum::import {

/// Nothing for absent data and for element types that import does not fold (strings, complex, 8-bit floats).
std::optional<Content> contentOf(const Tensor &tensor);

} // namespace accum::import
