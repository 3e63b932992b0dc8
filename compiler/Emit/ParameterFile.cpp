// SPDX-License-Identifier: Apache-2.0
// Model file -> params.safetensors, a tensor after the other.
#include "compiler/Emit/ParameterFile.h"
#include "compiler/Emit/OutputFolder.h"
#include "compiler/Import/model/MappedFile.h"
#include "compiler/Import/model/Model.h"
#include "compiler/Import/parameters/ConstantWeights.h"
#include "compiler/Import/parameters/Parameters.h"
#include "compiler/Import/parameters/SeparateMerged.h"
#include "dialects/Train/ParameterName.h"
#include "passes/Schedule/StateLayout.h"
#include "runtime/files/DType.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace accum::emit {

using runtime::Error;
using runtime::Expected;
using runtime::Status;
using Bytes = std::span<const std::byte>;

namespace {

Error missingWeights(train::ParamOp param, const std::string &what) {
  return {runtime::kExitFile,
          "weights of `" + train::onnxName(param).str() + "` " + what,
          "missing-weights",
          {"a plan alone needs no weights: --plan-only"}};
}

/// The bytes of parameters, in files that stay mapped.
class Sources {
public:
  explicit Sources(std::filesystem::path model) : model(std::move(model)) {}

  Expected<Bytes> bytesOf(train::ParamOp param) {
    auto tensor = tensorOf(param);
    if (!tensor)
      return tensor.error();
    if (tensor->data.length != static_cast<uint64_t>(param.getSource().getBytes()))
      return missingWeights(param, "have another size than the model that was compiled");
    uint64_t expected = param.getSource().getHash();
    if (expected != 0 && import::fingerprint(*tensor) != expected)
      return missingWeights(param, "are not the ones of the model that was compiled");
    return tensor->data.bytes();
  }

private:
  Expected<import::Tensor> tensorOf(train::ParamOp param) {
    std::string name = param.getSource().getPath().str();
    if (name.empty())
      return spelledOut(param);
    auto file = open(name);
    if (!file)
      return missingWeights(param, "are in " + name + ", which cannot be read");
    import::Tensor tensor;
    tensor.data.file = *file;
    tensor.data.offset = static_cast<uint64_t>(param.getSource().getOffset());
    tensor.data.length = static_cast<uint64_t>(param.getSource().getBytes());
    uint64_t size = (*file)->bytes().size();
    if (tensor.data.length > size || tensor.data.offset > size - tensor.data.length)
      return missingWeights(param, "end behind the end of " + name);
    return tensor;
  }

  /// Numbers that the model file writes one by one have no place of their own: the model is read again, and
  /// what its export merged has the names that import gave it.
  Expected<import::Tensor> spelledOut(train::ParamOp param) {
    if (!graph) {
      auto read = import::readModel(model);
      if (!read)
        return missingWeights(param, "are in " + model.string() + ", which cannot be read");
      graph.emplace(std::move(*read));
      // Copies that --untie made are looked for too; the others are in nobody's way.
      import::separateMerged(graph->graph, import::Signature::of(graph->graph), /*untie=*/true);
    }
    std::string name = train::onnxName(param).str();
    import::liftConstants(graph->graph, import::Signature::of(graph->graph), {name}, /*all=*/false);
    const import::Tensor *tensor = graph->graph.initializer(name);
    if (!tensor || !tensor->data.isPresent())
      return missingWeights(param, "are not in " + model.string());
    import::Tensor found = *tensor;
    found.data.length = found.data.bytes().size();
    return found;
  }

  std::optional<std::shared_ptr<const import::MappedFile>> open(const std::string &name) {
    auto known = files.find(name);
    if (known != files.end())
      return known->second;
    auto opened = import::MappedFile::open(model.parent_path() / name);
    if (!opened)
      return std::nullopt;
    return files[name] = *opened;
  }

