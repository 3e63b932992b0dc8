# SPDX-License-Identifier: Apache-2.0
"""The driver of test/runtime/cuda/fake, whose kernels are an artifact's own in the simulator: all of the runtime's way to a
GPU, without one."""
import pathlib
import sys


class FakeGpu:
    def __init__(self, build, folder):
        self.libraries = pathlib.Path(build) / "test" / "runtime" / "fake-cuda"
        self.log = pathlib.Path(folder) / "driver-calls.txt"

    def settings(self, artifact):
        """The environment in which accum-run finds it. The card is an sm_80, so that PTX is loaded and not a cubin."""
        self.log.unlink(missing_ok=True)
        return {"ACCUM_CUDA_LIBRARIES": str(self.libraries), "FAKE_CUDA": "major=8,minor=0", "FAKE_CUDA_LOG": str(self.log),
                "FAKE_CUDA_KERNELS": str(self.libraries / "libaccum_fake_sim.so"),
                "ACCUM_FAKE_SIM": str(artifact / "kernels.sim.so")}

    def check(self, steps):
        """Kernels and products were started, as graphs from the second step on; nothing was allocated twice, or is left."""
        calls = dict(line.split() for line in self.log.read_text().splitlines())
        calls = {name: int(count) for name, count in calls.items()}
        for name in ["cuLaunchKernel", "cublasLtMatmul", *["cuGraphLaunch"] * (steps > 1)]:
            if calls.get(name, 0) == 0:
                sys.exit(f"{name} was never called: {calls}")
        if calls["cuMemAlloc_v2"] != 1 or calls["left"] != 0:
            sys.exit(f"memory is allocated later, or left behind: {calls}")
