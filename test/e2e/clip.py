# SPDX-License-Identifier: Apache-2.0
"""One step of SGD with --clip-norm moves every parameter by lr * min(1, X / (norm + 1e-6)) times its gradient, of the program that
accumc emits, on the host and simulated (oracle: the gradients that --dump-gradients writes, and the weights before).

Usage: clip.py MODEL FOLDER
"""
import json
import math
import pathlib
import struct
import sys

import tensors
from program import Model, run

RATE, LIMIT = 0.5, 0.25


def values(path):
    return {name: struct.unpack(f"<{len(data) // 4}f", data) for name, (kind, _, data) in tensors.read(path).items() if kind == "F32"}


def check(model, artifact, folder, *flags):
    files = {name: folder / f"{name}.safetensors" for name in ("before", "after", "gradients")}
    common = ["accum-run", artifact, *flags, "--synthetic", "--lr", RATE, "--progress", "none"]
    run(*common, "--steps", 0, "--save", files["before"])
    run(*common, "--steps", 1, "--clip-norm", LIMIT, "--save", files["after"], "--dump-gradients", files["gradients"], "--log", folder / "log")
    before, after, gradients = (values(path) for path in files.values())
    norm = json.loads((folder / "log").read_text())["gradient_norm"]
    if norm < 2 * LIMIT:
        sys.exit(f"a norm of {norm} is hardly clipped")
    factor, worst = LIMIT / (norm + 1e-6), 0
    for name, gradient in gradients.items():
        largest = max(map(abs, gradient)) * RATE * factor
        for old, new, slope in zip(before[name], after[name], gradient):
            worst = max(worst, abs(new - (old - RATE * factor * slope)) / (largest + abs(old) + 1e-30))
    print(f"{model.name} {' '.join(flags)}: norm {norm:.4f}, {len(gradients)} tensors, off by {worst:.1e}")
    if not worst < 3e-7 or not math.isfinite(norm):
        sys.exit("parameters did not move by the clipped gradient")


model, folder = Model(sys.argv[1], sys.argv[2]), pathlib.Path(sys.argv[2])
check(model, model.compile("--micro-batch", 2, "--optimizer", "sgd"), folder)
check(model, model.compile("--micro-batch", 3, "--optimizer", "sgd", "--target", "h100", "--with-sim"), folder, "--target", "sim")
