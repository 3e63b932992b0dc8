# SPDX-License-Identifier: Apache-2.0
"""Ten steps of optimizers (oracle: PyTorch's parameters in float64, and Lion's formula) on test/models/optimizers: with a decay of
everything, with groups, with clipping. The model has a tied table, a frozen vector and a convolution; its batch of five is cut into
micro-batches of two, the last one ragged.

Usage: optimizers.py FOLDER WAY OPTIMIZER... WAY is f64 (reference kernels), f32, sim (a GPU's kernels, simulated), driver:BUILD
(these on that build's fake driver), bf16 (weights of f32) or devices (two of them). Tolerances are relative: largest difference over
largest magnitude, per tensor.
"""
import array
import json
import pathlib
import sys

import tensors
from fake_gpu import FakeGpu
from program import MODELS, run

HERE = MODELS / "optimizers"
WAYS = {"f64": ["--target", "reference", "--precision", "f64"], "f32": [], "sim": ["--target", "h100", "--with-sim"],
        "driver": ["--target", "h100", "--with-sim"], "bf16": ["--precision", "bf16"], "devices": ["--devices", "2"]}
# In bf16 the gradients are rounded, and so are the steps of optimizers that divide by them: a mean loss within this is asked for.
# A single step's loss, which falls by a fifth from one to the next, says more of rounding than of errors.
TOLERANCE = {"f64": 1e-9, "f32": 2e-6, "sim": 2e-6, "driver": 2e-6, "devices": 2e-6}
LOSS = 0.02


def numbers(tensor):
    dtype, _, values = tensor
    return array.array({"F32": "f", "F64": "d"}[dtype], bytes(values))


def distance(mine, theirs):
    return max(abs(a - b) for a, b in zip(mine, theirs, strict=True)) / max(map(abs, theirs))


class Grid:
    def __init__(self, folder, way):
        self.folder, (self.way, _, build) = pathlib.Path(folder), way.partition(":")
        self.gpu = FakeGpu(build, folder) if build else None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = HERE / "data.safetensors"
        self.facts = json.loads((HERE / "runs.json").read_text())
        self.values = tensors.read(HERE / "values.safetensors")

    def compile(self, optimizer, way):
        artifact = self.folder / f"{optimizer}-{way}.accum"
        run("accumc", HERE / "model.onnx", "--batch", self.facts["batch"], "--micro-batch", 2, "--freeze", self.facts["frozen"],
            "--optimizer", optimizer, "-o", artifact, *WAYS[way])
        return artifact

    def train(self, artifact, flags, steps=None, *more):
        """Weights under the framework's names, and the mean of the steps' losses."""
        weights, log = self.folder / "weights.safetensors", self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        device = ["--target", "sim"] if self.way == "sim" else []
        run("accum-run", artifact, *device, "--data", self.data, "--steps", steps or self.facts["steps"], "--no-shuffle",
            "--progress", "none", "--save", weights, "--names", "framework", "--log", log, *flags, *more,
            settings=self.gpu and self.gpu.settings(artifact))
        losses = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        return tensors.read(weights), sum(losses) / len(losses)

    def check_run(self, name, artifact, flags):
        mine, loss = self.train(artifact, flags)
        theirs = {key.split("/")[1]: value for key, value in self.values.items() if key.split("/")[0] == name}
        if self.way == "bf16":
            _, exact = self.train(self.folder / f"{name.rsplit('-', 1)[0]}-f32.accum", flags)
            print(f"{name} {self.way}: loss {loss:.5f}, in f32 {exact:.5f}")
            assert abs(loss - exact) <= LOSS * abs(exact), f"{name}: loss {loss}, in f32 {exact}"
            return
        off = {key: distance(numbers(mine[key]), numbers(value)) for key, value in theirs.items()}
        worst = max(off, key=off.get)
        print(f"{name} {self.way}: off by {off[worst]:.1e} ({worst})")
        assert off[worst] <= TOLERANCE[self.way], f"{name}: {worst} is off by {off[worst]:.2e}"

    def check(self, optimizer):
        artifact = self.compile(optimizer, self.way)
        if self.way == "bf16":
            self.compile(optimizer, "f32")
        for name, facts in self.facts["runs"].items():
            if facts["optimizer"] == optimizer:
                self.check_run(name, artifact, facts["flags"])


def main():
    grid = Grid(sys.argv[1], sys.argv[2])
    for optimizer in sys.argv[3:]:
        grid.check(optimizer)


if __name__ == "__main__":
    main()
