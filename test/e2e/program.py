# SPDX-License-Identifier: Apache-2.0
"""Runs accumc, accum-run and accum-diff for the end-to-end tests."""
import json
import os
import pathlib
import subprocess
import sys

import tensors

ALIGNMENT = 256
MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"


def environment():
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def run(*command, ok=(0,), settings=None):
    """Runs a command, with `settings` added to the environment; ends the test with everything that it printed where its
    exit code is none of `ok`."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**environment(), **(settings or {})})
    if result.returncode not in ok:
        sys.exit(f"{' '.join(str(part) for part in command)}\nexit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result


def about(name):
    return json.loads((MODELS / f"{name}.json").read_text())


def check_arena(artifact, log, on_gpu=False):
    """The plan's bytes are the allocated ones. Each staged input takes whole units of ALIGNMENT. A GPU has the inputs twice,
    and beside them cuBLASLt's workspace, sums for the norm, and copies of the hyper-parameters."""
    plan = json.loads((artifact / "plan.json").read_text())
    count = len(json.loads((artifact / "manifest.json").read_text())["inputs"])
    inputs = sum(line["bytes"] for line in plan["memory"] if line["kind"] == "inputs")
    planned = plan["state"] + -(-plan["scratch"] // ALIGNMENT) * ALIGNMENT + inputs
    slack = ALIGNMENT * count
    if on_gpu:
        planned += inputs + (33 << 20)
        slack += slack + (64 << 10)
    for line in log:
        if not planned <= line["arena_bytes"] < planned + slack:
            sys.exit(f"the arena has {line['arena_bytes']} bytes, planned are {planned}")


class Model:
    """A model of test/models with its data and description."""

    def __init__(self, name, folder):
        self.name = name
        self.path = MODELS / f"{name}.onnx"
        self.about = about(name)
        self.data = MODELS / f"{name}.data.safetensors"
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.gpu = None  # a FakeGpu to train on

    def repeat_data(self, samples):
        """Data of more samples than the file has: each round the ids move on, so that no two samples are equal, and
        samples without a counted label stay what the file has of them."""
        arrays = tensors.read(self.data)
        labels = tensors.rows(arrays["labels"])
        counted = [i for i, row in enumerate(labels) if any(label != -100 for label in row)]
        picks = [i if i < len(labels) else counted[i % len(counted)] for i in range(samples)]
        vocabulary = 1 + max(max(row) for row in tensors.rows(arrays["input_ids"]))
        for name, array in arrays.items():
            rows = tensors.rows(array)
            chosen = [rows[pick] for pick in picks]
            if name == "input_ids":
                chosen = [[(token + i // len(rows)) % vocabulary for token in row] for i, row in enumerate(chosen)]
            arrays[name] = tensors.from_rows(array, chosen)
        self.data = self.folder / "data.safetensors"
        tensors.write(self.data, arrays)

    def compile(self, *options, batch=None):
        """Compiles for the whole data as one batch; returns the artifact."""
        artifact = self.folder / "model.accum"
        loss = [] if self.about["loss"] == "output" else ["--loss", self.about["loss"]]
        run("accumc", self.path, "-o", artifact, "--batch", batch or self.about["samples"], *loss, *options)
        return artifact

    def train(self, artifact, steps, *options, gradients=None, weights=None):
        """Trains without shuffling; returns the log, one dictionary a step."""
        log = self.folder / "log.jsonl"
        log.unlink(missing_ok=True)
        outputs = ["--save", weights or self.folder / "unused.safetensors"]
        if gradients:
            outputs += ["--dump-gradients", gradients]
        command = ["accum-run", artifact, "--data", self.data, "--steps", steps, "--no-shuffle", "--progress", "none",
                   "--log", log, *outputs, *options]
        if self.gpu and self.gpu.ranks > 1:
            self.gpu.run(command, artifact, environment())
        else:
            run(*command, settings=self.gpu and self.gpu.settings(artifact))
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        check_arena(artifact, lines, on_gpu=self.gpu is not None)
        if self.gpu:
            self.gpu.check(len(lines))  # fewer than `steps` behind a checkpoint
        return lines

    def reference(self, kind):
        """Reference values under ONNX names, as a file; the loss as a number."""
        if kind == "loss":
            return float(run(sys.executable, MODELS / "reference-as-onnx", self.name, "loss").stdout)
        path = self.folder / f"reference-{kind}.safetensors"
        run(sys.executable, MODELS / "reference-as-onnx", self.name, kind, "-o", path)
        return path

    def zero_gradient(self):
        """ONNX name -> [begin, end, ...] of the elements whose gradient is zero in exact arithmetic: noise, and Adam's
        steps on noise. Exports with dropout have no reference values; dropout does not change which these are."""
        known = self.about if "zero_gradient" in self.about else about(f"{self.about['family']}-dynamo")
        ranges = {}
        for framework, extent in known.get("zero_gradient", {}).items():
            for copy in self.about["parameters"][framework]:
                ranges[copy["onnx"]] = extent
        return ranges


def compare(a, b, tolerance):
    """accum-diff: the worst tensor's difference relative to its largest magnitude, which stays within the tolerance."""
    table = run("accum-diff", a, b, "--tolerance", tolerance).stdout
    return float(table.split()[-1])
