// SPDX-License-Identifier: Apache-2.0
// Messages are walked from the model down to its tensors. One whose tensors keep their values is copied
// whole; around a new tensor each length is written anew.
#include "runtime/weights/OnnxTensors.h"
#include "runtime/files/Array.h"
#include "runtime/files/DType.h"
#include "runtime/weights/OnnxHeaders.h"
#include <algorithm>
#include <charconv>

namespace accum::runtime {

using namespace onnx;

namespace {

std::optional<DType> floatTypeOf(uint64_t onnx) {
  std::optional<DType> type = dtypeOfOnnx(onnx);
  return type && isFloat(*type) ? type : std::nullopt;
}

uint64_t sizeOf(const OnnxPieces &pieces) {
  uint64_t bytes = 0;
  for (const OnnxPiece &piece : pieces)
    bytes += piece.size();
  return bytes;
}

/// What stands for a field of the old file.
struct Anew {
  Anew(OnnxPieces pieces, uint32_t number = 0) : pieces(std::move(pieces)), number(number) {}

  OnnxPieces pieces; ///< behind the tag and the length
  uint32_t number;   ///< of the field; 0: as it was
};

class Rewriter {
public:
  Rewriter(const uint8_t *file, const std::string &path, std::vector<TensorToWrite> &tensors,
           const std::vector<SeparatedSpec> &separated,
           const std::function<std::string(const std::string &)> &rename)
      : file(file), path(path), rename(rename) {
    for (TensorToWrite &tensor : tensors)
      byName[tensor.name] = &tensor;
    for (const SeparatedSpec &tensor : separated)
      if (byName.contains(tensor.name) || byName.contains(tensor.from))
        separate(tensor);
  }

  Expected<OnnxRewrite> rewrite(uint64_t bytes);

private:
  using Pieces = std::optional<Anew>; ///< of a message; nothing: it stays as it is
  using Child = std::function<Pieces(const ProtoField &)>;

  Pieces message(uint64_t begin, uint64_t end, const Child &child);
  Pieces graphOf(const ProtoField &field);
  Pieces nodeOf(const ProtoField &field);
  void separate(const SeparatedSpec &tensor);
  OnnxPieces initializerOf(const SeparatedSpec &tensor);
  Pieces mainGraphOf(const ProtoField &field);
  Pieces tensorOf(const ProtoField &field, const std::string &constant);
  Pieces externalOf(const ProtoField &field, const TensorToWrite *with);
  Pieces inlineOf(const ProtoField &field, const TensorHeader &header, const TensorToWrite &with);
  TensorToWrite *findFor(const TensorHeader &header);
  std::string text(const ProtoField &field) const {
    return {reinterpret_cast<const char *>(file) + field.value, field.end - field.value};
  }
  void fail(const std::string &what) {
    if (!failure)
      failure = Error{kExitFile, path + ": " + what, "model-file"};
  }

