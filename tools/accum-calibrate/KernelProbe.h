// SPDX-License-Identifier: Apache-2.0
// Kernels as accumc makes them and accum-run runs them: probes are compiled, run and timed call by call.
#pragma once
#include "tools/accum-calibrate/Costs.h"
#include "tools/accum-calibrate/ProbeModel.h"
#include "tools/accum-calibrate/Results.h"
#include <functional>

namespace accum::calibrate {

struct Probe {
  std::string name;
  ProbeSize size;
};

/// Three sizes from caches next to a core up to memory, and one with a large vocabulary; `coarse`: a small
/// one.
std::vector<Probe> makeProbes(bool coarse);

/// The probe's kernels that take longer than some microseconds, without their launch: measured now, unless
/// `results` has them from before. `profile` is one as JSON that says what caches miss. `launch`: seconds;
/// `reference` returns those of fixed work.
runtime::Expected<std::vector<Observation>> observe(const Probe &probe, const std::string &profile,
                                                    int threads, double launch,
                                                    const std::function<double()> &reference,
                                                    Results &results);

} // namespace accum::calibrate
