# SPDX-License-Identifier: Apache-2.0
"""Derivatives of graphs whose batch cannot be cut, on the whole batch at once, in f64.

Usage: slopes.py FOLDER MODEL... A step of plain gradient descent with a tiny rate lr changes the loss by -lr * |g|^2: the loss of
the next step on the same samples says whether the gradient g is right. A graph that the compiler refuses in this mode too must
say so in one sentence; its name and the reason are printed.
"""
import json
import pathlib
import struct
import sys

import tensors
from program import run

BATCH, TOLERANCE = 6, 1e-4


def values(path):
    return [x for _, shape, data in tensors.read(path).values()
            for x in struct.unpack(f"<{len(data) // 8}d", bytes(data))]


def losses(artifact, folder, rate, steps):
    log, gradients = folder / "log.jsonl", folder / "gradients.safetensors"
    log.unlink(missing_ok=True)
    run("accum-run", artifact, "--synthetic", "--seed", 3, "--no-shuffle", "--steps", steps, "--lr", rate, "--log", log,
        "--dump-gradients", gradients, "--save", folder / "unused.safetensors", "--progress", "none")
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()], values(gradients)


def check(model, folder):
    artifact = folder / "model.accum"
    compiled = run("accumc", model, "--batch", BATCH, "--on-cross-batch", "disable", "--optimizer", "sgd", "--target",
                   "reference", "--precision", "f64", "-o", artifact, ok=(0, 1, 3))
    name = model.stem.removesuffix("-reject")
    if compiled.returncode:
        reason = [line for line in compiled.stderr.splitlines() if line.startswith("error: ")]
        print(f"{name}: {reason[0].rpartition(' ')[2]}")
        return False
    if "no accumulation" not in compiled.stderr:
        raise SystemExit(f"{name}: compiled without a warning\n{compiled.stderr}")
    _, gradient = losses(artifact, folder, 0, 1)
    slope = sum(g * g for g in gradient)
    if slope < 1e-20:
        print(f"{name}: flat")
        return False
    rate = 1e-6 / slope ** 0.5  # moves the parameters by 1e-6 in all
    (first, second), _ = losses(artifact, folder, rate, 2)
    ratio = (first - second) / (rate * slope)
    if abs(ratio - 1) > TOLERANCE:
        raise SystemExit(f"{name}: the loss falls by {ratio} of what the gradient says")
    return True


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    models = [pathlib.Path(name) for name in sys.argv[2:]]
    print(f"{sum(check(model, folder) for model in models)} of {len(models)} slopes agree")


if __name__ == "__main__":
    main()
