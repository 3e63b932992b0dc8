// SPDX-License-Identifier: Apache-2.0
// Collectives without MPI, over a connection between every two ranks: what each rank sends is what a ring
// would.
#ifndef ACCUM_RUNTIME_RANKS_TCPCOLLECTIVES_H
#define ACCUM_RUNTIME_RANKS_TCPCOLLECTIVES_H

#include "runtime/accum_collectives.h"
#include "runtime/ranks/Launch.h"

namespace accum::runtime {

/// The table, whose init joins the job at `place`. One for the process.
const accum_collectives_v1 *tcpCollectives(const LaunchPlace &place);

} // namespace accum::runtime
#endif
