# SPDX-License-Identifier: Apache-2.0
"""A sharded step is the undivided one: losses, gradients and weights after three steps of clipped updates.

Usage: sharding.py MODEL FOLDER --precision f64|f32|bf16 --cuts M:D:MODE,... [--sim TARGET [--driver BUILD]]
[--optimizer NAME] [accumc options, of all plans]. MODE is a word of --shard, and `+` a word of --offload, as in zero3+parameters.
Every cut is compared with one undivided batch on one device. With --sim kernels are a GPU's in the simulator; with --driver the
runtime takes them for a real card's, whose driver and NCCL are the fake ones of a build folder. In bf16, zero3 is compared with zero2 in the same cut, too: the first loss has the same bits, since the copies of parts are those of
whole parameters. A checkpoint behind the second step, written by the first cut, is resumed by each of the
others, on another number of devices and in another mode, and ends in the same weights.
"""
import argparse
import os

import tensors
from fake_gpu import FakeGpu
from program import Model, compare

# As in invariance.py; over three steps, whose second and third start from weights that differ by that.
# In bf16 4e-7 was seen; where one process multiplies natively and another does not it is 6e-3.
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "bf16": 2e-5}
# Each run measures which products of bf16 are faster; on a busy machine two runs might not agree.
os.environ["ACCUM_BF16_PRODUCTS"] = "widened"
BATCH = 11  # a prime: every cut is ragged
STEPS = 3


class Sharding:
    def __init__(self, options):
        self.options = options
        self.model = Model(options.model, options.folder)
        self.model.repeat_data(BATCH)
        self.model.gpu = FakeGpu(options.driver, options.folder) if options.driver else None
        self.zero = self.model.zero_gradient()
        self.checkpoints = self.model.folder / "checkpoints"

    def compile(self, size, devices, mode):
        options = self.options
        target = ["--target", "reference", "--precision", "f64"] if options.precision == "f64" else []
        target += ["--precision", "bf16"] if options.precision == "bf16" else []
        target += ["--target", options.sim, "--with-sim"] if options.sim else []
        shard, _, offload = mode.partition("+")
        if self.model.gpu:
            self.model.gpu.ranks = devices
            self.model.gpu.sum = "ncclAllReduce" if shard == "none" else "ncclReduceScatter"
        return self.model.compile("--optimizer", options.optimizer, "--micro-batch", size, "--devices", devices, "--shard", shard,
                                  "--offload", offload or "none", "--prefer", options.prefer, *target, *options.more, batch=BATCH)

    def train(self, artifact, tag, *more):
        """Losses, norms, gradients and weights."""
        files = [self.model.folder / f"{kind}-{tag}.safetensors" for kind in ("gradients", "weights")]
        device = ["--target", "sim"] if self.options.sim and not self.model.gpu else []
        log = self.model.train(artifact, STEPS, *device, "--lr", 0.05, "--seed", 7, "--clip-norm", 0.5, "--weight-decay", 0.1,
                               *more, gradients=files[0], weights=files[1])
        for file in files:
            tensors.blank(file, file, self.zero)
        return [line["loss"] for line in log], [line["gradient_norm"] for line in log], *files

    def check(self, cut, found, whole):
        tolerance = TOLERANCE[self.options.precision]
        for name, numbers, expected in zip(("loss", "norm"), found, whole):
            for number, other in zip(numbers, expected[-len(numbers):]):
                if not abs(number - other) <= tolerance * abs(other):
                    raise SystemExit(f"{cut}: {name} {numbers}, undivided {expected}")
        off = [compare(mine, theirs, tolerance) for mine, theirs in zip(found[2:], whole[2:])]
        print(f"{cut}: gradients {off[0]:.1e}, weights {off[1]:.1e}", flush=True)

    def check_copies(self, cut, found, other):
        """In parts as whole: the first step reads the same copies, the later ones those of nearly the same weights."""
        if found[0][0] != other[0][0]:
            raise SystemExit(f"{cut}: first loss {found[0][0]!r}, with whole parameters {other[0][0]!r}")
        self.check(cut + ", beside zero2", found, other)

    def run(self):
        whole = self.train(self.compile(BATCH, 1, "none"), "whole")
        written = False
        for text in self.options.cuts.split(","):
            size, devices, mode = text.split(":")
            cut = f"micro-batch {size} on {devices} devices, {mode}"
            artifact = self.compile(size, int(devices), mode)
            keep = [] if written else ["--checkpoint", self.checkpoints, "--checkpoint-every", 2]
            found = self.train(artifact, text, *keep)
            self.check(cut, found, whole)
            if written:
                step = self.checkpoints / "step-00000002"
                self.check(cut + ", resumed", self.train(artifact, text + ":resumed", "--resume", step), whole)
            if self.options.precision == "bf16" and mode.startswith("zero3"):
                self.check_copies(cut, found, self.train(self.compile(size, int(devices), "zero2"), text + ":zero2"))
            written = True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--precision", choices=TOLERANCE, required=True)
    parser.add_argument("--cuts", required=True, help="micro-batch:devices:mode, separated by commas")
    parser.add_argument("--sim", metavar="TARGET", help="compile for this GPU and simulate it")
    parser.add_argument("--driver", metavar="BUILD", help="and train on the fake driver of this build folder")
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--prefer", default="balanced")
    options, options.more = parser.parse_known_args()
    Sharding(options).run()


if __name__ == "__main__":
    main()
