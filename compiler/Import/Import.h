// SPDX-License-Identifier: Apache-2.0
// ONNX file -> module of nn: one function @forward(inputs) -> loss, its parameters, no shape arithmetic left.
#pragma once
#include "compiler/Import/model/Failure.h"
#include "compiler/Import/parameters/Parameters.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <map>

namespace accum::import {

/// On the module: names of the framework's state that none of its parameters has.
inline constexpr const char *kStateLacks = "accum.state_lacks";
/// On the module: what separatedTensors tells, a dictionary each.
inline constexpr const char *kSeparated = "accum.separated";

struct ImportOptions {
  std::filesystem::path path;
  std::map<std::string, int64_t> dims; ///< sizes of symbolic dimensions other than the batch; `a,b` names two
  std::string batchDim;                ///< its symbols, commas between; empty: those leading the inputs
  /// `auto`, an output's name, or cross-entropy | causal-lm | next-token | mse | bce, each with an optional
  /// `:OUTPUT`.
  std::string loss = "auto";
  ParameterOptions parameters;
  /// Patterns over the names of functions whose own backward pass, which the file does not hold, is the
  /// derivative of their forward.
  std::vector<std::string> trustedBackward;
  /// Which outputs of the graph a run can predict: `none`, `auto` (all that can be told per sample from what
  /// the loss reads), or names with commas between, each of which must be one.
  std::string outputs = "none";
  bool planOnly = false;     ///< weights may be missing
  bool isOneOfSizes = false; ///< see Emitter::isOneOfSizes
  /// Batch size that becomes part of every shape, for graphs that relate samples; each argument of @forward
  /// then says which axis it is along (train::kBatchAxis).
  std::optional<int64_t> wholeBatch;
  /// Batch size at which a graph is split where its samples meet: @forward returns what enters the nodes that
  /// relate them, and @whole (train::kWholeFunction) computes the loss from that, of exactly so many samples.
  std::optional<int64_t> splitBatch;
  /// Names of nodes that relate samples as only the check finds out.
  std::vector<std::string> meeting;
};

/// Numbers in the parameters below one module; `name` is "" for those whose module is not known.
struct ModuleCount {
  std::string name;
  int64_t trained = 0, frozen = 0;
};

/// Facts for the driver's summary.
struct ImportReport {
  std::string producer;
  int64_t opset = 0;
  int64_t tensorsTrained = 0, elementsTrained = 0;
  int64_t tensorsFrozen = 0, elementsFrozen = 0;
  std::vector<ModuleCount> modules;            ///< in the file's order
  bool isFreezingAsked = false;                ///< by an option or by the file
  std::vector<std::string> ties;               ///< "lm_head.weight = transformer.wte.weight"
  std::string batchDim;                        ///< symbol
  std::vector<std::string> batchDims;          ///< all symbols that are the batch
  bool batchPresumed = false;                  ///< several, and no flag says that they are one
  std::map<std::string, int64_t> dimsFromFile; ///< symbol -> size, where the file's own default was taken
  std::string loss;       ///< which convention, on which output, and what it counts: one phrase
  std::string lossKind;   ///< `output`, `cross-entropy`, `causal-lm`, `next-token`, `mse`, `bce`
  std::string lossOutput; ///< the ONNX output that it is, or is taken on
  std::vector<std::string> otherLosses; ///< flags that would give another loss
  /// Outputs that cannot be predicted, and why: what follows `NAME: `.
  std::vector<std::pair<std::string, std::string>> outputsLeftOut;
  std::vector<std::string> entries; ///< of a graph that is split: the values that enter where samples meet
  bool hasDropout = false;          ///< or draws other random numbers
  bool trainsDoubles = false;       ///< the parameters that are trained are f64
  std::vector<std::string> notices; ///< lowercase sentences
  /// Nodes that relate samples and are refused by their kind: to report with what the check finds, since the
  /// module holds stand-ins for their results and is good for nothing else.
  Failures crossBatch;
  /// To report once the check has passed: see ParameterTable::refused.
  Failures deferred;
};

/// Beside @forward, the module has @predict (train::kPredictFunction) where outputs can be predicted.
/// Nothing where `failures` is not empty; failures in the report stand besides. The slugs beside those of
/// Failure.h: cross-batch, data-dependent-shape, static-batch, no-loss, ambiguous-loss, past-key-values (1);
/// open-dimension, no-such-dimension, no-such-output (2).
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext &context, const ImportOptions &options,
                                              ImportReport &report, Failures &failures);

} // namespace accum::import
