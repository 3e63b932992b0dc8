// SPDX-License-Identifier: Apache-2.0
// From a file's bytes to a checked Model.
#include "compiler/Import/model/FromProto.h"
#include "compiler/Import/model/InlineFunctions.h"
#include "compiler/Import/model/MappedFile.h"
#include "compiler/Import/model/Validate.h"
#include "compiler/Import/model/WireScan.h"
#include <algorithm>
#include <fmt/format.h>

namespace accum::import {
namespace {

Failure malformed(const std::filesystem::path &path, std::string message) {
  return {"malformed-model", path.string(), std::move(message), {}};
}

Result<onnx::ModelProto> parse(const MappedFile &file) {
  Result<std::string> structure = scanModel(file.bytes(), file.path());
  if (!structure)
    return structure.takeFailures();
  onnx::ModelProto proto;
  if (!proto.ParseFromString(*structure))
    return malformed(file.path(), "is damaged: a message inside it cannot be read");
  if (!proto.has_graph())
    return malformed(file.path(), "is not an ONNX model: it holds no graph");
  if (proto.opset_import().empty())
    return malformed(file.path(), "does not say which operator set it uses");
  return proto;
}

/// One missing file is missing for each of its tensors.
Failures withoutRepetitions(Failures failures) {
  Failures distinct;
  for (Failure &failure : failures) {
    auto same = [&](const Failure &known) {
      return known.subject == failure.subject && known.message == failure.message;
    };
    constexpr size_t shown = 50;
    if (distinct.size() < shown && std::none_of(distinct.begin(), distinct.end(), same))
      distinct.push_back(std::move(failure));
  }
  return distinct;
}

Model header(const onnx::ModelProto &proto, const std::filesystem::path &path) {
  Model model;
  model.path = path;
  model.irVersion = proto.ir_version();
  model.producer = proto.producer_name();
  if (!proto.producer_version().empty())
    model.producer += " " + proto.producer_version();
  for (const auto &import : proto.opset_import())
    model.opsets[domainFromProto(import.domain())] = import.version();
  model.metadata = metadataFromProto(proto.metadata_props());
  return model;
}
} // namespace

Result<Model> readModel(const std::filesystem::path &path, const ReadOptions &options) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.takeFailures();
  Result<onnx::ModelProto> proto = parse(**file);
  if (!proto)
    return proto.takeFailures();
  if (auto inlined = inlineFunctions(*proto); !inlined)
    return inlined.takeFailures();
  Model model = header(*proto, path);
  Conversion conversion{*file, ExternalData(path, options.allowMissingWeights), model.opsets, {}, {}};
  model.graph = graphFromProto(proto->graph(), conversion);
  if (!conversion.failures.empty())
    return withoutRepetitions(std::move(conversion.failures));
  if (Failures wrong = validate(model.graph); !wrong.empty())
    return withoutRepetitions(std::move(wrong));
  return model;
}

} // namespace accum::import
