// SPDX-License-Identifier: Apache-2.0
// What the messages of a model file say of themselves. Field numbers are those of onnx.proto.
#ifndef ACCUM_RUNTIME_WEIGHTS_ONNXHEADERS_H
#define ACCUM_RUNTIME_WEIGHTS_ONNXHEADERS_H

#include "base/ProtoWire.h"
#include <map>
#include <vector>

namespace accum::runtime {

namespace onnx {
namespace model {
constexpr uint32_t kGraph = 7;
} // namespace model
namespace graph {
constexpr uint32_t kNode = 1, kInitializer = 5;
} // namespace graph
namespace node {
constexpr uint32_t kInput = 1, kOutput = 2, kOpType = 4, kAttribute = 5;
} // namespace node
namespace attribute {
constexpr uint32_t kTensor = 5, kGraph = 6, kGraphs = 11;
} // namespace attribute
namespace tensor {
constexpr uint32_t kDims = 1, kDataType = 2, kFloatData = 4, kInt32Data = 5, kName = 8, kRawData = 9,
                   kDoubleData = 10, kExternalData = 13, kDataLocation = 14;
} // namespace tensor
namespace entry {
constexpr uint32_t kKey = 1, kValue = 2;
} // namespace entry
} // namespace onnx

/// Of a TensorProto.
struct TensorHeader {
  std::string name;
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  bool isExternal = false, hasRaw = false;
};
TensorHeader tensorHeaderOf(const uint8_t *file, const ProtoField &field);

/// Of a NodeProto.
struct NodeHeader {
  std::string type, output; ///< the first output
};
NodeHeader nodeHeaderOf(const uint8_t *file, const ProtoField &field);

/// A TensorProto of the file.
struct TensorPlace {
  ProtoField field;
  TensorHeader header;
};
/// Of a GraphProto: its initializers, and its constants by what they give.
std::map<std::string, TensorPlace> placesIn(const uint8_t *file, const ProtoField &graphField);

} // namespace accum::runtime
#endif
