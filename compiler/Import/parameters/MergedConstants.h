// SPDX-License-Identifier: Apache-2.0
// Buffers and numbers that an exporter merged with a parameter, since they were equal.
#pragma once
#include "compiler/Import/model/Readers.h"
#include "compiler/Import/parameters/Signature.h"

namespace accum::import {

/// Of a parameter that is also read as a running mean or variance, which is trained nowhere: what the module
/// calls that, or the parameter's name and `.constant`. "" where it is not.
std::string statisticAtReader(const Graph &graph, const Signature &signature, const std::string &initializer,
                              const Reader &reader);
/// A buffer or a number that was merged with the parameter: the reader's call takes that, and no parameter.
/// "" where it does not.
std::string constantAtReader(const Graph &graph, const Signature &signature, const std::string &initializer,
                             const Reader &reader);

} // namespace accum::import