  const uint8_t *file;
  const std::string &path;
  const std::function<std::string(const std::string &)> &rename;
  std::map<std::string, TensorToWrite *> byName;
  std::map<std::string, TensorPlace> places; ///< of the main graph's initializers and constants
  std::vector<const SeparatedSpec *> added;
  std::map<std::string, const SeparatedSpec *> identities;        ///< by what they give
  std::map<std::string, std::map<int64_t, std::string>> operands; ///< of a node by its output
  size_t redirected = 0, toRedirect = 0;
  OnnxRewrite result;
  std::optional<Error> failure;
};

/// Appends bytes of the old file, to the piece before where they follow it there.
void keep(OnnxPieces &pieces, uint64_t begin, uint64_t end) {
  if (!pieces.empty() && !pieces.back().tensor && pieces.back().bytes.empty() && pieces.back().end == begin)
    pieces.back().end = end;
  else
    pieces.push_back({begin, end});
}

/// All fields, those that `child` has anew with another length.
Rewriter::Pieces Rewriter::message(uint64_t begin, uint64_t end, const Child &child) {
  OnnxPieces pieces;
  bool isNew = false;
  ProtoFields fields(file, begin, end);
  while (auto field = fields.next()) {
    Pieces inner = field->wire == 2 ? child(*field) : std::nullopt;
    if (!inner) {
      keep(pieces, field->begin, field->end);
      continue;
    }
    isNew = true;
    std::string tag;
    appendLengthTag(tag, inner->number ? inner->number : field->number, sizeOf(inner->pieces));
    pieces.push_back({0, 0, tag});
    std::ranges::move(inner->pieces, std::back_inserter(pieces));
  }
  if (fields.isBroken())
    fail("is no whole ONNX file");
  return isNew ? Pieces(std::move(pieces)) : std::nullopt;
}

/// The new values, of the type that the file has.
TensorToWrite *Rewriter::findFor(const TensorHeader &header) {
  auto found = byName.find(header.name);
  if (found == byName.end())
    return nullptr;
  TensorToWrite &with = *found->second;
  auto type = floatTypeOf(header.dataType);
  if (!type || with.fileShape() != header.dims) {
    fail("`" + header.name + "` has shape " + formatShape(header.dims) + ", expected floats of " +
         formatShape(with.fileShape()));
    return nullptr;
  }
  with.stored = type;
  result.found.insert(with.data);
  return &with;
}

/// Another location, and no checksum of the old one.
Rewriter::Pieces Rewriter::externalOf(const ProtoField &field, const TensorToWrite *with) {
  OnnxPieces pieces;
  std::string location;
  OnnxPlace place{0, with};
  ProtoFields fields(file, field.value, field.end);
  while (auto part = fields.next()) {
    if (part->number != tensor::kExternalData) {
      keep(pieces, part->begin, part->end);
      continue;
    }
    std::string key, value;
    ProtoFields entries(file, part->value, part->end);
    while (auto word = entries.next())
      (word->number == entry::kKey ? key : value) = text(*word);
    if (key == "location")
      location = value;
    if (key == "offset")
      std::from_chars(value.data(), value.data() + value.size(), place.offset);
    if (key == "checksum")
      continue;
    if (key != "location") {
      keep(pieces, part->begin, part->end);
      continue;
    }
    std::string moved, bytes;
    appendField(moved, entry::kKey, key);
    appendField(moved, entry::kValue, rename(value));
    appendField(bytes, tensor::kExternalData, moved);
    pieces.push_back({0, 0, bytes});
  }
  result.external[location].push_back(place);
  return pieces;
}

/// In the field that held the values: raw_data, float_data or double_data. Half floats of int32_data, which
/// are as long as their numbers are large, become raw_data.
Rewriter::Pieces Rewriter::inlineOf(const ProtoField &field, const TensorHeader &header,
                                    const TensorToWrite &with) {
  bool isTyped = !header.hasRaw && with.fileType() != ACCUM_F16 && with.fileType() != ACCUM_BF16;
  uint32_t number = !isTyped                       ? tensor::kRawData
                    : with.fileType() == ACCUM_F64 ? tensor::kDoubleData
                                                   : tensor::kFloatData;
  OnnxPieces pieces;
  bool isWritten = false;
  auto write = [&] {
    std::string tag;
    appendLengthTag(tag, number, with.fileBytes());
    pieces.push_back({0, 0, tag});
    pieces.push_back({0, 0, {}, &with});
    isWritten = true;
  };
  ProtoFields fields(file, field.value, field.end);
  while (auto part = fields.next()) {
    bool isData = part->number == tensor::kRawData || part->number == tensor::kFloatData ||
                  part->number == tensor::kDoubleData || part->number == tensor::kInt32Data;
    if (!isData)
      keep(pieces, part->begin, part->end);
    else if (!isWritten)
      write();
  }
  if (!isWritten && with.elements() > 0)
    write();
  return pieces;
}

/// `constant`: the name that a Constant node gives it; empty for an initializer, which has its own.
Rewriter::Pieces Rewriter::tensorOf(const ProtoField &field, const std::string &constant) {
  TensorHeader header = tensorHeaderOf(file, field);
  if (!constant.empty())
    header.name = constant;
  const TensorToWrite *with = findFor(header);
  if (header.isExternal)
    return externalOf(field, with);
  return with ? inlineOf(field, header, *with) : std::nullopt;
}

void Rewriter::separate(const SeparatedSpec &tensor) {
  if (tensor.readers.empty()) {
    identities[tensor.name] = &tensor;
    ++toRedirect;
    return;
  }
  added.push_back(&tensor);
  for (const SeparatedSpec::Reader &reader : tensor.readers)
    operands[reader.node][reader.operand] = tensor.name;
  toRedirect += tensor.readers.size();
}

/// New values in the type of the file, or those that the merged tensor had.
OnnxPieces Rewriter::initializerOf(const SeparatedSpec &spec) {
  auto place = places.find(spec.from);
  auto own = byName.find(spec.name);
  if (place == places.end() || (own == byName.end() && place->second.header.isExternal)) {
    fail("the values of `" + spec.name + "`, which its exporter merged with `" + spec.from +
         "`, are not in it");
    return {};
  }
  if (own == byName.end()) {
    OnnxPieces pieces;
    ProtoFields fields(file, place->second.field.value, place->second.field.end);
    while (auto part = fields.next())
      if (part->number != tensor::kName)
        keep(pieces, part->begin, part->end);
    std::string name;
    appendField(name, tensor::kName, spec.name);
    pieces.push_back({0, 0, name});
    return pieces;
  }
  TensorToWrite &with = *own->second;
  with.stored = floatTypeOf(place->second.header.dataType);
  result.found.insert(with.data);
  std::string bytes;
  for (int64_t extent : with.fileShape())
    appendNumber(bytes, tensor::kDims, uint64_t(extent));
  appendNumber(bytes, tensor::kDataType, place->second.header.dataType);
  appendField(bytes, tensor::kName, spec.name);
  appendLengthTag(bytes, tensor::kRawData, with.fileBytes());
  return {{0, 0, bytes}, {0, 0, {}, &with}};
}

/// With the initializers that are new.
Rewriter::Pieces Rewriter::mainGraphOf(const ProtoField &field) {
  if (added.empty() && identities.empty())
    return graphOf(field);
  places = placesIn(file, field);
  Pieces anew = graphOf(field);
  if (redirected != toRedirect)
    fail("has not all of the nodes that read parameters which its exporter merged");
  for (const SeparatedSpec *tensor : added) {
    OnnxPieces pieces = initializerOf(*tensor);
    std::string tag;
    appendLengthTag(tag, graph::kInitializer, sizeOf(pieces));
    if (!anew)
      break; // no node was found
    anew->pieces.push_back({0, 0, tag});
    std::ranges::move(pieces, std::back_inserter(anew->pieces));
  }
  return anew;
}

Rewriter::Pieces Rewriter::nodeOf(const ProtoField &field) {
  NodeHeader header = nodeHeaderOf(file, field);
  if (auto identity = identities.find(header.output);
      identity != identities.end() && header.type == "Identity") {
    ++redirected;
    return Anew(initializerOf(*identity->second), graph::kInitializer);
  }
  auto renamed = operands.find(header.output);
  int64_t operand = 0;
  bool isConstant = header.type == "Constant" && !header.output.empty();
  Child attribute = [&](const ProtoField &value) {
    if (value.number == attribute::kGraph || value.number == attribute::kGraphs)
      return graphOf(value);
    return isConstant && value.number == attribute::kTensor ? tensorOf(value, header.output) : std::nullopt;
  };
  return message(field.value, field.end, [&](const ProtoField &part) -> Pieces {
    if (part.number == node::kInput && renamed != operands.end()) {
      auto name = renamed->second.find(operand++);
      redirected += name != renamed->second.end();
      return name == renamed->second.end() ? Pieces() : Anew({{0, 0, name->second}});
    }
    return part.number == node::kAttribute ? message(part.value, part.end, attribute) : std::nullopt;
  });
}

Rewriter::Pieces Rewriter::graphOf(const ProtoField &field) {
  return message(field.value, field.end, [&](const ProtoField &part) {
    if (part.number == graph::kInitializer)
      return tensorOf(part, "");
    return part.number == graph::kNode ? nodeOf(part) : std::nullopt;
  });
}

Expected<OnnxRewrite> Rewriter::rewrite(uint64_t bytes) {
  Pieces anew = message(0, bytes, [&](const ProtoField &field) {
    return field.number == model::kGraph ? mainGraphOf(field) : std::nullopt;
  });
  if (failure)
    return *failure;
  if (anew)
    result.pieces = std::move(anew->pieces);
  else
    result.pieces = {{0, bytes}};
  return std::move(result);
}

} // namespace

Expected<OnnxRewrite> rewriteOnnx(const uint8_t *file, uint64_t bytes, const std::string &path,
                                  std::vector<TensorToWrite> &tensors,
                                  const std::vector<SeparatedSpec> &separated,
                                  const std::function<std::string(const std::string &)> &rename) {
  return Rewriter(file, path, tensors, separated, rename).rewrite(bytes);
}

} // namespace accum::runtime
