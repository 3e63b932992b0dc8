// SPDX-License-Identifier: Apache-2.0
// accum_runtime.h for Python: the other processes of a job.
#include "python/src/Failure.h"
#include "python/src/Parts.h"
#include "runtime/accum_runtime.h"
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace accum::python {
namespace {

nb::tuple join(const std::optional<std::string> &launcher) {
  int32_t rank = 0, ranks = 1;
  int code = 0;
  {
    nb::gil_scoped_release released;
    code = accum_join(launcher ? launcher->c_str() : nullptr, &rank, &ranks);
  }
  require(code);
  return nb::make_tuple(rank, ranks);
}

/// Without joining them; 0 where there is no launcher.
int launched(const std::optional<std::string> &launcher) {
  int32_t processes = 0;
  require(accum_launched(launcher ? launcher->c_str() : nullptr, &processes));
  return processes;
}

void broadcastTo(void *data, uint64_t bytes) {
  int code = 0;
  {
    nb::gil_scoped_release released;
    code = accum_broadcast(data, bytes);
  }
  require(code);
}

/// What rank 0 gives, on every rank; the others give nothing.
nb::bytes broadcast(const nb::bytes &own) {
  uint64_t size = own.size();
  broadcastTo(&size, sizeof size);
  std::string all(own.c_str(), own.size());
  all.resize(size);
  broadcastTo(all.data(), size);
  return nb::bytes(all.data(), all.size());
}

void leave() {
  int code = 0;
  {
    nb::gil_scoped_release released;
    code = accum_leave();
  }
  require(code);
}

} // namespace

void addRanks(nb::module_ &module) {
  using namespace nb::literals;
  module.def("join", &join, "launcher"_a = nb::none());
  module.def("launched", &launched, "launcher"_a = nb::none());
  module.def("broadcast", &broadcast, "own"_a = nb::bytes(""));
  module.def("leave", &leave);
  module.def(
      "fail", [](int code, const std::string &why) { accum_fail(code, why.c_str()); }, "code"_a, "why"_a);
}

} // namespace accum::python
