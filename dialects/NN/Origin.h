// SPDX-License-Identifier: Apache-2.0
// Where an op comes from, as its location says: the ONNX node, its module, and whether a derivative made it.
//
//   NameLoc(node, NameLoc(operator, NameLoc(module)))   what import writes; the module where the export has
//   it FusedLoc<"layer_norm_grad">[location]               what the derivative of a layer norm at `location`
//   made FusedLoc<["a", "b"]>[locations]                     a command of several ops whose results are
//   called a, b
#pragma once

#include "mlir/IR/Operation.h"
#include <string>
#include <vector>

namespace accum {

/// The location of what computes the cotangents of `op`'s operands.
mlir::Location derivativeLocation(mlir::Operation *op);

/// What the derivative is of that made an op at this location (`layer_norm_grad`); empty for a forward op.
llvm::StringRef derivativeOf(mlir::Location location);

/// The location of a command made of ops at `parts`, whose results are those `results` of them.
mlir::Location commandLocation(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Location> parts,
                               mlir::ValueRange results);

/// The location of a command that makes only some `results` of the one at `command`.
mlir::Location partLocation(mlir::Location command, llvm::ArrayRef<int64_t> results);

/// Names of the ONNX nodes that a location stands for, in order, each once.
std::vector<std::string> nodeNames(mlir::Location location);

/// What to call the values made at a location: the first node's name, with ` ...` behind it where there are
/// more, and `d ` before it where a derivative made them; empty where there is no node.
std::string nodeLabel(mlir::Location location);

/// What to call a result: its command's name for it, else that of the op.
std::string resultLabel(mlir::OpResult result);

/// The same behind its module, `transformer.h.0.mlp.c_fc: node_addmm_2`, where the node's name is not a path
/// that says so itself.
std::string qualifiedLabel(mlir::OpResult result);

/// The module that holds the first node of a location (`transformer.h.0.attn.c_attn`); empty where the export
/// does not say.
llvm::StringRef modulePath(mlir::Location location);

} // namespace accum