  std::filesystem::path model;
  std::map<std::string, std::shared_ptr<const import::MappedFile>> files;
  std::optional<import::Model> graph;
};

/// A file that grows; pieces of zeros are left out.
class SparseFile {
public:
  explicit SparseFile(const std::filesystem::path &path)
      : path(path), descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {}
  ~SparseFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  SparseFile(const SparseFile &) = delete;
  SparseFile &operator=(const SparseFile &) = delete;

  Status append(Bytes bytes) {
    constexpr size_t piece = 64 << 10;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      Bytes part = bytes.subspan(at, std::min(piece, bytes.size() - at));
      bool zero = std::all_of(part.begin(), part.end(), [](std::byte b) { return b == std::byte(0); });
      if (!zero && !writeAll(part))
        return failure();
      size += part.size();
    }
    return {};
  }

  /// Not synced: an artifact that a power cut takes is compiled again.
  Status finish() {
    bool done = descriptor >= 0 && ::ftruncate(descriptor, static_cast<off_t>(size)) == 0;
    done = done && ::close(std::exchange(descriptor, -1)) == 0;
    return done ? Status() : failure();
  }

private:
  bool writeAll(Bytes part) {
    auto offset = static_cast<off_t>(size);
    while (!part.empty()) {
      ssize_t written = ::pwrite(descriptor, part.data(), part.size(), offset);
      if (written <= 0)
        return false;
      part = part.subspan(static_cast<size_t>(written));
      offset += written;
    }
    return true;
  }
  Error failure() const { return outputFailed(path.filename(), std::strerror(errno)); }

  std::filesystem::path path;
  int descriptor;
  uint64_t size = 0;
};

/// What the model has: `file_type`, where import computes in another type. A module in f64 or bf16 has other
/// types than its file too.
std::optional<runtime::DType> fileDtype(train::ParamOp param) {
  auto type = cast<mlir::RankedTensorType>(param.getType());
  auto stored = param.getFileTypeAttr();
  auto dtype = dtypeOf(stored ? stored.getValue() : type.getElementType());
  int64_t bytes = param.getSource().getBytes(), elements = type.getNumElements();
  if (dtype && bytes == elements * static_cast<int64_t>(runtime::bytesOf(*dtype)))
    return dtype;
  bool converted = dtype == ACCUM_F64 || dtype == ACCUM_BF16;
  return converted && bytes == elements * 4 ? std::optional(ACCUM_F32) : std::nullopt;
}

Expected<std::string> header(mlir::ModuleOp module) {
  nlohmann::ordered_json json = {{"__metadata__", {{"format", "pt"}}}};
  int64_t offset = 0;
  for (auto param : module.getOps<train::ParamOp>()) {
    auto dtype = fileDtype(param);
    if (!dtype)
      return Error{runtime::kExitInternal,
                   "`" + train::onnxName(param).str() + "` has bytes that do not match its type", "params"};
    int64_t end = offset + param.getSource().getBytes();
    json[train::onnxName(param).str()] = {
        {"dtype", runtime::safetensorsNameOf(*dtype)},
        {"shape", cast<mlir::RankedTensorType>(param.getType()).getShape().vec()},
        {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // so that the data starts aligned
  return text;
}

} // namespace

Status writeParameters(mlir::ModuleOp module, const std::filesystem::path &model,
                       const std::filesystem::path &path) {
  auto text = header(module);
  if (!text)
    return text.error();
  SparseFile file(path);
  uint64_t length = text->size();
  if (Status status = file.append(std::as_bytes(std::span(&length, 1))); !status)
    return status;
  if (Status status = file.append(std::as_bytes(std::span(*text))); !status)
    return status;
  Sources sources(model);
  for (auto param : module.getOps<train::ParamOp>()) {
    auto bytes = sources.bytesOf(param);
    if (!bytes)
      return bytes.error();
    if (Status status = file.append(*bytes); !status)
      return status;
  }
  return file.finish();
}

} // namespace accum::emit
