# SPDX-License-Identifier: Apache-2.0
"""The moving average of the weights on test/models/optimizers: after every step its bits are ema + (w - ema) * (1 - d), each operation
rounded (oracle: this file, of the weights in the checkpoints), the average begins at the first weights, and weights are those of the
program without one. It is saved, evaluated, checkpointed and resumed; the plan grows by the bytes of the trained parameters.

Usage: ema.py FOLDER STEPS [--sim] [--driver BUILD] [accumc options]
"""
import argparse
import array
import json
import pathlib
import struct

import tensors
from fake_gpu import FakeGpu
from program import MODELS, run

HERE = MODELS / "optimizers"
DECAY = 0.9
FLAGS = ["--lr", "0.01", "--weight-decay", "0.1", "--clip-norm", "1"]


def numbers(tensor):
    dtype, _, values = tensor
    return array.array({"F32": "f", "F64": "d"}[dtype], bytes(values))


def averaged(old, weights, part):
    """A product, sum or difference of two f32 is exact enough in a double to be rounded once more."""
    rounded = float if old.typecode == "d" else lambda value: struct.unpack("f", struct.pack("f", value))[0]
    part = rounded(part)
    return array.array(old.typecode, (e + rounded(rounded(w - e) * part) for e, w in zip(old, weights, strict=True)))


