// SPDX-License-Identifier: Apache-2.0
// The framework's names of parameters, as far as the export lets us recover them.
#pragma once
#include "compiler/Import/model/Readers.h"
#include "compiler/Import/parameters/Signature.h"

namespace accum::import {

/// A name such as state_dict has: `transformer.ln_f.bias`, `w`; not `onnx::MatMul_634`, `val_57`,
/// `/h/Cast_output_0`.
bool isModuleName(std::string_view name);
/// `weight` of `layers.0.fc.weight`.
std::string_view lastWord(std::string_view name);
/// `layers.0.fc.weight` and `layers.11.fc.weight`: the same place in two copies of a layer.
bool isSamePlaceInAnotherLayer(std::string_view a, std::string_view b);
/// `decoder.fc.weight` as `model.decoder.fc.weight`, where every name of the file that holds `decoder` as a
/// module has it below one and the same other: scopes of traced exports begin at the first module that is
/// called.
std::string belowItsRoot(const Graph &graph, const std::string &name);
/// `m.decoder.fc.weight` where names of the file hold `m.model.decoder` and none `m.decoder`: scopes of
/// traced exports lack the modules between two that are called, here of a `self.model.decoder(x)` in m.
bool isContradicted(const Graph &graph, const std::string &name);
/// `h.0.ffn.2.weight` for `h.0.ffn.ffn.2.weight`: scopes of traced exports name the child of an nn.Sequential
/// from the module that holds the Sequential on, once more behind its own name. As it is where the file
/// itself repeats so.
std::string withoutRepeats(const Graph &graph, std::string name);
/// The parameter that the reader's traced call takes where the node reads `initializer`, by the one of its
/// names that calls use: what exporters merged is told apart by it, and what modules share is one. "" where
/// the file keeps no calls, or the call takes several that it could be.
std::string parameterAtReader(const Graph &graph, const Signature &signature, std::string_view initializer,
                              const Reader &reader);
/// What that reader calls the initializer: module and `weight` or `bias`, or the module and the initializer's
/// own last word where the signature has that. "" when not known, or when there is a signature and it has
/// neither.
std::string nameAtReader(const Graph &graph, const Signature &signature, std::string_view initializer,
                         const Reader &reader);
/// The one parameter that the readers' calls, or else their modules, take and the file does not hold by name;
/// "" for none and for several.
std::string lostAtReaders(const Graph &graph, const Signature &signature, const std::string &initializer,
                          const std::vector<Reader> &readers);

} // namespace accum::import
