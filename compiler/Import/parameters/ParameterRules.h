// SPDX-License-Identifier: Apache-2.0
// What one initializer is: a parameter, or a number that only looks like one.
#pragma once
#include "compiler/Import/model/Readers.h"
#include "compiler/Import/parameters/Signature.h"

namespace accum::import {

enum class Standing {
  Trained,
  Frozen,   ///< looks like a parameter and is none: a buffer, a table, a mask
  Constant, ///< nobody would take it for a parameter
  Derived,  ///< computed from a parameter in a way that training it would not be training the parameter
};

struct Verdict {
  Standing standing = Standing::Constant;
  std::string reason;
  std::string module;            ///< as in Parameter
  bool moduleTransposed = false; ///< as in Parameter
  bool isNameless = false;       ///< as in Parameter
  bool isRows = false;           ///< as in Parameter
  bool isGuess = false;          ///< frozen only because nothing tells that it is a parameter
  bool isFused = false;          ///< trained, and a batch norm was folded into it
  double moduleAdded = 0;        ///< as in Parameter
};

/// The rule. Where the export carries a signature, that decides: kind PARAMETER, or computed from one
/// (`folded_from`) by a transposition, a row slice, or a norm's `1 + w`. Otherwise: how the initializer is
/// read, its name, and, for tables and masks, its values. `readers` are its readers in `graph`.
Verdict judge(const Graph &graph, const Tensor &tensor, const Signature &signature,
              const std::vector<Reader> &readers);

} // namespace accum::import
