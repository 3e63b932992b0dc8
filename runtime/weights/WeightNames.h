// SPDX-License-Identifier: Apache-2.0
// Names of tensors in a file against those of a model's parameters.
#ifndef ACCUM_RUNTIME_WEIGHTS_WEIGHTNAMES_H
#define ACCUM_RUNTIME_WEIGHTS_WEIGHTNAMES_H

#include <map>
#include <set>
#include <string>
#include <vector>

namespace accum::runtime {

/// What all names of the file have before them and the model's have not, or the other way round:
/// `transformer.` for a file of the inner module.
struct NamePrefix {
  std::string text;
  bool inFile = false;

  /// The file's name for one of the model's; empty where none can be.
  std::string fileName(const std::string &model) const;
};

/// The one with which most of the model's names are in the file; none where none makes more of them fit.
NamePrefix bestPrefix(const std::vector<std::string> &model, const std::set<std::string> &file);

} // namespace accum::runtime
#endif
