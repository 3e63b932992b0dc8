// SPDX-License-Identifier: Apache-2.0
// Local functions: a model's own operators, defined by graphs.
#pragma once
#include "compiler/Import/model/Failure.h"
#include "compiler/Import/onnx-ir.pb.h"

namespace accum::import {

/// Replaces every call of a function of `model.functions` by its body, in subgraphs too, and removes the
/// functions. Values and nodes of a body are named `<call>/<name>`; attribute references get the call's
/// value, else the function's default, else the attribute is absent. Nodes without metadata inherit the
/// call's. Fails with `malformed-model` when a function calls itself or the result would be absurdly large.
Result<Done> inlineFunctions(onnx::ModelProto &model);

} // namespace accum::import
