// SPDX-License-Identifier: Apache-2.0
// kernels.so by the thread pool, GEMMs by oneDNN, sums by the communicator plugin. Allocates nothing in a
// step.
#include "runtime/host/HostDevice.h"
#include "base/FormatBytes.h"
#include "runtime/host/Attention.h"
#include "runtime/host/Gemm.h"
#include "runtime/host/GemmBf16.h"
#include "runtime/host/GradientNorm.h"
#include "runtime/system/Memory.h"
#include "runtime/system/ThreadPool.h"
#include <cstring>
#include <fmt/format.h>

namespace accum::runtime {

Status HostDevice::load(const Artifact &artifact) {
  auto table = loadTable<accum_kernels_v1>(artifact, "kernels.so", "accum_kernels");
  if (!table)
    return table.error();
  kernels = *table;
  poison = Poison::asked(artifact);
  // Absent: an f64 program does not need it, the first f32 GEMM says so.
  if (loadGemmLibrary() && artifact.manifest.precision == "bf16")
    measuresBf16 = true;
  return {};
}

std::vector<std::string> HostDevice::notices() const {
  if (!measuresBf16)
    return {};
  const Bf16Products &products = bf16Products();
  if (products.native)
    return {fmt::format("products of bf16 are this processor's own, {:.1f} times as fast as widened to f32",
                        products.gain)};
  return {fmt::format("products of bf16 are widened to f32: {}",
                      products.asked ? "ACCUM_BF16_PRODUCTS=widened"
                                     : "this processor has none that are faster")};
}

Status HostDevice::join(Collectives &all) {
  ranks = &all;
  if (!measuresBf16 || all.ranks() == 1)
    return {};
  // Ranks of one step multiply alike, also where one was measured on a busy core, or has another processor.
  auto widened = all.maximum(bf16Products().native ? 0 : 1);
  if (!widened)
    return widened.error();
  if (*widened)
    widenBf16Products();
  return {};
}

Status HostDevice::requireRoom(uint64_t bytes, int processes) {
  uint64_t available = availableMemory();
  if (processes == 1 || bytes <= available / uint64_t(processes)) // one says it where it allocates
    return {};
  return Error{kExitRunFailed,
               std::to_string(processes) + " processes with an arena of " + formatBytes(bytes) +
                   " each do not fit into the memory of this machine (" + formatBytes(available) +
                   " available)",
               "out-of-memory",
               {"fewer --devices, or compile with --memory " + formatLimit(available / uint64_t(processes))}};
}

Expected<uint8_t *> HostDevice::allocate(uint64_t programBytes, uint64_t inputBytes) {
  auto allocated = Arena::allocate(programBytes + inputBytes);
  if (!allocated)
    return allocated.error();
  arena = std::move(*allocated);
  inputs = arena.data() + programBytes;
  return arena.data();
}

uint64_t HostDevice::peakBytes() const { return peakResident(); }

Status HostDevice::write(void *to, uint64_t bytes, const Fill &fill) {
  fill(static_cast<uint8_t *>(to));
  return {};
}

Expected<const uint8_t *> HostDevice::view(const void *from, uint64_t bytes) {
  return static_cast<const uint8_t *>(from);
}

Status HostDevice::feed(MicroStep at, const FillInputs &fill) {
  fill(at, inputs);
  return {};
}

void HostDevice::startStep(bool evaluates) {
  arena.settle();
  if (ranks)
    ranks->forget(); // of a step that was left in the middle
  if (offloaded)
    offloaded->forget();
  if (poison)
    poison->beforeStep(arena.data(), evaluates);
}

std::vector<std::string> HostDevice::kernelNames() const {
  std::vector<std::string> names;
  for (uint32_t kernel = 0; kernel < kernels->count; ++kernel)
    names.emplace_back(kernels->kernels[kernel].name);
  return names;
}

Status HostDevice::launch(uint32_t kernel, void *const *args) {
  if (kernel >= kernels->count)
    return Error{kExitInternal,
                 "the program launches kernel " + std::to_string(kernel) + " of " +
                     std::to_string(kernels->count),
                 "program"};
  const accum_kernel_v1 &entry = kernels->kernels[kernel];
  if (poison)
    poison->beforeLaunch(kernel, entry.num_args, args);
  parallelFor(entry.n, entry.chunks, [&](int64_t begin, int64_t end) { entry.fn(args, begin, end); });
  return {};
}

Status HostDevice::gemm(const accum_gemm &call, float beta) {
  if (poison)
    Poison::beforeGemm(call, beta);
  return runtime::gemm(call, beta);
}

Status HostDevice::attention(const accum_attention &call) {
  if (poison)
    Poison::beforeAttention(call);
  return runtime::attention(call);
}

Status HostDevice::zero(void *to, uint64_t bytes) {
  std::memset(to, 0, bytes);
  return {};
}

Status HostDevice::copy(void *to, const void *from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

Status HostDevice::allReduce(void *data, uint64_t n, DType dtype) { return ranks->allReduce(data, n, dtype); }

Status HostDevice::reduceScatter(void *data, uint64_t n, DType dtype) {
  return ranks->isStarted(data) ? ranks->end(data) : ranks->reduceScatter(data, n, dtype);
}

Status HostDevice::allGather(void *to, const void *from, uint64_t bytes) {
  if (ranks->isStarted(to))
    return ranks->end(to);
  auto *own = static_cast<uint8_t *>(to) + uint64_t(ranks->rank()) * bytes;
  if (own != from)
    std::memcpy(own, from, bytes);
  return ranks->allGather(to, bytes);
}

Status HostDevice::startReduceScatter(void *data, uint64_t n, DType dtype) {
  ranks->startReduceScatter(data, n, dtype);
  return {};
}

Status HostDevice::startAllGather(void *to, const void *from, uint64_t bytes) {
  ranks->startAllGather(to, from, bytes);
  return {};
}

Status HostDevice::reserveOffloaded(uint64_t bytes, const std::string &folder) {
  auto created = OffloadFile::create(folder, bytes);
  if (!created)
    return created.error();
  offloaded = std::move(*created);
  return {};
}

Status HostDevice::startFetch(void *to, uint64_t offset, uint64_t bytes) {
  offloaded->startRead(offset, static_cast<uint8_t *>(to), bytes);
  return {};
}

Status HostDevice::startStore(uint64_t offset, const void *from, uint64_t bytes) {
  offloaded->startWrite(offset, static_cast<const uint8_t *>(from), bytes);
  return {};
}

Status HostDevice::fetch(void *to, uint64_t offset, uint64_t bytes) {
  return offloaded->read(offset, static_cast<uint8_t *>(to), bytes);
}

Status HostDevice::store(uint64_t offset, const void *from, uint64_t bytes) {
  return offloaded->write(offset, static_cast<const uint8_t *>(from), bytes);
}

Status HostDevice::writeOffloaded(uint64_t offset, uint64_t bytes, const Fill &fill) {
  piece.resize(bytes);
  fill(piece.data());
  return offloaded->write(offset, piece.data(), bytes);
}

Expected<const uint8_t *> HostDevice::viewOffloaded(uint64_t offset, uint64_t bytes) {
  piece.resize(bytes);
  Status status = offloaded->read(offset, piece.data(), bytes);
  return status ? Expected<const uint8_t *>(piece.data()) : status.error();
}

Expected<double> HostDevice::squaredNorm(const void *data, uint64_t n, DType dtype) {
  return squaredNormOf(data, n, dtype);
}

} // namespace accum::runtime
