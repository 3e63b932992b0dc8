# SPDX-License-Identifier: Apache-2.0
"""The driver of test/runtime/cuda/fake, whose kernels are an artifact's own in the simulator: all of the runtime's way to a
GPU, without one."""
import json
import pathlib
import socket
import subprocess
import sys


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


class FakeGpu:
    def __init__(self, build, folder):
        self.libraries = pathlib.Path(build) / "test" / "runtime" / "fake-cuda"
        self.folder = pathlib.Path(folder)
        self.ranks = 1  # processes, a card each
        self.seed = 1  # of the order in which streams run
        self.sum = "ncclAllReduce"  # that several ranks call in a graph

    def log(self, rank):
        return self.folder / f"driver-calls-{rank}.txt"

    def states(self):
        """Files with the state that each rank held when it ended."""
        return [self.folder / f"state-{rank}" for rank in range(self.ranks)]

    def settings(self, artifact, rank=0):
        """The environment in which accum-run finds it. The card is an sm_80, so that PTX is loaded and not a cubin."""
        self.log(rank).unlink(missing_ok=True)
        self.states()[rank].unlink(missing_ok=True)
        state_bytes = json.loads((artifact / "manifest.json").read_text())["state_bytes"]
        return {"ACCUM_CUDA_LIBRARIES": str(self.libraries), "FAKE_CUDA": f"major=8,minor=0,count={self.ranks}",
                "FAKE_CUDA_LOG": str(self.log(rank)), "FAKE_CUDA_SEED": str(self.seed + rank),
                "FAKE_CUDA_KEEP": f"{self.states()[rank]}:{state_bytes}",
                "FAKE_CUDA_KERNELS": str(self.libraries / "libaccum_fake_sim.so"),
                "ACCUM_FAKE_SIM": str(artifact / "kernels.sim.so")}

    def places(self, artifact):
        """Environments of the ranks, which meet without MPI."""
        job = {"WORLD_SIZE": str(self.ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
        return [{**self.settings(artifact, rank), **job, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(self.ranks)]

    def run(self, command, artifact, environment):
        """The command on every rank, the last one started first; ends the test where one fails."""
        processes = []
        for place in reversed(self.places(artifact)):
            processes.append(subprocess.Popen([str(part) for part in [*command, "--launcher", "env"]], env={**environment, **place},
                                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        said = [process.communicate()[0] for process in processes]
        codes = [process.returncode for process in processes]
        if any(codes):
            sys.exit(f"exit codes {codes} of ranks {self.ranks - 1} to 0\n{''.join(said)}")

    def check(self, steps):
        for rank in range(self.ranks):
            self.check_rank(rank, steps)

    def check_rank(self, rank, steps):
        """Kernels and products were started, as graphs from the second step on; nothing was allocated twice, or is left. Several
        ranks sum, and some of it in a graph."""
        lines = [line.rsplit(" ", 1) for line in self.log(rank).read_text().splitlines()]
        calls = {name: int(count) for name, count in lines}
        wanted = ["cuLaunchKernel", "cublasLtMatmul"]
        if steps > 1:
            wanted += ["cuGraphLaunch", *[f"{self.sum} in a graph"] * (self.ranks > 1)]
        for name in wanted:
            if calls.get(name, 0) == 0:
                sys.exit(f"{name} was never called: {calls}")
        if calls["cuMemAlloc_v2"] != 1 or calls["left"] != 0:
            sys.exit(f"memory is allocated later, or left behind: {calls}")
