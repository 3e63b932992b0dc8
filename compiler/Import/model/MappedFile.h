// SPDX-License-Identifier: Apache-2.0
// A file mapped for reading: weights are looked at where they lie.
#pragma once
#include "compiler/Import/model/Failure.h"
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace accum::import {

/// Read-only mapping of a whole regular file. Mapping reads nothing; pages come in when they are touched.
class MappedFile {
public:
  /// Fails with `missing-file` when there is none of that name and `malformed-model` when it is a directory,
  /// unreadable or no regular file. An empty file maps to an empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return content; }
  const std::filesystem::path &path() const { return location; }

private:
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes);
  std::filesystem::path location;
  std::span<const std::byte> content;
};

} // namespace accum::import
