// SPDX-License-Identifier: Apache-2.0
// Everything that can be wrong with driver and card before a program is loaded.
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Library.h"
#include <algorithm>

namespace accum::runtime::cuda {
namespace {

// The PTX of artifacts and the calls made here are those of CUDA 12.0.
constexpr int kLeastVersion = 12000;
// Artifacts hold PTX for sm_80, which newer cards compile for themselves.
constexpr int kLeastMajor = 8;

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error noDriver(const std::string &why) {
  return {kExitRunFailed,
          "the artifact is for a GPU, and the CUDA driver cannot be loaded: " + why,
          "no-cuda-driver",
          {"run it on a machine with an NVIDIA driver; in a container start it with --gpus all"}};
}

/// After these nothing works on this card any more until the process, or the machine, starts again.
bool meansLost(Result code) {
  constexpr Result kLost[] = {
      kDeviceUnavailable, kEccUncorrectable,   kNvlinkUncorrectable, kContained,         kIllegalAddress,
      kLaunchTimeout,     kHardwareStackError, kIllegalInstruction,  kMisalignedAddress, kInvalidAddressSpace,
      kInvalidPc,         kLaunchFailed,       kTensorMemoryLeak};
  return std::find(std::begin(kLost), std::end(kLost), code) != std::end(kLost);
}

/// Why the driver does not start.
Error notStarted(Result code, const std::string &words) {
  switch (code) {
  case kNoDevice:
    return {kExitRunFailed,
            "the CUDA driver is there, but shows no GPU",
            "no-gpu",
            {"nvidia-smi lists what the driver sees; CUDA_VISIBLE_DEVICES may hide it"}};
  case kSystemDriverMismatch:
    return {kExitRunFailed,
            "the CUDA library and the kernel's driver are of different versions: " + words,
            "cuda-driver-too-old",
            {"restart the machine after a driver update, or reload the nvidia kernel module"}};
  case kSystemNotReady:
    return {kExitRunFailed,
            "the GPUs of this machine are not ready: " + words,
            "no-gpu",
            {"on machines with NVSwitch: systemctl status nvidia-fabricmanager"}};
  case kStubLibrary:
    return noDriver("the libcuda.so.1 that was found is the toolkit's stub, for linking only");
  default:
    return noDriver(words);
  }
}

} // namespace

Expected<std::unique_ptr<Driver>> Driver::open(int localRank) {
  DriverApi api;
#define ACCUM_SYMBOL(name, arguments) {#name, reinterpret_cast<void **>(&api.name)},
  std::string why = loadLibrary({"libcuda.so.1"}, {ACCUM_CUDA_DRIVER_FUNCTIONS(ACCUM_SYMBOL)});
#undef ACCUM_SYMBOL
  if (!why.empty())
    return noDriver(why);
  std::unique_ptr<Driver> driver(new Driver(api));
  if (Status status = driver->choose(localRank); !status)
    return status.error();
  return driver;
}

Status Driver::choose(int localRank) {
  if (Result started = api.cuInit(0); started != kSuccess)
    return notStarted(started, describe(started));
  CUDA_TRY(*this, cuDriverGetVersion, &number);
  if (number < kLeastVersion)
    return Error{kExitRunFailed,
                 "the driver supports CUDA " + versionText(number) + ", the runtime needs " +
                     versionText(kLeastVersion),
                 "cuda-driver-too-old",
                 {"update the NVIDIA driver to release 525 or later"}};
  CUDA_TRY(*this, cuDeviceGetCount, &chosen.visible);
  if (localRank < 0 && chosen.visible > 1)
    return Error{kExitUsage,
                 "which of the " + std::to_string(chosen.visible) +
                     " GPUs is this rank's? The environment has no LOCAL_RANK",
                 "usage",
                 {"set LOCAL_RANK, counted from 0 on each machine; or show each process one GPU by "
                  "CUDA_VISIBLE_DEVICES"}};
  chosen.ordinal = chosen.visible == 1 ? 0 : localRank;
  if (chosen.ordinal >= chosen.visible)
    return Error{kExitRunFailed,
                 "local rank " + std::to_string(localRank) + " has no GPU: this machine shows " +
                     std::to_string(chosen.visible),
                 "no-gpu",
                 {"start at most one process per GPU on each machine"}};
  CUDA_TRY(*this, cuDeviceGet, &device, chosen.ordinal);
  char name[256] = {};
  CUDA_TRY(*this, cuDeviceGetName, name, sizeof name - 1, device);
  chosen.name = name;
  CUDA_TRY(*this, cuDeviceGetAttribute, &chosen.major, kComputeCapabilityMajor, device);
  CUDA_TRY(*this, cuDeviceGetAttribute, &chosen.minor, kComputeCapabilityMinor, device);
  if (chosen.major < kLeastMajor)
    return Error{kExitRunFailed,
                 chosen.name + " is " + chosen.architecture() + ", and artifacts run on sm_80 and later",
                 "gpu-architecture",
                 {"A100, RTX 30 and every later card will do"}};
  Result retained = api.cuDevicePrimaryCtxRetain(&context, device);
  if (retained == kDeviceUnavailable)
    return Error{kExitRunFailed,
                 chosen.name + " does not take another process: " + describe(retained),
                 "no-gpu",
                 {"nvidia-smi shows who holds it; -c 0 lets several share it"}};
  if (Status status = check(retained, "cuDevicePrimaryCtxRetain"); !status)
    return status;
  CUDA_TRY(*this, cuCtxSetCurrent, context);
  return {};
}

Driver::~Driver() {
  if (context)
    api.cuDevicePrimaryCtxRelease_v2(device);
}

std::string Driver::describe(Result code) const {
  const char *name = nullptr, *text = nullptr;
  api.cuGetErrorName(code, &name);
  api.cuGetErrorString(code, &text);
  return (name ? name : "error " + std::to_string(code)) + (text ? std::string(", ") + text : "");
}

Status Driver::check(Result code, const char *call) const {
  if (code == kSuccess)
    return {};
  std::string where = chosen.name.empty() ? "the GPU" : chosen.name;
  if (!meansLost(code))
    return Error{kExitRunFailed, where + ": " + call + " failed: " + describe(code), "cuda"};
  return Error{
      kExitRunFailed,
      where + " stopped working: " + describe(code),
      "gpu-lost",
      {"nothing was saved in this step; ACCUM_CUDA_STEPWISE=1 waits after each command and so names the one "
       "that fails",
       "if it comes back, look for Xid messages of the driver: dmesg | grep NVRM"}};
}

} // namespace accum::runtime::cuda
