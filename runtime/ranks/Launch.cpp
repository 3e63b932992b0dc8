// SPDX-License-Identifier: Apache-2.0
// Environment variables to a place.
#include "runtime/ranks/Launch.h"
#include <cstdlib>
#include <string_view>

namespace accum::runtime {
namespace {

// What torchrun takes when nothing is said.
constexpr int kPort = 29500;

const char *get(const char *name) {
  const char *text = std::getenv(name);
  return text && *text ? text : nullptr;
}

Error missing(const std::string &launcher, const char *name) {
  return {kExitUsage, "--launcher " + launcher + ": the environment has no " + name, "usage"};
}

Expected<std::optional<LaunchPlace>> placed(const std::string &launcher, const LaunchPlace &place) {
  if (place.ranks < 1 || place.rank < 0 || place.rank >= place.ranks || place.port < 1 || place.port > 65535)
    return Error{kExitUsage,
                 "--launcher " + launcher + ": rank " + std::to_string(place.rank) + " of " +
                     std::to_string(place.ranks) + " at port " + std::to_string(place.port) + " is no place",
                 "usage"};
  return std::optional<LaunchPlace>(place);
}

/// torchrun itself listens at MASTER_PORT, which is one that the system has handed out: another one follows
/// from it, of those that the system leaves alone.
int besideTorchrun(int port) { return 20000 + port % 12000; }

int portOr(int otherwise) {
  int port = get("MASTER_PORT") ? std::atoi(get("MASTER_PORT")) : otherwise;
  const char *listens = get("TORCHELASTIC_USE_AGENT_STORE");
  return listens && std::string_view(listens) == "True" ? besideTorchrun(port) : port;
}

Expected<std::optional<LaunchPlace>> envPlace() {
  for (const char *name : {"RANK", "WORLD_SIZE", "MASTER_ADDR"})
    if (!get(name))
      return missing("env", name);
  return placed("env",
                {std::atoi(get("RANK")), std::atoi(get("WORLD_SIZE")), get("MASTER_ADDR"), portOr(kPort)});
}

Expected<std::optional<LaunchPlace>> slurmPlace() {
  const char *tasks = get("SLURM_STEP_NUM_TASKS") ? get("SLURM_STEP_NUM_TASKS") : get("SLURM_NTASKS");
  const char *nodes = get("SLURM_STEP_NODELIST") ? get("SLURM_STEP_NODELIST") : get("SLURM_NODELIST");
  if (!get("SLURM_PROCID"))
    return missing("slurm", "SLURM_PROCID");
  if (!tasks)
    return missing("slurm", "SLURM_STEP_NUM_TASKS");
  if (!nodes && !get("MASTER_ADDR"))
    return missing("slurm", "SLURM_STEP_NODELIST");
  std::string address = get("MASTER_ADDR") ? get("MASTER_ADDR") : firstHost(nodes);
  // Jobs that share a node should not meet.
  int port = portOr(get("SLURM_JOB_ID") ? 20000 + std::atoi(get("SLURM_JOB_ID")) % 20000 : kPort);
  return placed("slurm", {std::atoi(get("SLURM_PROCID")), std::atoi(tasks), address, port});
}

} // namespace

std::string firstHost(const std::string &nodes) {
  size_t open = nodes.find('['), comma = nodes.find(',');
  if (open == std::string::npos || comma < open)
    return nodes.substr(0, comma);
  return nodes.substr(0, open) + nodes.substr(open + 1, nodes.find_first_of("-,]", open) - open - 1);
}

int localRankOf() {
  for (const char *name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char *text = get(name))
      return std::atoi(text);
  return get("RANK") && get("WORLD_SIZE") && std::atoi(get("WORLD_SIZE")) > 1 ? -1 : 0;
}

Expected<std::optional<LaunchPlace>> placeOf(const std::string &launcher) {
  if (launcher == "mpi")
    return std::optional<LaunchPlace>();
  if (launcher == "env")
    return envPlace();
  if (launcher == "slurm")
    return slurmPlace();
  bool byMpi = get("OMPI_COMM_WORLD_SIZE") || get("PMI_SIZE");
  bool byEnv = get("RANK") && get("WORLD_SIZE") && get("MASTER_ADDR");
  return byEnv && !byMpi ? envPlace() : std::optional<LaunchPlace>();
}

Expected<int> launchedProcesses(const std::string &launcher) {
  auto place = placeOf(launcher);
  if (!place)
    return place.error();
  if (*place)
    return (*place)->ranks;
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char *text = get(name))
      return std::atoi(text);
  const char *slurm = get("SLURM_STEP_NUM_TASKS");
  return slurm && get("SLURM_PROCID") ? std::atoi(slurm) : 0;
}

} // namespace accum::runtime
