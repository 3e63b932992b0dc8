// SPDX-License-Identifier: Apache-2.0
// Numbers are read one by one: an index of a large corpus has gigabytes.
#include "runtime/files/Megatron.h"
#include <cstring>

namespace accum::runtime {
namespace {

constexpr uint64_t kHeader = 9 + 8 + 1 + 8 + 8;

std::optional<DType> typeOf(uint8_t code) {
  switch (code) {
  case 1:
    return ACCUM_U8;
  case 2:
    return ACCUM_I8;
  case 3:
    return ACCUM_I16;
  case 4:
    return ACCUM_I32;
  case 5:
    return ACCUM_I64;
  case 8:
    return ACCUM_U16;
  default:
    return std::nullopt;
  }
}

} // namespace

Error MegatronIndex::malformed(const std::string &what) const {
  return {kExitFile, file->path() + ": is not a whole Megatron index: " + what, "malformed"};
}

template <typename T> Expected<T> MegatronIndex::numberAt(uint64_t offset) const {
  T value;
  Status status = file->read(file->data() + offset, sizeof value, reinterpret_cast<uint8_t *>(&value));
  return status ? Expected<T>(value) : status.error();
}

/// The first token of a sequence; of the one behind the last, the end.
Expected<int64_t> MegatronIndex::placeOf(uint64_t sequence) const {
  if (sequence == sequences)
    return count;
  auto place = numberAt<int64_t>(kHeader + 4 * sequences + 8 * sequence);
  if (!place)
    return place.error();
  auto bytes = int64_t(bytesOf(type));
  if (*place < 0 || *place % bytes != 0)
    return malformed("sequence " + std::to_string(sequence) + " begins at byte " + std::to_string(*place));
  return *place / bytes;
}

Status MegatronIndex::readHeader() {
  uint8_t header[kHeader];
  uint64_t version = 0;
  if (file->size() < kHeader)
    return malformed("it has " + std::to_string(file->size()) + " bytes");
  if (Status status = file->read(file->data(), kHeader, header); !status)
    return status;
  std::memcpy(&version, header + 9, 8);
  std::memcpy(&sequences, header + 18, 8);
  std::memcpy(&documents, header + 26, 8);
  if (std::memcmp(header, "MMIDIDX\0\0", 9) != 0)
    return malformed("it does not begin with MMIDIDX");
  if (version != 1)
    return malformed("it has version " + std::to_string(version) + ", expected 1");
  auto known = typeOf(header[17]);
  if (!known)
    return malformed("its tokens have type " + std::to_string(header[17]) + ", which is no integer");
  type = *known;
  uint64_t room = file->size() - kHeader;
  if (sequences > room / 12 || documents > (room - 12 * sequences) / 8)
    return malformed("it is cut off: it says " + std::to_string(sequences) + " sequences and " +
                     std::to_string(documents) + " documents");
  if (sequences == 0)
    return {};
  auto last = placeOf(sequences - 1);
  auto length = numberAt<int32_t>(kHeader + 4 * (sequences - 1));
  if (!last || !length)
    return last ? length.error() : last.error();
  if (*length < 0 || *last > (int64_t(1) << 60))
    return malformed("its last sequence has " + std::to_string(*length) + " tokens at " +
                     std::to_string(*last));
  count = *last + *length;
  return {};
}

Expected<std::shared_ptr<const MegatronIndex>> MegatronIndex::open(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.error();
  auto index = std::make_shared<MegatronIndex>();
  index->file = *file;
  if (Status status = index->readHeader(); !status)
    return status.error();
  return std::shared_ptr<const MegatronIndex>(index);
}

Expected<int64_t> MegatronIndex::nextDocument(int64_t position) const {
  uint64_t from = 0, to = documents; // documents before `from` begin at `position` or before it
  while (from < to) {
    uint64_t middle = from + (to - from) / 2;
    auto sequence = numberAt<int64_t>(kHeader + 12 * sequences + 8 * middle);
    if (!sequence)
      return sequence.error();
    if (*sequence < 0 || uint64_t(*sequence) > sequences)
      return malformed("document " + std::to_string(middle) + " begins with sequence " +
                       std::to_string(*sequence));
    auto place = placeOf(uint64_t(*sequence));
    if (!place)
      return place.error();
    if (*place > position)
      to = middle;
    else
      from = middle + 1;
  }
  if (from == documents)
    return count;
  auto sequence = numberAt<int64_t>(kHeader + 12 * sequences + 8 * from);
  return sequence ? placeOf(uint64_t(*sequence)) : sequence.error();
}

} // namespace accum::runtime
