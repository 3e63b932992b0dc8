// SPDX-License-Identifier: Apache-2.0
// Fields of tensorflow/core/util/event.proto and framework/summary.proto, by number.
#include "tools/accum-run/records/EventFile.h"
#include "base/ProtoWire.h"
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace accum::run {
namespace {

using namespace runtime;

namespace event {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
} // namespace event
namespace session_log {
constexpr uint32_t kStatus = 1, kStart = 1;
} // namespace session_log
namespace summary {
constexpr uint32_t kValue = 1, kTag = 1, kSimpleValue = 2;
} // namespace summary

constexpr uint32_t kPolynomial = 0x82f63b78; // reversed

constexpr std::array<uint32_t, 256> makeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? kPolynomial : 0);
    table[byte] = value;
  }
  return table;
}

/// Checksums of data that holds checksums are poor ones: TFRecord turns and shifts them.
uint32_t masked(uint32_t checksum) { return (checksum >> 15 | checksum << 17) + 0xa282ead8; }

template <typename T> void appendRaw(std::string &to, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof bytes);
}

double secondsSinceEpoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string eventAt(uint64_t step) {
  std::string bytes;
  appendDouble(bytes, event::kWallTime, secondsSinceEpoch());
  appendNumber(bytes, event::kStep, step);
  return bytes;
}

/// events.out.tfevents.SECONDS.HOST.PID.N: none that is there.
std::unique_ptr<RecordFile> openNew(const std::string &folder) {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  std::unique_ptr<RecordFile> file;
  for (int number = 0; !file && number < 1000; ++number) {
    std::string name = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", folder,
                                   int64_t(secondsSinceEpoch()), host, getpid(), number);
    file = RecordFile::open(name, O_EXCL);
    if (!file && errno != EEXIST)
      break;
  }
  return file;
}

} // namespace

uint32_t crc32c(const std::string &bytes) {
  static constexpr std::array<uint32_t, 256> kTable = makeTable();
  uint32_t value = ~uint32_t(0);
  for (char byte : bytes)
    value = value >> 8 ^ kTable[(value ^ uint8_t(byte)) & 0xff];
  return ~value;
}

std::string framed(const std::string &bytes) {
  std::string record;
  appendRaw(record, uint64_t(bytes.size()));
  appendRaw(record, masked(crc32c(record)));
  record += bytes;
  appendRaw(record, masked(crc32c(bytes)));
  return record;
}

runtime::Expected<std::unique_ptr<EventFile>> EventFile::create(const std::string &folder, uint64_t from) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  auto opened = openNew(folder);
  if (!opened)
    return Error{kExitFile, folder + ": cannot be written: " + std::strerror(errno), "unwritable"};
  auto file = std::make_unique<EventFile>(std::move(opened));
  std::string version = eventAt(0), start = eventAt(from), status;
  appendField(version, event::kFileVersion, "brain.Event:2");
  appendNumber(status, session_log::kStatus, session_log::kStart);
  appendField(start, event::kSessionLog, status);
  if (!file->append(version) || (from > 1 && !file->append(start)))
    return Error{kExitFile, folder + ": cannot be written: " + std::strerror(errno), "unwritable"};
  return file;
}

bool EventFile::write(uint64_t step, const std::vector<Scalar> &scalars) {
  std::string values;
  for (const Scalar &scalar : scalars) {
    std::string value;
    appendField(value, summary::kTag, scalar.tag);
    appendFloat(value, summary::kSimpleValue, float(scalar.value));
    appendField(values, summary::kValue, value);
  }
  std::string bytes = eventAt(step);
  appendField(bytes, event::kSummary, values);
  return append(bytes);
}

} // namespace accum::run