class Ema:
    def __init__(self, options):
        self.options = options
        self.folder = pathlib.Path(options.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.gpu = FakeGpu(options.driver, self.folder) if options.driver else None
        self.data = HERE / "data.safetensors"
        self.device = ["--target", "sim"] if options.sim else []

    def compile(self, name, *more):
        artifact = self.folder / f"{name}.accum"
        run("accumc", HERE / "model.onnx", "--batch", 5, "--micro-batch", 2, "--freeze", "scale", "-o", artifact,
            *(["--target", "h100", "--with-sim"] if self.options.sim or self.gpu else []), *self.options.more, *more)
        return artifact

    def run(self, artifact, *words, ok=(0,)):
        return run("accum-run", artifact, *self.device, "--progress", "none", *words, ok=ok,
                   settings=self.gpu and self.gpu.settings(artifact))

    def train(self, artifact, tag, steps, *more):
        """The file of weights."""
        weights = self.folder / f"{tag}.safetensors"
        self.run(artifact, "--data", self.data, "--steps", steps, "--no-shuffle", "--save", weights, *FLAGS, *more)
        return weights

    def state(self, folder, step):
        return tensors.read(folder / f"step-{step:08}" / "state.safetensors")

    def check_formula(self, artifact):
        """The folder of all checkpoints."""
        folder = self.folder / "checkpoints"
        self.train(artifact, "ema", self.options.steps, "--ema", DECAY, "--weights", "ema", "--checkpoint", folder,
                   "--checkpoint-every", 1, "--checkpoint-keep", 1000)
        first = tensors.read(artifact / "params.safetensors")
        names = [name[len("ema:"):] for name in self.state(folder, 1) if name.startswith("ema:")]
        assert names and "scale" not in names, names
        kind = numbers(self.state(folder, 1)[names[0]]).typecode  # where the file has another type it is widened
        average = {name: array.array(kind, numbers(first[name])) for name in names}
        for step in range(1, self.options.steps + 1):
            state = self.state(folder, step)
            for name in names:
                average[name] = averaged(average[name], numbers(state[name]), 1 - DECAY)
                assert average[name] == numbers(state[f"ema:{name}"]), f"step {step}: the average of {name} has other bits"
        saved = tensors.read(self.folder / "ema.safetensors")
        for name in names:
            assert numbers(saved[name]) == average[name], f"--save --weights ema: {name}"
        moved = max(abs(a - b) for name in names for a, b in zip(average[name], numbers(state[name])))
        print(f"{len(names)} averages have the bits of {self.options.steps} steps of the formula, {moved:.1e} from the weights")
        return folder

    def check_resumed(self, artifact, folder):
        half, last = self.options.steps // 2, self.options.steps
        elsewhere = self.folder / "resumed"
        self.train(artifact, "resumed", last, "--ema", DECAY, "--weights", "ema", "--checkpoint", elsewhere, "--resume",
                   folder / f"step-{half:08}")
        assert self.state(elsewhere, last) == self.state(folder, last), "a run that was resumed has other bits"

    def loss(self, artifact, *words):
        found = self.run(artifact, "--eval-only", "--eval", self.data, *words).stdout
        return found.split("loss ")[1].split(",")[0].split(";")[0]

    def check_evaluated(self, artifact, folder):
        """As the same weights from a file; steps behind it have the bits that they have without it."""
        newest = folder / f"step-{self.options.steps:08}"
        mine = self.loss(artifact, "--weights", "ema", "--resume", newest)
        theirs = self.loss(artifact, "--init", self.folder / "ema.safetensors")
        other = self.loss(artifact, "--resume", newest)
        assert mine == theirs != other, f"the average's loss is {mine}, from a file {theirs}, the weights' is {other}"
        log, elsewhere = self.folder / "log.jsonl", self.folder / "evaluated"
        self.train(artifact, "evaluated", self.options.steps, "--ema", DECAY, "--weights", "ema", "--eval", self.data, "--eval-every", 2,
                   "--log", log, "--checkpoint", elsewhere, "--checkpoint-every", self.options.steps)
        assert self.state(elsewhere, self.options.steps) == self.state(folder, self.options.steps), "evaluations changed the run"
        evaluated = [line for line in map(json.loads, log.read_text().splitlines()) if "eval_loss" in line][-1]
        assert f"{evaluated['eval_loss']:.6g}" == mine, (evaluated, mine)

    def check_without(self, with_average, folder):
        """Weights are those of a program without an average; the plan is smaller by the bytes of the parameters."""
        artifact = self.compile("plain")
        weights = tensors.read(self.train(artifact, "plain", self.options.steps))
        state = self.state(folder, self.options.steps)
        for name, tensor in weights.items():
            assert name not in state or tensor == state[name], f"{name} is updated otherwise beside an average"
        plans = [json.loads((each / "plan.json").read_text()) for each in (with_average, artifact)]
        more = plans[0]["state"] - plans[1]["state"]
        lines = [line["bytes"] for line in plans[0]["memory"] if line["name"].startswith("EMA of weights")]
        offloaded = "--offload" in self.options.more and "adafactor" not in self.options.more
        if not {"--shard", "--offload"}.intersection(self.options.more):
            size = sum(len(state[name[4:]][2]) for name in state if name.startswith("ema:"))
            padded = sum(-(-len(state[name[4:]][2]) // 256) * 256 for name in state if name.startswith("ema:"))
            assert lines == [size] and more == padded, (lines, size, more, padded)
        assert more >= 0 and bool(lines) != offloaded, (plans, more)
        said = self.run(artifact, "--synthetic", "--steps", 1, "--ema", 0.9, ok=(2,)).stderr
        assert "the artifact keeps none [usage]" in said and "accumc --ema" in said, said
        said = self.run(artifact, "--synthetic", "--steps", 1, "--weights", "ema", ok=(2,)).stderr
        assert "the artifact keeps no EMA of the weights [usage]" in said, said
        newest = folder / f"step-{self.options.steps:08}"
        words = ["--data", self.data, "--steps", 200, "--no-shuffle", *FLAGS, "--resume"]
        said = self.run(artifact, *words, newest, ok=(2,)).stderr
        assert "was made with an EMA of the weights, which this artifact does not keep [other-checkpoint]" in said, said
        self.train(artifact, "old", 2, "--checkpoint", self.folder / "old")
        said = self.run(with_average, *words, self.folder / "old", ok=(2,)).stderr
        assert "was made with no EMA of the weights, which this artifact keeps [other-checkpoint]" in said, said
        said = self.run(with_average, *words, self.folder / "old", "--resume-weights-only", "--weights", "ema", ok=(2,)).stderr
        assert "has no average of the weights; the run that wrote it kept none [other-checkpoint]" in said, said
        self.run(with_average, *words[:2], "--steps", 1, "--resume", self.folder / "old", "--resume-weights-only")

    def check(self):
        artifact = self.compile("average", "--ema")
        folder = self.check_formula(artifact)
        self.check_resumed(artifact, folder)
        self.check_evaluated(artifact, folder)
        self.check_without(artifact, folder)
        for wrong in ("0", "1", "-0.5", "1.5", "nan", "inf"):
            said = self.run(artifact, "--synthetic", "--steps", 1, f"--ema={wrong}", ok=(2,)).stderr
            assert "expected a number" in said or "is not a number" in said, said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("steps", type=int)
    parser.add_argument("--sim", action="store_true")
    parser.add_argument("--driver", metavar="BUILD")
    options, options.more = parser.parse_known_args()
    Ema(options).check()


if __name__ == "__main__":
    main()
