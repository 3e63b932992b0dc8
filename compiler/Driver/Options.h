// SPDX-License-Identifier: Apache-2.0
// accumc's command line.
#pragma once

#include "compiler/Driver/Output.h"
#include "compiler/Planner/Problem/Options.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace accum::driver {

/// A size that `--micro-batch explore` has compiled and timed; seconds of a step.
struct ExploredSize {
  int64_t m = 0;
  double predicted = 0, measured = 0;
  double scatter = 0; ///< of its steps: the upper quartile over the lower one, less 1
  int64_t steps = 0;  ///< that were timed
  bool chosen = false;
};

/// Dimensions that several sizes are compiled of, in one program.
struct LengthOptions {
  std::vector<std::string> dims;           ///< `--dim` names, one entry a dimension; none: every size is one
  std::vector<std::vector<int64_t>> sizes; ///< ascending; of each length the size of every dimension
  std::vector<int64_t> longest;            ///< `auto:LONGEST` of each dimension: the sizes are chosen
  std::string file;                        ///< --lengths
  std::string comparison;                  ///< what other numbers of sizes would take, in words
  std::vector<double> shares;              ///< of the samples, by length; empty: not known
  int64_t count = 6;                       ///< --lengths-count: at most so many are chosen

  bool any() const { return !dims.empty(); }
};

/// The command line after parsing: what its options mean stands in Options.def.
struct Options : planner::Options {
  Options() { batch = 0; } // which is asked for

  std::string model;
  std::string output; // empty: MODEL.accum
  std::string loss = "auto";
  std::vector<std::string> dimTexts;
  std::string lengthsFile;
  std::optional<int64_t> lengthsCount;
  std::vector<std::pair<std::string, int64_t>> dims;
  LengthOptions lengths;
  std::string batchDim;
  std::vector<std::string> trainable, freeze, ties, trustBackward;
  bool untie = false;
  std::string optimizer = "adamw";
  bool ema = false;                 ///< an average of the weights alongside what the optimizer keeps
  std::string metric;               // empty, or "accuracy"
  std::vector<std::string> outputs; // to predict: none, or names, also with commas between; empty: auto
  std::string precision = "f32";
  std::string microBatchText = "auto"; // of microBatch, or explore[:MIN..MAX]
  std::string onCrossBatch = "reject";
  std::string target = "host";
  std::string cpu = "native";
  std::string memoryText;
  std::optional<int64_t> memory; // bytes per device
  bool planOnly = false, explain = false, json = false, timing = false, verbose = false, listTargets = false;
  bool reference = false; // --target reference
  bool checkOnly = false; // accumc check
  std::string dumpPhases, toPhase, report, planFile;
  bool withSim = false;
  bool wholeBatch = false;            ///< no flag: the graph relates samples, and --on-cross-batch allows it
  bool isOneOfSizes = false;          ///< no flag: another size of the same model is compiled with it
  bool splitBatch = false;            ///< no flag: the same, and --on-cross-batch asks to split it
  bool keepForward = false;           ///< no flag: of its first micro-step the forward part runs once
  std::vector<std::string> meeting;   ///< no flag: nodes that relate samples, where it is split
  bool quiet = false;                 ///< no flag: prints nothing but errors
  std::vector<ExploredSize> explored; ///< no flag: what was timed before these options were decided
  int64_t exploredOf = 0;             ///< of so many sizes
  Output *sink = nullptr;             ///< no flag: who is told; there while something is compiled
  std::vector<std::string> argv;

  /// Of the optimizer as it updates here, by which runtime/artifact/Optimizers.h finds it.
  std::string updateName() const;
  /// Of `outputs`: auto, none, or names with commas between.
  std::string outputsAsked() const;
};

/// What parsing came to: options, or text for stdout (exit 0), or a message for stderr (exit 2).
struct ParsedOptions {
  std::optional<Options> options;
  std::string text;
  int exitCode = 0;
};

ParsedOptions parseOptions(int argc, char **argv);

/// Of all options, with their dashes.
std::vector<std::string> optionNames();

/// A model whose parameters are f64 is computed in f64; the message where another precision was asked for.
std::string settlePrecision(Options &options, bool isDouble);

} // namespace accum::driver
