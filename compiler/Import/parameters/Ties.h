// SPDX-License-Identifier: Apache-2.0
// Tied weights: one parameter that the file holds twice.
#pragma once
#include "compiler/Import/model/Readers.h"
#include "compiler/Import/parameters/Parameters.h"

namespace accum::import {

/// Two initializers that are one parameter; `alias` is `kept`, or its transpose.
struct Tie {
  std::string kept;
  std::string alias;
  bool transposed = false;
};

/// A parameter as far as tying is concerned.
struct TieCandidate {
  const Tensor *tensor = nullptr;
  std::string module;                     ///< as in Parameter
  std::vector<std::string> moduleAliases; ///< as in Parameter
  bool isTable = false;                   ///< read by Gather
  bool moduleTransposed = false;
  bool isTold = false;   ///< as in Parameter
  std::string made = {}; ///< the initializer that it was separated from, or itself
  std::string bias = {}; ///< added to its product, where nothing but this says whose weight it is
};

struct Ties {
  std::vector<Tie> ties;            ///< `kept` is never an alias itself; in order of the aliases
  std::vector<std::string> notices; ///< of look-alikes that were not tied, and of what could not be checked
};

/// Finds initializers of equal content, up to transposition for rank 2; where bytes are absent, those that
/// the export gives the same name. Vectors of equal values are never tied, nor are weights at the same place
/// of different layers, which are equal when a layer was copied before training, nor what the export's calls
/// tell apart, nor what was separated. Compares 16 sampled elements of each, then whole tensors of those that
/// agree.
Ties findTies(const std::vector<TieCandidate> &candidates);

/// `A=B` by ONNX or module names; the orientation follows from shapes, contents, or layouts. Fails with
/// `no-such-parameter`.
Result<Tie> tieByHand(const std::string &request, const std::vector<TieCandidate> &candidates);

/// Of equal content: what the framework calls either it calls both. `alias` is `kept`, or its transpose.
void shareNames(Parameter &kept, const Parameter &alias, bool transposed);

/// Bytes equal, or equal after transposing `b` (rank 2). Both have bytes and matching shapes.
bool haveEqualContent(const Tensor &a, const Tensor &b, bool transposed);

} // namespace accum::import
