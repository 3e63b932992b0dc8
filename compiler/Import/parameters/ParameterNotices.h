// SPDX-License-Identifier: Apache-2.0
// Sentences about parameters.
#pragma once
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/parameters/Signature.h"
#include <functional>

namespace accum::import {

/// "lm_head.weight = transformer.wte.weight (tied): ...".
std::string tieNotice(const Parameter &kept, const Parameter &alias, bool transposed);
/// Of one initializer that several modules read.
std::string sharedOrEqual(const std::vector<std::string> &names);
/// "parameters are: a, b, c, ..." for a pattern that matched none of `count` names.
std::string namesForNote(size_t count, const std::function<std::string(size_t)> &name);
/// Adds a notice for each parameter of the signature that the file does not hold: a bias that was zero, or
/// another one. Names that other parameters also go by are added to those instead.
void noteVanished(const Signature &signature, ParameterTable &table);
/// Adds a notice of the tensors that are left as they are because the file does not tell what they are.
void noteGuessed(const std::vector<std::string> &names, ParameterTable &table);
/// Of weights that are Constant nodes, or initializers that nothing tells from constants.
std::string trainedConstants(const std::vector<std::string> &names);
/// Adds a notice of trained tensors that hold a batch norm.
void noteFused(const std::vector<std::string> &names, ParameterTable &table);
/// Adds a notice of trained tensors that the TorchScript exporter computed from parameters, which are gone.
void noteComputed(ParameterTable &table);
/// Adds a notice of what a TorchScript file cannot say, and of the exporter that can.
void noteTraced(const Model &model, ParameterTable &table);
/// The failure for a model without a trained parameter, with what could be trained.
Failure nothingToTrain(const Model &model, const ParameterTable &table);

} // namespace accum::import
