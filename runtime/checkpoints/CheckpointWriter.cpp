// SPDX-License-Identifier: Apache-2.0
// A vote stands between the ranks' shares and the rename: the folder gets its name when all of them are on
// the disk. A rank that is alone votes with itself.
#include "runtime/checkpoints/CheckpointWriter.h"
#include "base/FormatBytes.h"
#include "runtime/files/File.h"
#include "runtime/system/Hash.h"
#include "runtime/system/Memory.h"
#include "runtime/system/QuietThread.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

namespace accum::runtime {
namespace {

/// Who takes it reads it twice, a checksum and a write: it should be in the cache by then.
constexpr uint64_t kPieceBytes = 512 << 10;

std::vector<TensorToWrite> inFile(const std::vector<ParameterSpec> &tensors) {
  std::vector<TensorToWrite> result;
  for (const ParameterSpec &tensor : tensors)
    result.push_back({tensor.onnxName, nullptr, tensor.dtype, tensor.shape});
  return result;
}

/// An error, also for what libraries throw: nothing may leave a thread.
template <typename Function> auto caught(Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception &exception) {
    return Error{kExitRunFailed, std::string("a checkpoint ran out of something: ") + exception.what(),
                 "memory"};
  }
}

/// What rank 0 wrote into the folder's lock.
bool isThere(const std::string &root, const std::string &token) {
  auto text = readText(root + "/.lock", token.size());
  return text && *text == token;
}

} // namespace

CheckpointWriter::~CheckpointWriter() {
  if (writer.joinable())
    writer.join();
}

/// The rank is named, and all ranks end with its exit code; one that waits in vain is named already.
Status CheckpointWriter::agree(Status own) const {
  if (isAlone())
    return own;
  if (!own && own.error().slug != "rank-stalled") {
    Error error = own.error();
    error.message = "rank " + std::to_string(ranks.rank()) + ": " + error.message;
    own = error;
  }
  Status all = ranks.agree(own);
  if (all || all.error().slug == "rank-stalled")
    return all;
  auto worst = ranks.maximum(own ? 0 : own.error().exitCode);
  if (!worst)
    return worst.error();
  Error error = all.error();
  error.exitCode = int(*worst);
  return error;
}

Status CheckpointWriter::join(const std::string &root) {
  if (isAlone())
    return {};
  int64_t drawn = isFirst() ? int64_t(std::random_device()()) << 16 ^ int64_t(std::random_device()()) : 0;
  if (Status status = ranks.allReduce(&drawn, 1, ACCUM_I64); !status)
    return status;
  token = "." + hashDigits(uint64_t(drawn));
  Status own;
  if (isFirst()) {
    std::error_code code; // who has locked the folder has made both
    std::filesystem::create_directories(root, code);
    bool isNew = !std::filesystem::exists(root + "/.lock", code);
    auto lock = isNew ? RangeWriter::create(root + "/.lock", 0) : RangeWriter::open(root + "/.lock");
    own = lock ? (*lock)->write(0, token.data(), token.size()) : lock.error();
    own = own ? (*lock)->sync() : own;
  }
  if (Status status = agree(own); !status)
    return status;
  if (!isThere(root, token))
    own = Error{
        kExitFile,
        root + ": is not the folder that rank 0 has under that name",
        "not-shared",
        {"every rank writes its share of a checkpoint: --checkpoint names a folder that all machines see"}};
  else if (auto lock = RangeWriter::open(root + "/.lock"); !lock) // a disk that is read-only here
    own = lock.error();
  return agree(own);
}

Expected<uint64_t> CheckpointWriter::writeInBackground(const std::vector<ParameterSpec> &tensors) {
  uint64_t bytes = 0, together = 0;
  uint64_t headerBytes = safetensorsHeader(inFile(tensors)).size();
  for (const FileShare &share : sharesOf(headerBytes, tensors, memory, ranks.ranks()))
    if (share.rank == ranks.rank() && share.state != FileShare::kHeader)
      bytes += share.bytes;
  auto most = ranks.maximum(int64_t(bytes));
  if (!most)
    return most.error();
  together = uint64_t(*most) * uint64_t(ranks.localRanks());
  Status own;
  if (together > availableMemory())
    own = Error{kExitRunFailed,
                "checkpoints in the background copy " + formatBytes(together) +
                    " of state on this machine, and " + formatBytes(availableMemory()) +
                    " of memory are available",
                "memory",
                {"leave --checkpoint-background out: a step then waits until its checkpoint is written"}};
  if (Status status = agree(own); !status)
    return status.error();
  copy.resize(bytes); // written to, so that the memory is there when it is needed
  inBackground = true;
  return bytes;
}

/// On rank 0: the folder, and a file that has room for all shares.
Status CheckpointWriter::begin() const {
  Status status = beginCheckpoint(folder);
  auto file = status ? RangeWriter::create(checkpointTensors(folder), shares.back().end()) : status.error();
  return file ? Status() : file.error();
}

