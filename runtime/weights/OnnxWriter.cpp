// SPDX-License-Identifier: Apache-2.0
// The files beside the model first, so that a model never names one that is not there.
#include "runtime/weights/OnnxWriter.h"
#include "runtime/files/File.h"
#include "runtime/weights/OnnxTensors.h"
#include <algorithm>
#include <filesystem>

namespace accum::runtime {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPieceBytes = 8 << 20;

Error broken(const std::string &path, const std::string &what) {
  return {kExitFile, path + ": " + what, "model-file"};
}

/// The new names of a model's other files: gpt2.onnx.data, gpt2.onnx.2.data.
class NewNames {
public:
  explicit NewNames(const std::string &path) : base(fs::path(path).filename()) {}

  const std::string &operator()(const std::string &location) {
    auto [found, isNew] = names.emplace(location, "");
    if (isNew)
      found->second = base + (names.size() > 1 ? "." + std::to_string(names.size()) : "") + ".data";
    return found->second;
  }

private:
  std::string base;
  std::map<std::string, std::string> names;
};

/// Beside the model, or beside what its path links to.
std::string resolve(const std::string &model, const std::string &location) {
  std::error_code unknown;
  fs::path plain = fs::path(model).parent_path() / location;
  return fs::exists(plain, unknown) ? plain : fs::canonical(model, unknown).parent_path() / location;
}

Status copyRange(FileWriter &writer, const MappedFile &file, uint64_t begin, uint64_t end) {
  for (; begin < end; begin += kPieceBytes) {
    uint64_t bytes = std::min(kPieceBytes, end - begin);
    if (Status status = writer.write(file.data() + begin, bytes); !status)
      return status;
    file.release(file.data() + begin, bytes);
  }
  return {};
}

/// The places of new values, ascending, each range once.
Expected<std::vector<OnnxPlace>> newPlaces(std::vector<OnnxPlace> places, const MappedFile &file) {
  std::erase_if(places, [](const OnnxPlace &place) { return !place.tensor; });
  std::ranges::sort(places, {}, &OnnxPlace::offset);
  std::vector<OnnxPlace> kept;
  for (const OnnxPlace &place : places) {
    const TensorToWrite &tensor = *place.tensor;
    if (place.offset > file.size() || tensor.fileBytes() > file.size() - place.offset)
      return broken(file.path(), "ends before `" + tensor.name + "` does");
    const OnnxPlace *last = kept.empty() ? nullptr : &kept.back();
    bool isSame = last && last->offset == place.offset && last->tensor->data == tensor.data;
    if (last && !isSame && last->offset + last->tensor->fileBytes() > place.offset)
      return broken(file.path(), "`" + last->tensor->name + "` and `" + tensor.name +
                                     "` share their bytes, and are not one parameter");
    if (!isSame)
      kept.push_back(place);
  }
  return kept;
}

class Writing {
public:
  Writing(const OnnxSave &save, const TensorReader &read) : save(save), read(read) {}

  Status model(const MappedFile &file, const OnnxPieces &pieces);
  Status external(const MappedFile &file, const std::vector<OnnxPlace> &places, const std::string &target);

private:
  ByteSink into(FileWriter &writer) const {
    return [&writer](const uint8_t *data, uint64_t bytes) { return writer.write(data, bytes); };
  }

  const OnnxSave &save;
  const TensorReader &read;
};

Status Writing::model(const MappedFile &file, const OnnxPieces &pieces) {
  auto writer = FileWriter::create(save.path);
  if (!writer)
    return writer.error();
  for (const OnnxPiece &piece : pieces) {
    Status status = piece.tensor ? streamTensor(*piece.tensor, read, into(**writer))
                                 : copyRange(**writer, file, piece.begin, piece.end);
    if (status)
      status = (*writer)->write(piece.bytes.data(), piece.bytes.size());
    if (!status)
      return status;
  }
  return (*writer)->commit(save.keepOld);
}

Status Writing::external(const MappedFile &file, const std::vector<OnnxPlace> &places,
                         const std::string &target) {
  auto sorted = newPlaces(places, file);
  if (!sorted)
    return sorted.error();
  auto writer = FileWriter::create(target);
  if (!writer)
    return writer.error();
  uint64_t at = 0;
  for (const OnnxPlace &place : *sorted) {
    Status status = copyRange(**writer, file, at, place.offset);
    if (status)
      status = streamTensor(*place.tensor, read, into(**writer));
    if (!status)
      return status;
    at = place.offset + place.tensor->fileBytes();
  }
  if (Status status = copyRange(**writer, file, at, file.size()); !status)
    return status;
  return (*writer)->commit(save.keepOld);
}

/// One name of each tensor is enough: others are computed from it by the graph.
Status checkFound(const OnnxRewrite &rewrite, const std::vector<TensorToWrite> &tensors,
                  const std::string &model) {
  for (const TensorToWrite &tensor : tensors)
    if (!rewrite.found.contains(tensor.data))
      return Error{kExitFile,
                   model + ": has no place for `" + tensor.name + "`",
                   "model-file",
                   {"exporters merge parameters that are equal when they export: those of a model that was "
                    "trained before have places of their own",
                    "--save FILE.safetensors writes the weights"}};
  return {};
}

/// A file beside the model, and its new name.
struct Beside {
  std::shared_ptr<MappedFile> file;
  std::string location, target;
};

/// The user's own files stay what they are.
Status checkApart(const OnnxSave &save, const std::vector<Beside> &beside) {
  std::vector<std::string> own = {save.model}, targets = {save.path};
  for (const Beside &each : beside) {
    own.push_back(each.file->path());
    targets.push_back(each.target);
  }
  std::error_code unknown;
  for (const std::string &target : targets)
    for (const std::string &file : own)
      if (fs::equivalent(target, file, unknown))
        return Error{kExitUsage,
                     target + ": is a file of the model that was compiled",
                     "usage",
                     {"--save takes another name"}};
  return {};
}

Expected<std::vector<Beside>> openBeside(const OnnxSave &save, const OnnxRewrite &rewrite, NewNames &names) {
  std::vector<Beside> beside;
  for (const auto &[location, places] : rewrite.external) {
    auto opened = MappedFile::open(resolve(save.model, location));
    if (!opened)
      return opened.error();
    if (auto sorted = newPlaces(places, **opened); !sorted)
      return sorted.error();
    beside.push_back({*opened, location, fs::path(save.path).parent_path() / names(location)});
  }
  return beside;
}

} // namespace

Status writeOnnx(const OnnxSave &save, std::vector<TensorToWrite> tensors, const TensorReader &read) {
  auto file = MappedFile::open(save.model);
  if (!file)
    return file.error();
  NewNames names(save.path);
  auto rewrite = rewriteOnnx((*file)->data(), (*file)->size(), save.model, tensors, save.separated,
                             [&](const std::string &location) { return names(location); });
  if (!rewrite)
    return rewrite.error();
  if (Status status = checkFound(*rewrite, tensors, save.model); !status)
    return status;
  auto beside = openBeside(save, *rewrite, names);
  if (!beside)
    return beside.error();
  if (Status status = checkApart(save, *beside); !status || save.checkOnly)
    return status;
  Writing writing(save, read);
  for (const Beside &each : *beside)
    if (Status status = writing.external(*each.file, rewrite->external[each.location], each.target); !status)
      return status;
  return writing.model(**file, rewrite->pieces);
}

} // namespace accum::runtime
