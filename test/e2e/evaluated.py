# SPDX-License-Identifier: Apache-2.0
"""Evaluation over data of its own: the loss of all samples at once is PyTorch's (stored values, to 1e-6), whatever the micro-batch,
the number of devices and the last window; and training has the same bits with and without it.

Usage: evaluated.py MODEL FOLDER [--batch B] [--devices D] [--sizes M,...] [--as EXPORT] [--sim TARGET [--driver BUILD]] [accumc options]. The data
has 7 samples; B does not divide them. EXPORT is the same model in evaluation mode, where MODEL has dropout.
"""
import argparse
import json
import os

from fake_gpu import FakeGpu
from program import Model, environment, run

TOLERANCE = 1e-6
STEPS = 3


class Evaluated:
    def __init__(self, model, expected, artifact, device, gpu):
        self.model, self.expected, self.artifact, self.device, self.gpu = model, expected, artifact, device, gpu
        self.log = model.folder / "log.jsonl"

    def run(self, *words):
        """The lines of the log, those of steps and those of evaluations."""
        self.log.unlink(missing_ok=True)
        command = ["accum-run", self.artifact, "--log", self.log, "--progress", "none", *self.device, *words]
        if self.gpu and self.gpu.ranks > 1:
            self.gpu.run(command, self.artifact, environment())
        else:
            run(*command, settings=self.gpu and self.gpu.settings(self.artifact))
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if "loss" in line], [line for line in lines if "eval_loss" in line]

    def train(self, name, *words):
        path = self.model.folder / name
        steps, evaluations = self.run("--data", self.model.data, "--steps", STEPS, "--lr", 0.1, "--seed", 3, "--save", path, *words)
        return path.read_bytes(), [(line["loss"], line["gradient_norm"]) for line in steps], evaluations

    def check_loss(self):
        expected = self.expected
        (only,) = self.run("--eval", self.model.data, "--eval-only")[1]
        if not abs(only["eval_loss"] - expected) <= TOLERANCE * abs(expected):
            raise SystemExit(f"the loss is {only['eval_loss']!r}, expected {expected!r}")
        if only["eval_samples"] != self.model.about["samples"]:
            raise SystemExit(f"{only['eval_samples']} samples, expected {self.model.about['samples']}")
        return only["eval_loss"]

    def check_training(self, untrained):
        alone = self.train("alone.safetensors")
        checkpoints = self.model.folder / f"checkpoints-{os.urandom(4).hex()}"
        *beside, evaluations = self.train("beside.safetensors", "--eval", self.model.data, "--eval-every", 1, "--checkpoint", checkpoints)
        if tuple(beside) != alone[:2]:
            raise SystemExit("training has other bits with evaluation")
        if [line["step"] for line in evaluations] != list(range(1, STEPS + 1)):
            raise SystemExit(f"evaluations are {evaluations}")
        (last,) = self.run("--eval", self.model.data, "--eval-only", "--resume", checkpoints)[1]
        (saved,) = self.run("--eval", self.model.data, "--eval-only", "--init", self.model.folder / "beside.safetensors")[1]
        if {last["eval_loss"], saved["eval_loss"]} != {evaluations[-1]["eval_loss"]} or last["eval_loss"] == untrained:
            raise SystemExit(f"the checkpoint has a loss of {last}, the weights of {saved}, the run {evaluations[-1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--batch", default=4)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--sizes", default="2,3")
    parser.add_argument("--as", dest="export")
    parser.add_argument("--sim", metavar="TARGET")
    parser.add_argument("--driver", metavar="BUILD")
    arguments, options = parser.parse_known_args()
    model = Model(arguments.model, arguments.folder)
    expected = (Model(arguments.export, arguments.folder) if arguments.export else model).reference("loss")
    options += ["--optimizer", "adamw", "--devices", arguments.devices]
    gpu = None
    if arguments.driver:
        gpu = FakeGpu(arguments.driver, arguments.folder)
        gpu.ranks = arguments.devices
    if arguments.sim:
        options += ["--target", arguments.sim, "--with-sim"]
    device = ["--target", "sim"] if arguments.sim and not gpu else []
    for size in arguments.sizes.split(","):
        artifact = model.compile("--micro-batch", size, *options, batch=arguments.batch)
        evaluated = Evaluated(model, expected, artifact, device, gpu)
        evaluated.check_training(evaluated.check_loss())


main()
