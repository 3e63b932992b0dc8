// SPDX-License-Identifier: Apache-2.0
// What a dynamo export says about its parameters.
#pragma once
#include "compiler/Import/model/Model.h"
#include <set>

namespace accum::import {

/// What forward writes, by its name in state_dict or that of the input.
struct StateUpdate {
  enum class Kind { Buffer, Parameter, Input };
  Kind kind;
  std::string target;
};

/// The graph's `pkg.torch.export.ExportedProgram.graph_signature`: parameters and buffers under the names of
/// state_dict, in its order. Empty for every other exporter.
struct Signature {
  std::vector<std::string> parameters; ///< PARAMETER targets
  std::vector<std::string> buffers;    ///< BUFFER targets
  std::vector<std::string> persistent; ///< those that state_dict holds
  /// What traced calls call each PARAMETER, `p_wte_weight` -> `wte.weight`. Of a parameter with several
  /// names all calls use one.
  std::map<std::string, std::string, std::less<>> placeholders;
  /// What traced calls call all inputs: those, buffers, constants and what a user gives.
  std::set<std::string, std::less<>> inputs;
  std::map<std::string, std::string, std::less<>> bufferPlaceholders; ///< the same of each BUFFER
  std::vector<StateUpdate> updates;
  /// The PARAMETER targets that an initializer of the file says it is, or was folded from alone. The others
  /// were merged with equal ones, or dropped.
  std::set<std::string, std::less<>> held;

  static Signature of(const Graph &graph);
  bool isEmpty() const { return parameters.empty() && buffers.empty(); }
  bool hasParameter(std::string_view target) const;
  /// What state_dict calls the initializer: exporters give another name to one that an argument has too.
  std::string targetOf(const Graph &graph, std::string_view initializer) const;
  /// Parameters and persistent buffers.
  std::vector<std::string> stateNames() const;
  /// `PARAMETER`, `BUFFER`, ..., by the initializer's own metadata, or by its name where those are gone
  /// (tools that rewrite a file may drop them); "" for what is neither.
  std::string_view kindOf(const Graph &graph, std::string_view initializer) const;
  /// The parameter that the file itself says the initializer is, or was folded from; "" for none and for
  /// several.
  std::string parameterIn(const Graph &graph, std::string_view initializer) const;
};

/// Where an initializer that was separated from another says which parameter it is.
inline constexpr const char *kParameterKey = "accum.parameter";
/// Where an initializer's own metadata says which kind of input it is.
inline constexpr const char *kSignatureKind = "pkg.torch.export.graph_signature.InputSpec.kind";
/// Whether the framework's state_dict holds the initializer under its own name.
bool isInStateDict(const Graph &graph, const Signature &signature, std::string_view initializer);
/// `PARAMETER`, `BUFFER`, ..., or "" where the export does not say.
std::string_view signatureKind(const Graph &graph, std::string_view initializer);
/// The values that the exporter computed this initializer from, or none.
std::vector<std::string> foldedFrom(const Graph &graph, std::string_view initializer);
/// The single-quoted strings of a Python list.
std::vector<std::string> quotedStrings(std::string_view list);

} // namespace accum::import
