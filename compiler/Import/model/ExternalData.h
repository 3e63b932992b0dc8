// SPDX-License-Identifier: Apache-2.0
// Weights in files beside the model.
#pragma once
#include "compiler/Import/model/MappedFile.h"
#include "compiler/Import/model/Model.h"
#include <map>
#include <set>

namespace accum::import {

/// The external data files of one model. Each is opened once and mapped whole; nothing is read. Only files
/// below the model's folder are opened, and where the model is a link (a hub's cache links models and weights
/// into one folder of blobs), those below the folder that it points into: a model from somewhere else must
/// not read what it likes.
class ExternalData {
public:
  ExternalData(const std::filesystem::path &model, bool allowMissing);

  /// Where an external tensor claims to lie; offset and length in bytes.
  struct Place {
    std::string location;
    uint64_t offset = 0;
    std::optional<uint64_t> length;
  };

  /// The bytes of `tensor`, whose dtype and shape are set. A missing file gives absent data when that is
  /// allowed. Otherwise fails with `missing-file`, or with `malformed-model` when the place leaves the folder
  /// or the file, or when the length is not the shape's. Of a file that is too short the first tensor beyond
  /// its end fails, and further ones get absent data: a truncated file is one mistake.
  Result<TensorData> locate(const Tensor &tensor, const Place &place);

private:
  Result<std::shared_ptr<const MappedFile>> file(const std::string &location);
  Result<std::filesystem::path> resolve(const std::string &location) const;

  std::filesystem::path folder;     ///< canonical
  std::filesystem::path realFolder; ///< of the file that the model's path leads to; canonical
  bool allowMissing;
  std::map<std::string, Result<std::shared_ptr<const MappedFile>>> opened;
  std::set<std::string> tooShort; ///< told already
};

} // namespace accum::import
