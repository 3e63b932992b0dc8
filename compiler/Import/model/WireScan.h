// SPDX-License-Identifier: Apache-2.0
// One pass over the protobuf wire format that leaves tensor payloads where they are.
#pragma once
#include "compiler/Import/model/Failure.h"
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace accum::import {

/// Copies an ONNX file's structure, without payloads: the result is a serialised accum.onnx.ModelProto in
/// which raw_data, and float_data and double_data in one packed piece, are replaced by payload_offset and
/// payload_length, in bytes from the start of `file`. protobuf alone would copy every payload and stop at
/// 2 GiB. Reads no payload byte. Unknown fields and doc strings are dropped. Fails with `malformed-model`.
Result<std::string> scanModel(std::span<const std::byte> file, const std::filesystem::path &path);

} // namespace accum::import
