// SPDX-License-Identifier: Apache-2.0
// Where a launcher's environment puts this process among the ranks.
#ifndef ACCUM_RUNTIME_RANKS_LAUNCH_H
#define ACCUM_RUNTIME_RANKS_LAUNCH_H

#include "runtime/system/Status.h"

namespace accum::runtime {

/// A rank that meets the others at an address, without MPI.
struct LaunchPlace {
  int rank = 0, ranks = 1;
  std::string address; ///< of rank 0's machine
  int port = 0;
};

/// The place by `launcher`: "env" reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as
/// torchrun sets them; "slurm" reads
/// SLURM_PROCID, SLURM_STEP_NUM_TASKS (or SLURM_NTASKS) and the step's first node; "auto", or nothing, is env
/// where these variables are set and mpirun's are not. Nothing for MPI. Refuses (exit 2) an environment that
/// lacks one.
Expected<std::optional<LaunchPlace>> placeOf(const std::string &launcher);

/// How many processes the launcher has started, by its variables; 0 where there is none.
Expected<int> launchedProcesses(const std::string &launcher);

/// This process's number on its machine, by any launcher's variables: LOCAL_RANK, Open MPI's, MPICH's,
/// Slurm's; without one 0, or -1 among several ranks. On GPUs it is the number of the card.
int localRankOf();

/// The first host of a list in Slurm's notation: "n[07-12,20],m1" gives "n07".
std::string firstHost(const std::string &nodes);

} // namespace accum::runtime
#endif
