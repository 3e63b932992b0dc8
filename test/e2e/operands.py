# SPDX-License-Identifier: Apache-2.0
"""Operators on operands of every role, cut and on every target: gradients against differences of the interpreter's loss.

Usage: operands.py FOLDER --slopes TOOL [--family NAME] [--every N] [--targets reference,host,sim]. The terms of
test/models/operators.py, many to a model, on five samples: micro-batches of one, of two (a ragged last one) and of all. A model
that is refused or wrong is halved until the term is found. Without --every it is the whole grid, which takes hours on all targets.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys

import tensors
from program import environment

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import operators
from operator_terms import Terms

SAMPLES = 5
SIZES = (SAMPLES, 1, 2)  # the first is what the others are compared with
TARGETS = {"reference": ["--target", "reference", "--precision", "f64"], "host": [], "sim": ["--target", "h100", "--with-sim"]}
# Against differences, and against one undivided batch of the same target.
FAR, CUT = {"reference": 2e-6, "host": 2e-4, "sim": 2e-4}, {"reference": 1e-12, "host": 2e-5, "sim": 2e-5}
# What a target refuses as `[unsupported]`: remainders, and powers that are no whole number known to the compiler.
REFUSED = {"reference": (), "host": (), "sim": ("Mod.", "Pow.", "twice.Pow.")}
TERMS = 40  # to a model: a fault is found in few, and a model of all is slow to plan


class Wrong(Exception):
    pass


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment())
    if result.returncode:
        raise Wrong(f"{' '.join(map(str, command))}\nexit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


class Model:
    """Some terms: their expected loss and slopes, and what a program of them gives."""

    def __init__(self, cases, folder, slopes):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.model, self.data = folder, folder / "model.onnx", folder / "data.safetensors"
        terms = Terms(cases, "model.onnx.data", SAMPLES)
        tensors.write(self.data, terms.write(self.model))
        lines = (line.rsplit(" ", 1) for line in run(slopes, self.model, self.data).splitlines())
        self.expected = {name: float(value) for name, value in lines}
        if missing := set(terms.owner) - set(self.expected):
            raise Wrong(f"not trained: {missing}")

    def measure(self, target, size):
        artifact, gradients, log = self.folder / "model.accum", self.folder / "gradients.safetensors", self.folder / "log.jsonl"
        run("accumc", self.model, "-o", artifact, "--batch", SAMPLES, "--micro-batch", size, "--optimizer", "sgd", *TARGETS[target])
        log.unlink(missing_ok=True)
        run("accum-run", artifact, "--data", self.data, "--steps", 1, "--no-shuffle", "--progress", "none", "--log", log,
            "--save", self.folder / "unused.safetensors", "--dump-gradients", gradients, *(["--target", "sim"] if target == "sim" else []))
        found = {name: values_of(*entry) for name, entry in tensors.read(gradients).items()}
        return {**found, "loss": [json.loads(log.read_text())["loss"]]}

    def check(self, target):
        whole = self.measure(target, SIZES[0])
        self.check_slopes(target, whole)
        for size in SIZES[1:]:
            self.check_cut(target, size, self.measure(target, size), whole)

    def check_slopes(self, target, found):
        # What is far below the loss is below the digits of a difference of losses (1e-5 apart: 1e-10 of f64), and of f32 where the
        # exact sum is 0.
        least = (1e-4 if target == "reference" else 1e-3) * max(1, abs(self.expected["loss"]))
        for name, expected in self.expected.items():
            got = found[name][0] if name == "loss" else sum(g * math.cos(i + 1) for i, g in enumerate(found[name]))
            scale = max(abs(expected), *map(abs, found[name]), least)
            if not abs(got - expected) <= FAR[target] * scale:
                raise Wrong(f"{name} on {target}: {got!r}, expected {expected!r}")

    def check_cut(self, target, size, found, whole):
        for name, expected in whole.items():
            scale = max(1e-2, *map(abs, expected))
            if not all(abs(a - b) <= CUT[target] * scale for a, b in zip(found[name], expected)):
                raise Wrong(f"{name} on {target} in micro-batches of {size}: {found[name]}, expected {expected}")


def values_of(dtype, shape, raw):
    return struct.unpack(f"<{math.prod(shape)}{'d' if dtype == 'F64' else 'f'}", raw)


def wrong_terms(cases, target, options):
    """How many there are; each is printed with what is wrong."""
    try:
        Model(cases, options.folder / f"of-{len(cases)}", options.slopes).check(target)
        return 0
    except Wrong as wrong:
        if len(cases) == 1:
            print(f"{cases[0][0].name}.{cases[0][1]}: {wrong}\n", flush=True)
            return 1
        half = len(cases) // 2
        found = wrong_terms(cases[:half], target, options) + wrong_terms(cases[half:], target, options)
        if not found:
            print(f"{len(cases)} terms, only together: {wrong}\n", flush=True)
        return found or 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--slopes", required=True, help="the tool loss-slopes")
    parser.add_argument("--family", choices=operators.FAMILIES, action="append")
    parser.add_argument("--targets", type=lambda text: text.split(","), default=list(TARGETS))
    parser.add_argument("--every", type=int, default=1, help="one of N terms")
    parser.add_argument("--only", default="", help="terms with this in their names")
    options = parser.parse_args()
    wrong = tried = 0
    chosen = [case for family in options.family or operators.FAMILIES for case in operators.cases(family)]
    for target in options.targets:
        cases = [case for case in chosen[::options.every] if options.only in f"{case[0].name}.{case[1]}"
                 and not case[0].name.startswith(REFUSED[target])]
        for first in range(0, len(cases), TERMS):
            wrong += wrong_terms(cases[first:first + TERMS], target, options)
        tried += len(cases)
    print(f"{tried} terms, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
