// SPDX-License-Identifier: Apache-2.0
// From parsed protobuf messages to the plain structs of Model.h.
#pragma once
#include "compiler/Import/model/ExternalData.h"
#include "compiler/Import/model/Model.h"
#include "compiler/Import/onnx-ir.pb.h"
#include <unordered_map>

namespace accum::import {

/// Where tensors of one model find their bytes, and what was found wrong on the way. Failures are collected
/// so that a model is told everything at once; after one, a value stands in that nothing reads.
struct Conversion {
  std::shared_ptr<const MappedFile> file;
  ExternalData external;
  std::map<std::string, int64_t, std::less<>> opsets;
  std::unordered_map<std::string, int>
      nodeNames; ///< taken so far, over all graphs -> copies that were numbered
  Failures failures;

  void fail(std::string subject, std::string message, std::vector<std::string> notes = {}) {
    failures.push_back({"malformed-model", std::move(subject), std::move(message), std::move(notes)});
  }
};

/// Shape, dtype and the place of the bytes; the number of bytes is that of the shape.
Tensor tensorFromProto(const onnx::TensorProto &proto, Conversion &conversion);
/// Nodes keep the file's order; names are not checked yet.
Graph graphFromProto(const onnx::GraphProto &proto, Conversion &conversion);
Metadata metadataFromProto(const google::protobuf::RepeatedPtrField<onnx::StringStringEntryProto> &entries);
/// "ai.onnx" and "" are the same domain.
std::string domainFromProto(const std::string &domain);

} // namespace accum::import
