# SPDX-License-Identifier: Apache-2.0
"""A model on several fake GPUs: a process per rank, NCCL's sums between them, gradients' sums as branches of the last
micro-step's graph.

Usage: ranks.py MODEL FOLDER --devices D --precision f32|bf16 --driver BUILD [--micro-batch M]. After three steps of SGD every rank
holds the same state, bit for bit, and again with other orders of streams; gradients and weights are those of one device within
rounding, and in f32 PyTorch's.
"""
import argparse
import json

import tensors
from fake_gpu import FakeGpu
from precision import CUT, distance, numbers
from program import Model, compare

STEPS = 3
# What another order of summation moves, as in invariance.py and precision.py.
F32 = 5e-6
# The driver test's, over three steps.
TORCH = 1e-4


class Ranks:
    def __init__(self, options):
        self.model, self.options = Model(options.model, options.folder), options
        self.model.gpu = FakeGpu(options.driver, options.folder)
        self.ranges = self.model.zero_gradient()

    def train(self, devices, tag, seed=1):
        """Gradients and weights, without what is noise in exact arithmetic, and the loss of each step."""
        artifact = self.model.compile("--optimizer", "sgd", "--precision", self.options.precision, "--micro-batch",
                                      self.options.micro_batch, "--devices", devices, "--target", "h100", "--with-sim")
        files = [self.model.folder / f"{kind}-{tag}.safetensors" for kind in ("gradients", "weights")]
        self.model.gpu.ranks, self.model.gpu.seed = devices, seed
        log = self.model.train(artifact, STEPS, "--lr", 0.1, gradients=files[0], weights=files[1])
        for file in files:
            tensors.blank(file, file, self.ranges)
        return [line["loss"] for line in log], *files

    def states(self):
        """What each rank holds when it ends."""
        bytes_of_state = json.loads((self.model.folder / "model.accum" / "manifest.json").read_text())["state_bytes"]
        states = [path.read_bytes() for path in self.model.gpu.states()]
        if any(len(state) != bytes_of_state for state in states):
            raise SystemExit(f"a rank keeps {[len(state) for state in states]} bytes of {bytes_of_state}")
        return states

    def check_agreement(self):
        """Equal on all ranks, and whatever order streams run in."""
        states = self.states()
        for rank, state in enumerate(states):
            if state != states[0]:
                at = next(i for i, (a, b) in enumerate(zip(state, states[0])) if a != b)
                raise SystemExit(f"rank {rank} differs from rank 0, first {at} bytes behind the state's start")
        self.train(self.options.devices, "again", seed=17)
        if self.states()[0] != states[0]:
            raise SystemExit("another order of streams has other bits")

    def check_one_device(self, several, one):
        for kind, mine, other in zip(("gradients", "weights"), several[1:], one[1:]):
            if self.options.precision == "f32":
                print(f"{kind}: {compare(mine, other, F32):.1e} from one device")
                continue
            mine, other = tensors.read(mine), tensors.read(other)
            off = distance(pair for name in mine for pair in zip(numbers(mine[name]), numbers(other[name])))
            print(f"{kind}: {off:.1e} from one device")
            if not off <= CUT["bf16"]:
                raise SystemExit(f"{kind} move by {off:.2e} from one device to {self.options.devices}")
        for mine, other in zip(several[0], one[0]):
            if not abs(mine - other) <= (F32 if self.options.precision == "f32" else CUT["bf16"]) * abs(other):
                raise SystemExit(f"losses {several[0]}, on one device {one[0]}")

    def check_torch(self, weights):
        theirs = self.model.folder / "theirs.safetensors"
        tensors.blank(self.model.reference("sgd3"), theirs, self.ranges)
        print(f"weights: {compare(weights, theirs, TORCH):.1e} from PyTorch's")

    def check(self):
        several = self.train(self.options.devices, "several")
        self.check_agreement()
        if self.options.precision == "f32":
            self.check_torch(several[2])
        self.check_one_device(several, self.train(1, "one"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--devices", type=int, required=True)
    parser.add_argument("--precision", choices=["f32", "bf16"], required=True)
    parser.add_argument("--driver", metavar="BUILD", required=True, help="the build folder of the fake driver")
    parser.add_argument("--micro-batch", default="1")
    Ranks(parser.parse_args()).check()


if __name__ == "__main__":
    main()
