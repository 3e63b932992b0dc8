// SPDX-License-Identifier: Apache-2.0
// The phases as pass pipelines: the driver runs them, and accum-opt knows each by name (`--phase-fuse=cuda`).
// The phase `plan` asks the planner: compiler/Driver/PlanPass.h.
#pragma once

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace accum {

/// What phases take from the command line.
struct PhaseOptions {
  bool widen = false;              ///< import: compute in f64
  std::string optimizer = "adamw"; ///< differentiate: the update
  bool cuda = false;               ///< fuse, schedule: for a GPU
  bool reference = false;          ///< fuse: one command per operator
  bool narrow = false;             ///< fuse: store in bf16
  bool accuracy = false;           ///< differentiate: @eval counts correct predictions
  bool keepForward = false;        ///< differentiate: no second forward pass of a first micro-step
  bool wideWeights = false;        ///< fuse, with narrow: products round trained weights as they read them
};

inline constexpr llvm::StringLiteral kOtherForm = "attention_apart";

/// Behind compiler/Import: one form for what exporters write in several.
void buildImportPipeline(mlir::OpPassManager &manager, const PhaseOptions &options);
/// A forward function with placements to a train.step.
void buildDifferentiatePipeline(mlir::OpPassManager &manager, const PhaseOptions &options);
/// A step's ops to commands. For a GPU attention may be in tiles, which need less memory, or products and row
/// kernels: where it may be either, the module holds the second form as the module `kOtherForm` in it, until
/// the plan decides.
void buildFusePipeline(mlir::OpPassManager &manager, const PhaseOptions &options);
/// A planned step to commands of its micro-batch, which the program is made of.
void buildBindPipeline(mlir::OpPassManager &manager, const PhaseOptions &options);
/// A planned step to the program.
void buildSchedulePipeline(mlir::OpPassManager &manager, const PhaseOptions &options);

/// Every pass of ours, and `phase-import`, `phase-check`, `phase-differentiate`, `phase-fuse`,
/// `phase-schedule`, `phase-codegen` and `phase-codegen-cuda`.
void registerPassesAndPipelines();

} // namespace accum