Status CheckpointWriter::write(const std::string &to, CheckpointFacts of,
                               const std::vector<ParameterSpec> &tensors, uint64_t toKeep) {
  root = to, facts = std::move(of), keep = toKeep;
  folder = writingPath(root, facts.step, token);
  header = safetensorsHeader(inFile(tensors));
  shares = sharesOf(header.size(), tensors, memory, ranks.ranks());
  if (Status status = agree(isFirst() ? begin() : Status()); !status) {
    if (isFirst())
      discardCheckpoint(folder);
    return status;
  }
  if (!inBackground) {
    auto read = [this](const FileShare &share, uint64_t at, uint64_t bytes) {
      return fromState(share, at, bytes);
    };
    Status status = endShares(writeShares(read));
    return status ? agree(isFirst() ? publish() : Status()) : status;
  }
  phase = isAlone() ? Phase::Publication : Phase::Shares;
  done = true;
  written = Sums();
  published = Status();
  if (Status status = copyShares(); !status) {
    written = status.error();
    published = status;
    if (isAlone()) // else the vote finds it
      discardCheckpoint(folder);
    return {};
  }
  done = false;
  writer = startQuietThread([this] {
    written = caught([&] { return writeCopy(); });
    if (isAlone()) // and nobody is waited for
      published = caught([&] {
        Status status = endShares(std::move(written));
        return status ? publish() : status;
      });
    done = true;
  });
  return {};
}

Expected<const uint8_t *> CheckpointWriter::fromState(const FileShare &share, uint64_t at, uint64_t bytes) {
  if (share.state == FileShare::kHeader)
    return reinterpret_cast<const uint8_t *>(header.data()) + at;
  return memory.viewOwn(share.state + at, bytes);
}

Status CheckpointWriter::copyShares() {
  for (const FileShare &share : shares)
    for (uint64_t at = 0; share.rank == ranks.rank() && share.state != FileShare::kHeader && at < share.bytes;
         at += Device::kPieceBytes) {
      uint64_t bytes = std::min(Device::kPieceBytes, share.bytes - at);
      auto data = memory.viewOwn(share.state + at, bytes);
      if (!data)
        return data.error();
      std::memcpy(copy.data() + share.before + at, *data, bytes);
    }
  return {};
}

Expected<CheckpointWriter::Sums> CheckpointWriter::writeCopy() const {
  return writeShares([this](const FileShare &share, uint64_t at, uint64_t) -> Expected<const uint8_t *> {
    bool isHeader = share.state == FileShare::kHeader;
    return isHeader ? reinterpret_cast<const uint8_t *>(header.data()) + at : copy.data() + share.before + at;
  });
}

Expected<CheckpointWriter::Sums> CheckpointWriter::writeShares(const Reader &read) const {
  auto file = RangeWriter::open(checkpointTensors(folder));
  if (!file)
    return file.error();
  Sums sums;
  for (size_t first = 0, end; first < shares.size(); first = end) {
    end = endOfRun(shares, first);
    auto sum = shares[first].rank == ranks.rank() ? writeRun(**file, first, end, read) : int64_t(0);
    if (!sum)
      return sum.error();
    sums.push_back(*sum);
  }
  Status synced = (*file)->sync();
  return synced ? Expected<Sums>(sums) : synced.error();
}

Expected<int64_t> CheckpointWriter::writeRun(RangeWriter &file, size_t first, size_t end,
                                             const Reader &read) const {
  RunningHash hash;
  for (size_t s = first; s < end; ++s)
    for (uint64_t at = 0; at < shares[s].bytes; at += kPieceBytes) {
      uint64_t bytes = std::min(kPieceBytes, shares[s].bytes - at);
      auto data = read(shares[s], at, bytes);
      if (!data)
        return data.error();
      hash.add(*data, bytes);
      if (Status status = file.write(shares[s].offset + at, *data, bytes); !status)
        return status.error();
    }
  return int64_t(hash.value());
}

/// The vote, and all checksums to all ranks.
Status CheckpointWriter::endShares(Expected<Sums> own) {
  Status status = agree(own ? Status() : own.error());
  if (status)
    status = ranks.allReduce(own->data(), own->size(), ACCUM_I64);
  if (!status) {
    if (isFirst())
      discardCheckpoint(folder);
    return status;
  }
  std::vector<TensorsChecksum::Part> parts;
  for (size_t first = 0; first < shares.size(); first = endOfRun(shares, first)) {
    uint64_t bytes = shares[endOfRun(shares, first) - 1].end() - shares[first].offset;
    parts.push_back({bytes, hashDigits(uint64_t((*own)[parts.size()]))});
  }
  sum = parts.size() == 1 ? TensorsChecksum{parts[0].xxh3} : TensorsChecksum::of(std::move(parts));
  return {};
}

Status CheckpointWriter::publish() const {
  Status status = publishCheckpoint(root, folder, facts, sum, keep);
  if (!status)
    discardCheckpoint(folder);
  return status;
}

/// How rank 0's publication ended is told when one waits for it: until then the other ranks do not know,
/// where there are any.
Status CheckpointWriter::finish(bool wait) {
  if (phase == Phase::Shares) {
    auto isLate = ranks.maximum(!wait && !done);
    if (!isLate)
      return isLate.error();
    if (*isLate)
      return {};
    if (writer.joinable())
      writer.join();
    phase = Phase::None;
    if (Status status = endShares(std::move(written)); !status)
      return status;
    phase = Phase::Publication;
    if (isFirst())
      writer = startQuietThread([this] { published = caught([&] { return publish(); }); });
  }
  if (phase == Phase::None || (!wait && !(isAlone() && done)))
    return {};
  phase = Phase::None;
  if (writer.joinable())
    writer.join();
  return agree(std::exchange(published, Status()));
}

} // namespace accum::runtime
