# SPDX-License-Identifier: Apache-2.0
"""Sharded steps in two calls, accum_accumulate and accum_update.

Usage: two-calls.py MODEL FOLDER BUILD --modes MODE:DEVICES,... [--driver]. Oracles: one accumulate and one update have the bits of
accum_step on the same ranks; the mean of two batches' gradients, read and halved in between, moves weights as on one device does, in
f64. With --driver the bits alone, on fake GPUs, where NCCL sums.
"""
import argparse
import pathlib
import subprocess
import sys

import tensors
from fake_gpu import FakeGpu, free_port
from program import Model, compare, environment, run

STEPS = 2
TOLERANCE = 1e-12  # as in sharding.py


class TwoCalls:
    def __init__(self, options):
        self.options = options
        self.model = Model(options.model, options.folder)
        self.model.repeat_data(4 * 6)  # four windows
        self.gpu = FakeGpu(options.build, options.folder) if options.driver else None
        self.zero = self.model.zero_gradient()
        self.program = self.build()

    def build(self):
        source, target = pathlib.Path(__file__).with_suffix(".c"), self.model.folder / "two-calls"
        build = pathlib.Path(self.options.build).resolve()
        include = run(build / "bin" / "accum-run", "--include-dir").stdout.strip()
        run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", include, source, "-L", build / "lib", "-laccum_runtime",
            f"-Wl,-rpath,{build / 'lib'}", "-o", target)
        return target

    def compile(self, mode, devices):
        target = ["--target", "h100", "--with-sim"] if self.gpu else ["--target", "reference", "--precision", "f64"]
        shard, _, offload = mode.partition("+")
        return self.model.compile("--optimizer", "adamw", "--micro-batch", 2, "--devices", devices, "--shard", shard, "--offload",
                                  offload or "none", "--prefer", "memory", *target, batch=6)

    def places(self, artifact, devices):
        if self.gpu:
            self.gpu.ranks = devices
            return self.gpu.places(artifact) if devices > 1 else [self.gpu.settings(artifact)]
        job = {"WORLD_SIZE": str(devices), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        return [{**job, "RANK": str(rank), "LOCAL_RANK": str(rank)} if devices > 1 else {} for rank in range(devices)]

    def train(self, artifact, devices, how):
        """What each rank says, and the weights."""
        weights, processes = [], []
        for rank, place in enumerate(self.places(artifact, devices)):
            weights.append(self.model.folder / f"{how}-{devices}-{rank}.safetensors")
            command = [self.program, artifact, self.model.data, str(STEPS), weights[-1], how]
            processes.append(subprocess.Popen(command, env={**environment(), **place}, stdout=subprocess.PIPE,
                                              stderr=subprocess.PIPE, text=True))
        said = [process.communicate() for process in processes]
        if any(process.returncode for process in processes) or any(out != said[0][0] for out, _ in said):
            sys.exit(f"{how} on {devices} devices: {said}")
        for path in weights:
            tensors.blank(path, path, self.zero)
        if any(path.read_bytes() != weights[0].read_bytes() for path in weights):
            sys.exit(f"{how} on {devices} devices: ranks save other weights")
        return said[0][0], weights[0]

    def check_mean(self, text, artifact, devices, one):
        said, weights = self.train(artifact, devices, "mean")
        off = compare(weights, one[1], TOLERANCE)
        for mine, other in zip(said.split(), one[0].split()):
            if not abs(float(mine) - float(other)) <= TOLERANCE * abs(float(other)):
                sys.exit(f"{text}: means {said}, on one device {one[0]}")
        return f"; means {off:.1e} from one device"

    def check(self):
        one = None if self.gpu else self.train(self.compile("none", 1), 1, "mean")
        for text in self.options.modes.split(","):
            mode, devices = text.split(":")
            artifact, devices = self.compile(mode, int(devices)), int(devices)
            step, calls = self.train(artifact, devices, "step"), self.train(artifact, devices, "calls")
            if step[0] != calls[0] or step[1].read_bytes() != calls[1].read_bytes():
                sys.exit(f"{text}: a step {step[0]}, in two calls {calls[0]}")
            mean = self.check_mean(text, artifact, devices, one) if one else ""
            print(f"{mode} on {devices} devices: the bits of a step{mean}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("build")
    parser.add_argument("--modes", required=True, help="mode:devices, separated by commas")
    parser.add_argument("--driver", action="store_true", help="on the fake driver of the build folder")
    TwoCalls(parser.parse_args()).check()


if __name__ == "__main__":
    main()
