// SPDX-License-Identifier: Apache-2.0
// The arena, the order of things, and calls as words for GraphReplay.
#include "runtime/cuda/CudaDevice.h"
#include "base/FormatBytes.h"
#include "runtime/cuda/CallKind.h"
#include "runtime/system/Memory.h"
#include <algorithm>
#include <cstring>

namespace accum::runtime {

using namespace cuda;

namespace {

constexpr uint64_t kAlign = 256, kGemmWords = sizeof(accum_gemm) / sizeof(uint64_t);
static_assert(sizeof(accum_gemm) % sizeof(uint64_t) == 0);

uint64_t aligned(uint64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }
Address addressOf(const void *pointer) { return reinterpret_cast<Address>(pointer); }

Error noRoom(const Card &card, uint64_t needed, uint64_t free, uint64_t total) {
  return {kExitRunFailed,
          "the program needs " + formatBytes(needed) + " of " + card.name + ", and " + formatBytes(free) +
              " of " + formatBytes(total) + " are free",
          "gpu-memory",
          {"nvidia-smi shows who holds the rest", "or compile with --memory " + formatLimit(free)}};
}

} // namespace

Expected<std::unique_ptr<Device>> CudaDevice::open(int localRank) {
  auto driver = Driver::open(localRank);
  if (!driver)
    return driver.error();
  std::unique_ptr<CudaDevice> device(new CudaDevice(std::move(*driver)));
  if (Status status = device->compute.create(); !status)
    return status.error();
  return std::unique_ptr<Device>(std::move(device));
}

CudaDevice::CudaDevice(std::unique_ptr<Driver> opened)
    : driver(std::move(opened)), arena{*driver}, compute(*driver), kernels(compute), norm(compute),
      matmul(compute), sums(compute), transfer(compute), offloaded(compute, replay), inputs(compute),
      replay(compute, [this](const uint64_t *call) { return run(call); }) {}

CudaDevice::Block::~Block() {
  if (start)
    driver.api.cuMemFree_v2(start);
}

/// A sum that waits for a rank that is gone would keep the stream from ending; one in a graph keeps its
/// communicator from ending.
CudaDevice::~CudaDevice() {
  replay.clear();
  sums.abandon();
  if (compute.stream)
    driver->api.cuStreamSynchronize(compute.stream);
}

std::string CudaDevice::name() const { return driver->card().name; }

std::vector<std::string> CudaDevice::notices() const {
  const Card &card = driver->card();
  std::vector<std::string> lines = {
      "GPU " + std::to_string(card.ordinal) + " of " + std::to_string(card.visible) + ": " + card.name +
      ", " + card.architecture() + " (the local rank is the GPU's number); kernels from " + kernels.source()};
  if (auto refusal = replay.refusal())
    lines.push_back(*refusal);
  return lines;
}

Status CudaDevice::load(const Artifact &artifact) {
  if (Status status = kernels.load(artifact); !status)
    return status;
  mirrorBytes = 4096; // and accum_hyper::decay
  for (const ParameterSpec &param : artifact.manifest.params)
    mirrorBytes += param.trained ? 2 * sizeof(double) : 0;
  if (Status status = norm.load(); !status)
    return status;
  matmul.allowTf32(artifact.manifest.precision == "tf32");
  if (artifact.manifest.devices > 1)
    if (Status status = sums.load(); !status)
      return status;
  return matmul.load();
}

Status CudaDevice::join(Collectives &all) { return sums.join(all); }

Status CudaDevice::measure() {
  size_t free = 0, total = 0;
  CUDA_TRY(*driver, cuMemGetInfo_v2, &free, &total);
  peak = std::max<uint64_t>(peak, total - free);
  return {};
}

// program | inputs | landing block of the inputs | mirrors | norm | workspace of GEMMs
Expected<uint8_t *> CudaDevice::allocate(uint64_t programBytes, uint64_t inputBytes) {
  uint64_t landing = aligned(programBytes) + aligned(inputBytes), mirrorAt = landing + aligned(inputBytes);
  uint64_t normAt = mirrorAt + aligned(mirrorBytes), workspace = normAt + aligned(Norm::kBytes);
  allocated = workspace + Matmul::kWorkspaceBytes;
  size_t free = 0, total = 0;
  CUDA_TRY(*driver, cuMemGetInfo_v2, &free, &total);
  if (allocated > free)
    return noRoom(driver->card(), allocated, free, total);
  Result code = driver->api.cuMemAlloc_v2(&arena.start, size_t(allocated));
  if (code == kOutOfMemory)
    return noRoom(driver->card(), allocated, free, total);
  if (Status status = driver->check(code, "cuMemAlloc"); !status)
    return status.error();
  CUDA_TRY(*driver, cuMemsetD8Async, arena.start, 0, size_t(allocated), compute.stream);
  mirrorArea = arena.start + mirrorAt;
  normArea = arena.start + normAt;
  matmul.setWorkspace(arena.start + workspace);
  if (Status status = transfer.create(); !status)
    return status.error();
  if (Status status = inputs.create(arena.start + aligned(programBytes), arena.start + landing, inputBytes);
      !status)
    return status.error();
  if (Status status = measure(); !status)
    return status.error();
  // Copies on another stream do not wait for the zeros.
  if (Status status = compute.wait(); !status)
    return status.error();
  return reinterpret_cast<uint8_t *>(arena.start);
}

Status CudaDevice::write(void *to, uint64_t bytes, const Fill &fill) {
  Status status = flush();
  return status ? transfer.write(addressOf(to), bytes, fill) : status;
}

Expected<const uint8_t *> CudaDevice::view(const void *from, uint64_t bytes) {
  if (Status status = flush(); !status)
    return status.error();
  return transfer.read(addressOf(from), bytes);
}

Expected<const void *> CudaDevice::mirror(const void *own, uint64_t bytes) {
  auto found = std::find_if(mirrors.begin(), mirrors.end(),
                            [&](const Mirror &m) { return m.own == own && m.bytes == bytes; });
  if (found == mirrors.end()) {
    if (mirrored + aligned(bytes) > aligned(mirrorBytes))
      return Error{kExitInternal, "there is no room for another mirrored block", "program"};
    found = mirrors.insert(mirrors.end(), {own, bytes, mirrorArea + mirrored});
    mirrored += aligned(bytes);
  }
  void *copy = reinterpret_cast<void *>(found->copy);
  Status status = write(copy, bytes, [&](uint8_t *to) { std::memcpy(to, own, bytes); });
  if (!status)
    return status.error();
  return copy;
}

void CudaDevice::startStep(bool isEvaluation) {
  evaluates = isEvaluation;
  replay.startStep(evaluates);
  started.clear();
  begun.clear();
  underWay.clear();
  if (sumsRun) // the step before was left in the middle
    (void)sums.finish();
  sumsRun = false;
  offloaded.startStep();
  inputs.forget();
  at.reset();
}

Status CudaDevice::feed(MicroStep step, const FillInputs &fill) {
  if (Status status = flush(); !status)
    return status;
  at = step;
  fillAhead = &fill;
  replay.enter(step);
  return inputs.feed(step, fill);
}

Status CudaDevice::endMicro(std::optional<MicroStep> next) {
  if (Status status = flush(); !status || !at)
    return status;
  at.reset();
  replay.enter(std::nullopt);
  return next ? inputs.fetch(*next, *fillAhead) : Status();
}

Status CudaDevice::launch(uint32_t kernel, void *const *args) {
  if (kernel >= kernels.count())
    return Error{kExitInternal,
                 "the program launches kernel " + std::to_string(kernel) + " of " +
                     std::to_string(kernels.count()),
                 "program"};
  uint32_t count = kernels.argsOf(kernel);
  words.assign({kLaunchCall, 1 + count, kernel});
  for (uint32_t i = 0; i < count; ++i)
    words.push_back(reinterpret_cast<uint64_t>(args[i]));
  return replay.add(words.data());
}

Status CudaDevice::gemm(const accum_gemm &call, float beta) {
  accum_gemm clean = call; // bytes are compared: those of batch dimensions that are not there, too
  for (int32_t d = std::max(0, call.batch_dims); d < ACCUM_GEMM_MAX_BATCH_DIMS; ++d)
    clean.batch[d] = clean.a_batch[d] = clean.b_batch[d] = clean.c_batch[d] = 0;
  words.assign({kGemmCall, kGemmWords + 1, beta != 0});
  words.resize(3 + kGemmWords);
  std::memcpy(words.data() + 3, &clean, sizeof clean);
  return replay.add(words.data());
}

Status CudaDevice::zero(void *to, uint64_t bytes) {
  words.assign({kZeroCall, 2, addressOf(to), bytes});
  return replay.add(words.data());
}

Status CudaDevice::copy(void *to, const void *from, uint64_t bytes) {
  words.assign({kCopyCall, 3, addressOf(to), addressOf(from), bytes});
  return replay.add(words.data());
}

Status CudaDevice::run(const uint64_t *call) {
  switch (CallKind(call[0])) {
  case kLaunchCall:
    return kernels.launch(call[2], call + 3);
  case kGemmCall: {
    accum_gemm product;
    std::memcpy(&product, call + 3, sizeof product);
    return matmul.run(product, float(call[2]));
  }
  case kZeroCall:
    CUDA_TRY(*driver, cuMemsetD8Async, call[2], 0, call[3], compute.stream);
    return {};
  case kCopyCall:
    CUDA_TRY(*driver, cuMemcpyDtoDAsync_v2, call[2], call[3], call[4], compute.stream);
    return {};
  case kStartSumCall:
    return sums.start(reinterpret_cast<void *>(call[2]), call[3], DType(call[4]));
  case kFinishSumsCall:
    return sums.finish();
  case kFinishPartCall:
    return sums.finish(call[2]);
  case kStartScatterCall:
    return sums.startReduceScatter(reinterpret_cast<void *>(call[2]), call[3], DType(call[4]));
  case kStartGatherCall:
    return sums.startAllGather(reinterpret_cast<void *>(call[2]), reinterpret_cast<const void *>(call[3]),
                               call[4]);
  case kStartFetchCall:
  case kFinishFetchesCall:
  case kStartStoreCall:
  case kFinishStoresCall:
    return offloaded.run(call);
  }
  return {};
}

/// A boundary of the replay, at which nothing runs beside the compute stream.
Status CudaDevice::flush() {
  Status status = finishSums();
  if (status)
    status = offloaded.finish();
  return status ? replay.flush() : status;
}

Status CudaDevice::finishSums() {
  if (!sumsRun)
    return {};
  sumsRun = false;
  underWay.clear();
  words.assign({kFinishSumsCall, 0});
  return replay.add(words.data());
}

Status CudaDevice::startAllReduce(void *data, uint64_t n, DType dtype) {
  if (!sums.isActive())
    return {};
  started.add({addressOf(data), n * bytesOf(dtype)});
  sumsRun = true;
  words.assign({kStartSumCall, 3, addressOf(data), n, uint64_t(dtype)});
  return replay.add(words.data());
}

Status CudaDevice::allReduce(void *data, uint64_t n, DType dtype) {
  if (Status status = flush(); !status || !sums.isActive())
    return status;
  StartedSums::Range whole{addressOf(data), n * bytesOf(dtype)};
  auto sum = [&](StartedSums::Range rest) {
    return sums.start(reinterpret_cast<void *>(rest.from), rest.bytes / bytesOf(dtype), dtype);
  };
  Status status = started.forRest(whole, sum);
  if (status)
    status = sums.finish();
  // Without graphs a micro-step's launches fill the driver's queue, and behind a rank that is gone it stays
  // full.
  return status && replay.refusal() ? compute.wait() : status;
}

Status CudaDevice::startBeside(std::initializer_list<uint64_t> call) {
  sumsRun = true;
  underWay.insert(call.begin()[2]);
  words.assign(call);
  return replay.add(words.data());
}

Status CudaDevice::startReduceScatter(void *data, uint64_t n, DType dtype) {
  if (!sums.isActive() || !begun.insert(addressOf(data)).second)
    return {};
  return startBeside({kStartScatterCall, 3, addressOf(data), n, uint64_t(dtype)});
}

Status CudaDevice::startAllGather(void *to, const void *from, uint64_t bytes) {
  if (!sums.isActive() || !begun.insert(addressOf(to)).second)
    return {};
  return startBeside({kStartGatherCall, 3, addressOf(to), addressOf(from), bytes});
}

/// Others that were begun later go on.
Status CudaDevice::finishPart(uint64_t place) {
  begun.erase(place);
  if (underWay.erase(place) == 0)
    return {};
  words.assign({kFinishPartCall, 1, place});
  return replay.add(words.data());
}

Status CudaDevice::reduceScatter(void *data, uint64_t n, DType dtype) {
  Status status = startReduceScatter(data, n, dtype);
  return status ? finishPart(addressOf(data)) : status;
}

Status CudaDevice::allGather(void *to, const void *from, uint64_t bytes) {
  Status status = startAllGather(to, from, bytes);
  return status ? finishPart(addressOf(to)) : status;
}

Status CudaDevice::reserveOffloaded(uint64_t bytes, const std::string &) { return offloaded.reserve(bytes); }

Status CudaDevice::startFetch(void *to, uint64_t offset, uint64_t bytes) {
  return offloaded.start({kStartFetchCall, 3, addressOf(to), offset, bytes});
}

Status CudaDevice::startStore(uint64_t offset, const void *from, uint64_t bytes) {
  return offloaded.start({kStartStoreCall, 3, addressOf(from), offset, bytes});
}

Status CudaDevice::fetch(void *to, uint64_t offset, uint64_t bytes) {
  return offloaded.end({kStartFetchCall, 3, addressOf(to), offset, bytes});
}

Status CudaDevice::store(uint64_t offset, const void *from, uint64_t bytes) {
  return offloaded.end({kStartStoreCall, 3, addressOf(from), offset, bytes});
}

Status CudaDevice::writeOffloaded(uint64_t offset, uint64_t, const Fill &fill) {
  Status status = synchronize(); // copies may still read or write there
  if (status)
    fill(offloaded.data() + offset);
  return status;
}

Expected<const uint8_t *> CudaDevice::viewOffloaded(uint64_t offset, uint64_t) {
  Status status = synchronize();
  return status ? Expected<const uint8_t *>(offloaded.data() + offset) : status.error();
}

Expected<double> CudaDevice::squaredNorm(const void *data, uint64_t n, DType dtype) {
  Status status = flush();
  if (status)
    status = norm.launch(addressOf(data), n, dtype, normArea);
  if (!status)
    return status.error();
  auto result = transfer.read(normArea, sizeof(double));
  if (!result)
    return result.error();
  double square;
  std::memcpy(&square, *result, sizeof square);
  return square;
}

Status CudaDevice::synchronize() {
  Status status = flush();
  if (status)
    status = compute.wait();
  return status ? measure() : status;
}

} // namespace accum::runtime
