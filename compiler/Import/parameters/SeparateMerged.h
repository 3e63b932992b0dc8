// SPDX-License-Identifier: Apache-2.0
// Exporters merge initializers of equal content; parameters that merely were equal when exported are not one.
#pragma once
#include "compiler/Import/parameters/Signature.h"

namespace accum::import {

/// One initializer that several modules read, by their names for it: shared by them, or merely equal when a
/// traced export merged them. The file does not tell.
struct SharedOrEqual {
  std::string initializer;
  std::vector<std::string> names; ///< at least two
};

struct Separation {
  std::vector<std::string> names; ///< new initializers
  std::vector<SharedOrEqual> left;
};

/// Gives each of several parameters that share one initializer an initializer of its own over the same bytes,
/// under the framework's name, and lets its readers read that. Separated are: `Identity(a) -> b` where b is a
/// module's name, or where the modules that read a and b were copies of each other, their biases equal too; a
/// vector of equal values read by several norms or biases; an initializer read at the same place of several
/// layers where the signature knows each of them; one that several calls take under different names. Sharing
/// that is none of these stays, as of a module that runs twice, but with `untie` what different modules of a
/// traced export read.
Separation separateMerged(Graph &graph, const Signature &signature, bool untie = false);

/// A tensor that the file has under another's name, and who reads it there.
struct SeparatedTensor {
  struct Reader {
    std::string node; ///< its first output
    int64_t operand = 0;
  };
  std::string name, from;
  std::vector<Reader> readers; ///< none: an Identity of the file gives `name`
};

/// Of a graph behind separateMerged: all that it made, constants too.
std::vector<SeparatedTensor> separatedTensors(const Graph &graph);

/// The name in the file of what the initializer was separated from; its own for all others.
std::string nameWhenMade(const Graph &graph, const std::string &initializer);
/// The parameter that was separated into this initializer; the initializer's name for all others.
std::string separatedParameter(const Graph &graph, const std::string &initializer);

} // namespace accum::import
