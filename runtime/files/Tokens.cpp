// SPDX-License-Identifier: Apache-2.0
// What the first bytes of a file of tokens, or the file beside it, say of them.
#include "runtime/files/Tokens.h"
#include <sys/stat.h>

namespace accum::runtime {
namespace {

/// llm.c, dev/data/data_common.py: 256 i32 words, of which three say something.
constexpr uint64_t kHeaderBytes = 1024;
struct Header {
  int32_t magic, version, tokens;
};
struct Format {
  int32_t magic, version;
  DType dtype;
};
constexpr Format kFormats[] = {{20240520, 1, ACCUM_U16}, {20240801, 7, ACCUM_U32}};

/// The magic numbers of llm.c and of those who follow it are dates; as tokens they are beyond any vocabulary,
/// or a pair that is followed by a version.
bool isHeader(const Header &header) {
  int32_t month = header.magic / 100 % 100, day = header.magic % 100;
  bool isDate = header.magic > 20230000 && header.magic < 20500000 && month >= 1 && month <= 12 && day >= 1 &&
                day <= 31;
  return isDate && header.version > 0 && header.version <= 100;
}

Status readHeader(const Header &header, TokenFile &file, uint64_t size) {
  const std::string &path = file.tokens.path;
  for (const Format &format : kFormats) {
    if (header.magic != format.magic)
      continue;
    if (header.version != format.version)
      return notWhole("file of tokens", path,
                      "its header has version " + std::to_string(header.version) + ", expected " +
                          std::to_string(format.version));
    uint64_t bytes = uint64_t(std::max(header.tokens, 0)) * bytesOf(format.dtype);
    if (header.tokens < 0 || size < kHeaderBytes || size - kHeaderBytes != bytes)
      return notWhole("file of tokens", path,
                      "its header says " + std::to_string(header.tokens) + " tokens of " +
                          std::string(nameOf(format.dtype)) + ", and " +
                          std::to_string(size > kHeaderBytes ? size - kHeaderBytes : 0) +
                          " bytes are behind it");
    file.tokens.dtype = format.dtype;
    file.tokens.data += kHeaderBytes;
    file.tokens.shape = {header.tokens};
    return {};
  }
  Error error =
      notWhole("file of tokens", path, "its header has the magic number " + std::to_string(header.magic));
  error.notes.emplace_back("llm.c's files of tokens have 20240520 (u16) or 20240801 (u32); one without a "
                           "header is read with --token-type");
  return error;
}

/// Whole tokens of the type, up to the end of the file.
Status readRaw(TokenFile &file, DType dtype, uint64_t size) {
  uint64_t bytes = bytesOf(dtype);
  if (size % bytes != 0)
    return notWhole("file of tokens", file.tokens.path,
                    "its " + std::to_string(size) + " bytes are no whole number of " +
                        std::string(nameOf(dtype)) + " tokens");
  file.tokens.dtype = dtype;
  file.tokens.shape = {int64_t(size / bytes)};
  return {};
}

Status readIndexed(TokenFile &file, const std::string &indexPath, uint64_t size) {
  auto index = MegatronIndex::open(indexPath);
  if (!index)
    return index.error();
  file.index = *index;
  file.tokens.dtype = file.index->dtype();
  file.tokens.shape = {file.index->tokens()};
  uint64_t bytes = uint64_t(file.index->tokens()) * bytesOf(file.tokens.dtype);
  if (size == bytes)
    return {};
  return notWhole("file of tokens", file.tokens.path,
                  "it has " + std::to_string(size) + " bytes, and " + indexPath + " says " +
                      std::to_string(bytes));
}

Expected<TokenFile> readBin(const std::string &path, const std::string &type) {
  auto mapped = MappedFile::open(path);
  if (!mapped)
    return mapped.error();
  TokenFile file;
  file.tokens.name = "tokens";
  file.tokens.path = path;
  file.tokens.file = *mapped;
  file.tokens.data = (*mapped)->data();
  uint64_t size = (*mapped)->size();
  std::string indexPath = path.substr(0, path.size() - 4) + ".idx";
  struct stat info;
  Header header{};
  if (stat(indexPath.c_str(), &info) == 0) {
    Status status = readIndexed(file, indexPath, size);
    return status ? Expected<TokenFile>(file) : status.error();
  }
  if (size >= sizeof header)
    if (Status status =
            (*mapped)->read(file.tokens.data, sizeof header, reinterpret_cast<uint8_t *>(&header));
        !status)
      return status.error();
  bool hasHeader = isHeader(header);
  file.isGuessed = !hasHeader && type.empty();
  Status status =
      hasHeader ? readHeader(header, file, size) : readRaw(file, type == "u32" ? ACCUM_U32 : ACCUM_U16, size);
  return status ? Expected<TokenFile>(file) : status.error();
}

} // namespace

Expected<TokenFile> readTokens(const std::string &path, const std::string &type) {
  if (!path.ends_with(".npy"))
    return readBin(path, type);
  auto array = readNpy(path, "tokens");
  if (!array)
    return array.error();
  if (array->shape.size() == 1 && !isFloat(array->dtype) && array->dtype != ACCUM_BOOL)
    return TokenFile{*array, nullptr};
  return Error{kExitFile,
               path + ": has shape " + formatShape(array->shape) + " of " +
                   std::string(nameOf(array->dtype)) + ", expected one axis of integers, which are tokens",
               "bad-data",
               {"the array of an input is given with its name: NAME=" + path}};
}

} // namespace accum::runtime
