// SPDX-License-Identifier: Apache-2.0
// What a command line may have meant by a word that is no option.
#pragma once
#include <string>
#include <vector>

namespace accum::driver {

/// A message for stderr, with a note that tells the way out. `words` are those of the command line, `left`
/// those that no option took, `options` the names that there are, with their dashes, `model` what was taken
/// for the model.
std::string explainUnknown(const std::vector<std::string> &words, const std::vector<std::string> &left,
                           const std::vector<std::string> &options, const std::string &model);

/// What is meant by a word with or without dashes, or with underscores: the one of `known` (with dashes) that
/// is called so elsewhere, or that is nearest; "" where there is none.
std::string meantBy(const std::string &word, const std::vector<std::string> &known);

} // namespace accum::driver
