# SPDX-License-Identifier: Apache-2.0
"""Values of pairs of samples in tiles of rows, against the same step of the undivided batch, which has them whole.

Usage: split-tiles.py FOLDER MODEL[:DEVICES]... MODEL is of test/models/split. In f64 on the reference, on 1,100 synthetic samples: four
tiles of 256 rows and one of 76. The loss and every gradient; that tiles were made shows in its bytes.
"""
import array
import json
import pathlib
import sys

from program import MODELS, run
import tensors

SAMPLES, CUT, TOLERANCE = 1100, 360, 1e-10


def step(model, folder, name, *options):
    """Loss, gradients, and the bytes of a step's scratch."""
    artifact, log, gradients = folder / f"{name}.accum", folder / f"{name}.jsonl", folder / f"{name}.safetensors"
    log.unlink(missing_ok=True)
    run("accumc", model, "--batch", SAMPLES, "--target", "reference", "--precision", "f64", "--optimizer", "sgd", "-o", artifact, *options)
    run("accum-run", artifact, "--synthetic", "--steps", 1, "--no-shuffle", "--progress", "none", "--log", log, "--dump-gradients", gradients,
        "--save", folder / "weights.safetensors")
    values = {key: array.array("d", bytes(raw)) for key, (_, _, raw) in tensors.read(gradients).items()}
    values["loss"] = [json.loads(log.read_text().splitlines()[0])["loss"]]
    return values, json.loads((artifact / "plan.json").read_text())["scratch"]


def check(name, devices, folder):
    model = MODELS / "split" / f"{name}-dynamo.onnx"
    expected, pairs = step(model, folder, "whole", "--on-cross-batch", "disable")
    found, scratch = step(model, folder, "tiles", "--on-cross-batch", "split", "--micro-batch", CUT, "--devices", devices)
    if scratch > pairs / 2:
        sys.exit(f"{name}: a step takes {scratch} bytes, with whole pairs {pairs}")
    most = max(abs(v) for values in expected.values() for v in values)
    if found.keys() != expected.keys():
        sys.exit(f"{name}: has {sorted(found)}, expected {sorted(expected)}")
    for key, values in expected.items():
        size = max(max(map(abs, values)), 1e-3 * most)
        worst = max(abs(a - b) for a, b in zip(values, found[key], strict=True)) / size
        if not worst <= TOLERANCE:
            sys.exit(f"{name} on {devices} devices: {key} differs by {worst:.1e}")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for case in sys.argv[2:]:
        name, _, devices = case.partition(":")
        check(name, int(devices or 1), folder)
        print(f"{case} agrees")


if __name__ == "__main__":
    main()
