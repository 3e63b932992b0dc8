// SPDX-License-Identifier: Apache-2.0
// Library calls are checked by their operands' elements, as kernels are by their accesses.
#include "runtime/sim/SimDevice.h"
#include "runtime/host/Gemm.h"
#include <algorithm>

namespace accum::runtime::sim {
namespace {

/// Rows of a matrix, or columns where those are contiguous: fn(first element, elements).
template <typename Fn>
void forLines(const void *matrix, uint64_t element, int64_t rows, int64_t columns, int64_t row,
              int64_t column, Fn &&fn) {
  bool byRows = column == 1;
  int64_t lines = byRows ? rows : columns, length = byRows ? columns : rows, stride = byRows ? row : column;
  for (int64_t line = 0; line < lines; ++line)
    fn(static_cast<const uint8_t *>(matrix) + uint64_t(line * stride) * element, uint64_t(length) * element);
}

int64_t pointsOf(const accum_gemm &call) {
  int64_t points = 1;
  for (int32_t i = 0; i < call.batch_dims; ++i)
    points *= call.batch[i];
  return points;
}

} // namespace

std::vector<std::string> SimDevice::notices() const {
  return {"simulated on the processor: every kernel is executed and checked, times mean nothing"};
}

Status SimDevice::load(const Artifact &artifact) {
  if (!artifact.has("kernels.sim.so"))
    return Error{kExitUsage,
                 artifact.folder + ": has no code for the simulator",
                 "target",
                 {"compile the model with --with-sim, for a GPU: --target h100"}};
  auto loaded = SimKernels::load(artifact.file("kernels.sim.so"));
  if (!loaded)
    return loaded.error();
  kernels = std::move(*loaded);
  stateBytes = artifact.manifest.stateBytes;
  scratchBytes = artifact.program->scratch_bytes;
  tf32 = artifact.manifest.precision == "tf32";
  return loadGemmLibrary();
}

Expected<uint8_t *> SimDevice::allocate(uint64_t programBytes, uint64_t inputs) {
  auto allocated = HostDevice::allocate(programBytes, inputs);
  if (!allocated)
    return allocated;
  base = *allocated;
  kernels->memory().cover(base, programBytes + inputs);
  return allocated;
}

Status SimDevice::write(void *to, uint64_t bytes, const Fill &fill) {
  kernels->memory().wrote(to, bytes);
  return HostDevice::write(to, bytes, fill);
}

/// What the last step left in the arena means nothing.
void SimDevice::startStep(bool evaluates) {
  kernels->memory().forget(base + stateBytes, scratchBytes);
  kernels->memory().wrote(base, stateBytes); // parts of other ranks are this step's again
  started.clear();
  sums.clear();
  begun.clear();
  HostDevice::startStep(evaluates);
}

Status SimDevice::requireWritten(const char *what, const void *address, uint64_t bytes) const {
  uint64_t good = kernels->memory().firstUnwritten(address, bytes);
  if (good == bytes)
    return {};
  auto offset = static_cast<const uint8_t *>(address) + good - base;
  return Error{kExitRunFailed,
               std::string(what) + " reads what nobody has written, " + std::to_string(offset) +
                   " bytes behind the state's start",
               "sim"};
}

Status SimDevice::gemm(const accum_gemm &call, float beta) {
  uint64_t element = bytesOf(DType(call.dtype)), result = bytesOf(DType(call.c_dtype));
  for (int64_t i = 0; i < pointsOf(call); ++i) {
    GemmPoint point = pointOf(call, i);
    Status good;
    auto check = [&](const uint8_t *line, uint64_t bytes) {
      if (good)
        good = requireWritten("a matrix product", line, bytes);
    };
    forLines(point.a, element, call.m, call.k, call.a_row, call.a_col, check);
    forLines(point.b, element, call.k, call.n, call.b_row, call.b_col, check);
    if (point.bias)
      check(static_cast<const uint8_t *>(point.bias), uint64_t(call.n) * result);
    if (beta != 0)
      forLines(point.c, result, call.m, call.n, call.c_row, 1, check);
    if (!good)
      return good;
  }
  for (int64_t i = 0; i < pointsOf(call); ++i)
    forLines(pointOf(call, i).c, result, call.m, call.n, call.c_row, 1,
             [&](const uint8_t *line, uint64_t bytes) { kernels->memory().wrote(line, bytes); });
  return runtime::gemm(call, beta, tf32 ? ShortProducts::Tf32 : ShortProducts::Widened);
}

Status SimDevice::zero(void *to, uint64_t bytes) {
  kernels->memory().wrote(to, bytes);
  return HostDevice::zero(to, bytes);
}

Status SimDevice::copy(void *to, const void *from, uint64_t bytes) {
  kernels->memory().copied(to, from, bytes);
  return HostDevice::copy(to, from, bytes);
}

Status SimDevice::sum(StartedSums::Range range, DType dtype) {
  void *data = reinterpret_cast<void *>(range.from);
  if (Status status = requireWritten("a sum over devices", data, range.bytes); !status)
    return status;
  return HostDevice::allReduce(data, range.bytes / bytesOf(dtype), dtype);
}

Status SimDevice::startAllReduce(void *data, uint64_t n, DType dtype) {
  StartedSums::Range range{reinterpret_cast<uint64_t>(data), n * bytesOf(dtype)};
  if (Status status = sum(range, dtype); !status)
    return status;
  started.add(range);
  const auto *bytes = static_cast<const uint8_t *>(data);
  sums[range.from].assign(bytes, bytes + range.bytes);
  return {};
}

/// Parts come at once, and are nobody's until the call that ends this one.
Status SimDevice::startReduceScatter(void *data, uint64_t n, DType dtype) {
  uint64_t bytes = n * uint64_t(bytesOf(dtype)) * rankCount();
  if (Status status = requireWritten("a sum over devices", data, bytes); !status)
    return status;
  if (Status status = HostDevice::reduceScatter(data, n, dtype); !status)
    return status;
  kernels->memory().forget(data, bytes);
  const auto *now = static_cast<const uint8_t *>(data);
  begun[reinterpret_cast<uint64_t>(data)].assign(now, now + bytes);
  return {};
}

Status SimDevice::startAllGather(void *to, const void *from, uint64_t bytes) {
  if (Status status = requireWritten("a gathering", from, bytes); !status)
    return status;
  if (Status status = HostDevice::allGather(to, from, bytes); !status)
    return status;
  kernels->memory().forget(to, bytes * rankCount());
  const auto *now = static_cast<const uint8_t *>(to);
  begun[reinterpret_cast<uint64_t>(to)].assign(now, now + bytes * rankCount());
  return {};
}

/// What was begun there must be as it came.
Status SimDevice::endBegun(const void *place) {
  auto found = begun.find(reinterpret_cast<uint64_t>(place));
  const std::vector<uint8_t> &came = found->second;
  bool isSame = std::equal(came.begin(), came.end(), static_cast<const uint8_t *>(place));
  begun.erase(found);
  if (isSame)
    return {};
  return Error{kExitRunFailed,
               "what comes from or goes to another memory is overwritten meanwhile, " +
                   std::to_string(static_cast<const uint8_t *>(place) - base) +
                   " bytes behind the state's start",
               "sim"};
}

Status SimDevice::reduceScatter(void *data, uint64_t n, DType dtype) {
  if (!begun.contains(reinterpret_cast<uint64_t>(data)))
    if (Status status = startReduceScatter(data, n, dtype); !status)
      return status;
  // Also what holds anything: a kernel that may add reads what it then writes.
  kernels->memory().wrote(data, n * uint64_t(bytesOf(dtype)) * rankCount());
  return endBegun(data);
}

Status SimDevice::allGather(void *to, const void *from, uint64_t bytes) {
  if (!begun.contains(reinterpret_cast<uint64_t>(to)))
    if (Status status = startAllGather(to, from, bytes); !status)
      return status;
  kernels->memory().wrote(to, bytes * rankCount());
  return endBegun(to);
}

/// At once, and nobody's until the call that ends it.
Status SimDevice::startFetch(void *to, uint64_t offset, uint64_t bytes) {
  if (Status status = HostDevice::fetch(to, offset, bytes); !status)
    return status;
  kernels->memory().forget(to, bytes);
  const auto *now = static_cast<const uint8_t *>(to);
  begun[reinterpret_cast<uint64_t>(to)].assign(now, now + bytes);
  return {};
}

Status SimDevice::fetch(void *to, uint64_t offset, uint64_t bytes) {
  if (!begun.contains(reinterpret_cast<uint64_t>(to)))
    if (Status status = startFetch(to, offset, bytes); !status)
      return status;
  kernels->memory().wrote(to, bytes);
  return endBegun(to);
}

Status SimDevice::startStore(uint64_t offset, const void *from, uint64_t bytes) {
  if (Status status = requireWritten("a store of offloaded state", from, bytes); !status)
    return status;
  const auto *now = static_cast<const uint8_t *>(from);
  begun[reinterpret_cast<uint64_t>(from)].assign(now, now + bytes);
  return {};
}

/// Late, so that a fetch before the call that ends a store gets what was there before.
Status SimDevice::store(uint64_t offset, const void *from, uint64_t bytes) {
  if (!begun.contains(reinterpret_cast<uint64_t>(from)))
    if (Status status = startStore(offset, from, bytes); !status)
      return status;
  Status status = HostDevice::store(offset, from, bytes);
  return status ? endBegun(from) : status;
}

Status SimDevice::requireUntouched() const {
  for (const auto &[from, bytes] : sums) {
    const auto *now = reinterpret_cast<const uint8_t *>(from);
    auto differs = std::mismatch(bytes.begin(), bytes.end(), now).second;
    if (differs != now + bytes.size())
      return Error{kExitRunFailed,
                   "a gradient is written after its sum over devices was started, " +
                       std::to_string(differs - base) + " bytes behind the state's start",
                   "sim"};
  }
  return {};
}

Status SimDevice::allReduce(void *data, uint64_t n, DType dtype) {
  if (Status status = requireUntouched(); !status)
    return status;
  StartedSums::Range whole{reinterpret_cast<uint64_t>(data), n * bytesOf(dtype)};
  return started.forRest(whole, [&](StartedSums::Range range) { return sum(range, dtype); });
}

} // namespace accum::runtime::sim
