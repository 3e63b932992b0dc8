# SPDX-License-Identifier: Apache-2.0
"""A unit of a sharded state that passes through a device in pieces: one matrix of 32 MiB, where test models have kilobytes.

Usage: pieces.py FOLDER MODE:DEVICES,... MODE as in sharding.py. Oracle: the same steps on one device with its state whole; losses and
weights after two steps agree to the order of a sum in f64. Every offloaded plan has several pieces.
"""
import json
import pathlib
import re
import sys

from memory import write_wide
from program import compare, run

WIDTH, STEPS = 2048, 2
TOLERANCE = 1e-12  # as in sharding.py


def train(folder, model, mode, devices):
    """Losses, the weights' file, and the most pieces of a unit."""
    shard, _, offload = mode.partition("+")
    artifact, weights, log = (folder / f"{mode}-{devices}.{end}" for end in ("accum", "safetensors", "jsonl"))
    run("accumc", model, "--batch", 6, "--micro-batch", 3 // devices + 1, "--devices", devices, "--shard", shard, "--offload",
        offload or "none", "--target", "reference", "--precision", "f64", "-o", artifact)
    run("accum-run", artifact, "--synthetic", "--steps", STEPS, "--lr", 0.01, "--clip-norm", 1, "--log", log, "--save", weights)
    pieces = [1 + int(number) for number in re.findall(r", piece (\d+):", (artifact / "program.cpp").read_text())]
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()], weights, max(pieces, default=1)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    model = folder / "wide.onnx"
    write_wide(model, WIDTH, 1)
    losses, weights, _ = train(folder, model, "none", 1)
    for text in sys.argv[2].split(","):
        mode, devices = text.split(":")
        found, theirs, pieces = train(folder, model, mode, int(devices))
        off = compare(theirs, weights, TOLERANCE)
        if any(not abs(a - b) <= TOLERANCE * abs(b) for a, b in zip(found, losses, strict=True)):
            sys.exit(f"{text}: losses {found}, on one device {losses}")
        if "+" in mode and pieces < 2:
            sys.exit(f"{text}: a unit has {pieces} piece")
        print(f"{mode} on {devices} devices, {pieces} pieces: weights {off:.1e}", flush=True)


main()
