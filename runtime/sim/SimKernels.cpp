// SPDX-License-Identifier: Apache-2.0
// Loads kernels.sim.so and deals blocks out to the thread pool.
#include "runtime/sim/SimKernels.h"
#include "runtime/sim/Block.h"
#include "runtime/system/ThreadPool.h"
#include <algorithm>
#include <dlfcn.h>

namespace accum::runtime::sim {
namespace {

constexpr int64_t kMostPieces = 64;

Error bad(const std::string &path, const std::string &why) {
  return {kExitFile, path + ": " + why, "bad-artifact", {"compile the model again, with --with-sim"}};
}

} // namespace

Expected<std::unique_ptr<SimKernels>> SimKernels::load(const std::string &path) {
  // A name without a slash would be searched for on the loader's path.
  void *handle =
      dlopen((path.find('/') == std::string::npos ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return bad(path, std::string("cannot be loaded: ") + dlerror());
  auto entry = reinterpret_cast<const accum_sim_v1 *(*)()>(dlsym(handle, "accum_sim"));
  if (!entry)
    return bad(path, "does not define accum_sim()");
  const accum_sim_v1 *table = entry();
  if (table->version != ACCUM_SIM_VERSION || table->size < sizeof(accum_sim_v1))
    return bad(path, "is for another version of the simulator");
  *table->hooks = Block::hooks();
  return std::unique_ptr<SimKernels>(new SimKernels(table));
}

Status SimKernels::launch(uint32_t number, void *const *args) {
  if (number >= table->count)
    return Error{kExitInternal,
                 "the program launches kernel " + std::to_string(number) + " of " +
                     std::to_string(table->count),
                 "program"};
  Launch launch(table->kernels[number], args, written);
  launch.begin();
  int64_t blocks = launch.kernel.blocks;
  parallelFor(blocks, std::min(blocks, kMostPieces), [&](int64_t begin, int64_t end) {
    thread_local Block block;
    for (int64_t i = begin; i < end && !launch.failed(); ++i)
      block.run(launch, uint32_t(i));
  });
  launch.end();
  return launch.status();
}

} // namespace accum::runtime::sim
