# SPDX-License-Identifier: Apache-2.0
"""Runs accumc, accum-run and accum-diff for the end-to-end tests."""
import json
import os
import pathlib
import subprocess
import sys

MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"


def run(*command, ok=(0,)):
    """Runs a command; ends the test with everything that it printed where its exit code is none of `ok`."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    if result.returncode not in ok:
        sys.exit(f"{' '.join(str(part) for part in command)}\nexit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result


class Model:
    """A model of test/models with its data and description."""

    def __init__(self, name, folder):
        self.name = name
        self.path = MODELS / f"{name}.onnx"
        self.about = json.loads((MODELS / f"{name}.json").read_text())
        self.data = MODELS / f"{name}.data.safetensors"
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

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
        run("accum-run", artifact, "--data", self.data, "--steps", steps, "--no-shuffle", "--progress", "none",
            "--log", log, *outputs, *options)
        return [json.loads(line) for line in log.read_text().splitlines()]

    def reference(self, kind):
        """Reference values under ONNX names, as a file; the loss as a number."""
        if kind == "loss":
            return float(run(sys.executable, MODELS / "reference-as-onnx", self.name, "loss").stdout)
        path = self.folder / f"reference-{kind}.safetensors"
        run(sys.executable, MODELS / "reference-as-onnx", self.name, kind, "-o", path)
        return path

    def zero_gradient(self):
        """ONNX name -> [begin, end) of the elements whose gradient is zero in exact arithmetic: noise, and Adam's
        steps on noise."""
        ranges = {}
        for framework, extent in self.about.get("zero_gradient", {}).items():
            for copy in self.about["parameters"][framework]:
                ranges[copy["onnx"]] = extent
        return ranges


def compare(a, b, tolerance):
    """accum-diff: the worst tensor's difference relative to its largest magnitude stays within the tolerance."""
    run("accum-diff", a, b, "--tolerance", tolerance)
