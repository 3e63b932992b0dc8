# SPDX-License-Identifier: Apache-2.0
"""opinfo.py FOLDER [NAME...]: samples of torch's operator tests as training problems (test/models/opinfo, made by
make/make-opinfo.py). Oracle: loss and gradients of PyTorch's autograd in f64 on the undivided batch, for micro-batches of one, two
and all samples; or the slug of the refusal, and why it is right to refuse."""
import json
import math
import pathlib
import struct
import subprocess
import sys

import tensors
from program import MODELS, run

SAMPLES = 5
X = struct.pack(f"<{SAMPLES}f", 0.7, 0.85, 1.0, 1.15, 1.3)


def refused(name, model, facts):
    result = subprocess.run(["accumc", "check", model], capture_output=True, text=True)
    if result.returncode not in (1, 2, 3) or f"[{facts['refused']}]" not in result.stderr:
        sys.exit(f"{name}: exit code {result.returncode}, expected [{facts['refused']}]: {result.stderr}")


def is_near(found, expected, least):
    scale = max([least, *map(abs, expected)])
    return len(found) == len(expected) and all(abs(a - b) <= 2e-6 * scale for a, b in zip(found, expected))


def check(name, size, found, facts):
    least = 1e-3 * max([abs(value) for values in facts["gradients"].values() for value in values])
    for parameter, expected in {**facts["gradients"], "loss": [facts["loss"]]}.items():
        # What the exporter left out has no gradient.
        values = found.get(parameter, [0.0] * len(expected))
        if not is_near(values, expected, least or 1e-3):
            sys.exit(f"{name}, micro-batches of {size}: `{parameter}` has {values}, expected {expected}")


def trained(name, model, facts, folder):
    artifact, log, gradients = folder / "model.accum", folder / "log.jsonl", folder / "gradients.safetensors"
    for size in (1, 2, SAMPLES):
        run("accumc", model, "-o", artifact, "--batch", SAMPLES, "--micro-batch", size, "--optimizer", "sgd", "--target", "reference",
            "--precision", "f64")
        log.unlink(missing_ok=True)
        run("accum-run", artifact, "--data", folder / "x.safetensors", "--steps", 1, "--no-shuffle", "--progress", "none", "--log", log,
            "--save", folder / "unused.safetensors", "--dump-gradients", gradients)
        found = {parameter: struct.unpack(f"<{math.prod(shape)}d", raw) for parameter, (_, shape, raw) in tensors.read(gradients).items()}
        check(name, size, {**found, "loss": [json.loads(log.read_text())["loss"]]}, facts)


def main():
    folder, models = pathlib.Path(sys.argv[1]), MODELS / "opinfo"
    tensors.write(folder / "x.safetensors", {"x": ("F32", [SAMPLES], X)})
    about = json.loads((models / "opinfo.json").read_text())
    for name in sys.argv[2:] or about:
        facts = about[name]
        if "refused" in facts:
            refused(name, models / f"{name}.onnx", facts)
        else:
            trained(name, models / f"{name}.onnx", facts, folder)
    print(f"all {len(about)} are as they should be")


if __name__ == "__main__":
    main()
