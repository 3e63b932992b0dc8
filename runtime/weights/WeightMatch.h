// SPDX-License-Identifier: Apache-2.0
// Which tensor of a file of weights is which parameter, and in which layout.
#ifndef ACCUM_RUNTIME_WEIGHTS_WEIGHTMATCH_H
#define ACCUM_RUNTIME_WEIGHTS_WEIGHTMATCH_H

#include "runtime/artifact/Manifest.h"
#include "runtime/files/Array.h"

namespace accum::runtime {

/// One tensor of the file that is a parameter, under one of its names.
struct WeightChoice {
  const Array *array;
  AliasSpec as; ///< the model's name, and how the file's values become the parameter's
};

/// A tensor with the name of a parameter, and another shape.
struct WeightMisfit {
  size_t param;
  WeightChoice choice;
};

struct WeightMatch {
  std::vector<std::vector<WeightChoice>> choices; ///< of each parameter; more than one where it is tied
  std::vector<size_t> missing;                    ///< trained parameters that the file has not
  std::vector<WeightMisfit> misfits;
  std::vector<std::string> leftOver; ///< tensors that are no parameter
  std::string prefix;                ///< said where names have one more, or less
};

/// `names`: "onnx", "framework", or empty: both, and shapes decide where one name has two layouts. Slug
/// `weights` where they do not. `arrays` outlive the result.
Expected<WeightMatch> matchWeights(const Manifest &manifest, const std::vector<Array> &arrays,
                                   const std::string &path, const std::string &names);

} // namespace accum::runtime
#endif
