// SPDX-License-Identifier: Apache-2.0
// What is wrong with parameters, as sentences.
#pragma once
#include "compiler/Import/parameters/Parameters.h"

namespace accum::import {

/// Values that the export computed from parameters, for one reason.
Failure computedByExport(const std::vector<std::string> &names, const std::string &reason, bool isTraced);
/// One tensor, of which the options train one name and freeze another; `flag` keeps the names apart.
Failure disagreement(const std::vector<std::string> &names, std::string_view flag);
/// One tensor that several parameters were made into.
Failure mergedByExport(const std::vector<std::string> &names);
/// An option's pattern that fits no parameter of the file: one of those that the model had, or none at all,
/// where the note says the `names`.
Failure matchesNone(std::string_view slug, std::string subject, const std::string &pattern,
                    std::vector<std::string> ofModel, std::string names);
/// The update is one command over parameters of one type; those of 16 bits are trained in f32, since sums of
/// gradients and optimizer steps are below their last digit.
Failures refuseTypes(const std::vector<const Parameter *> &trained);

} // namespace accum::import
