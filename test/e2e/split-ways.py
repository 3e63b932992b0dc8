# SPDX-License-Identifier: Apache-2.0
"""A batch that is split, in other precisions, with parameters elsewhere, on devices that share the state, and on simulated GPU kernels,
against the same step in f32 on the host, which split.py holds against PyTorch.

Usage: split-ways.py FOLDER [--tiles] MODEL... of test/models/split. Loss and gradients of a step on 12 synthetic samples; with --tiles
on 530, whose pairs are in tiles of rows.
"""
import array
import json
import pathlib
import sys

from program import MODELS, run
from split import KEPT as KEPT_TEXT, compare
import tensors

GPU = ["--target", "h100", "--with-sim"]
FEW = [("bf16", 0.05, ["--precision", "bf16"]), ("GPU", 1e-5, GPU), ("tf32", 5e-3, [*GPU, "--precision", "tf32"])]
# The forward pass of the first micro-step is kept, of 5 of 12 samples or of all of them.
KEPT = [("bf16, kept", 0.05, ["--precision", "bf16", "--prefer", "speed"]),
        ("bf16 at once on two", 0.05, ["--precision", "bf16", "--devices", 2, "--prefer", "speed", "--micro-batch", "none"]),
        ("kept, parameters elsewhere, sharded", 1e-5, ["--offload", "parameters", "--devices", 2, "--shard", "zero3", "--prefer", "speed", "--micro-batch", "none"]),
        ("kept on GPUs, sharded", 1e-5, [*GPU, "--devices", 2, "--shard", "zero2", "--prefer", "speed", "--micro-batch", 3])]
WAYS = FEW + KEPT + [("bf16 on two", 0.05, ["--precision", "bf16", "--devices", 2]), ("bf16 on a GPU", 0.05, [*GPU, "--precision", "bf16"]),
              ("optimizer elsewhere", 0, ["--offload", "optimizer"]), ("parameters elsewhere", 0, ["--offload", "parameters"]),
              ("parameters elsewhere, sharded", 1e-5, ["--offload", "parameters", "--devices", 2, "--shard", "zero3"]),
              ("two GPUs, sharded", 1e-5, [*GPU, "--devices", 2, "--shard", "zero3"])]


def step(model, folder, samples, options):
    artifact, log, gradients = folder / "way.accum", folder / "log.jsonl", folder / "gradients.safetensors"
    size = [] if "--micro-batch" in options else ["--micro-batch", 5 if samples < 100 else 100]
    said = run("accumc", model, "--batch", samples, *size, "--on-cross-batch", "split", "-o", artifact, *options).stdout
    if "--prefer" in options and KEPT_TEXT not in said:
        sys.exit(f"{model.name} with {options}: no forward pass is kept:\n{said}")
    log.unlink(missing_ok=True)
    run("accum-run", artifact, "--synthetic", "--steps", 1, "--no-shuffle", "--lr", 0.01, "--progress", "none", "--log", log,
        "--dump-gradients", gradients, "--save", folder / "weights.safetensors", *(["--target", "sim"] if "--with-sim" in options else []))
    values = {name: array.array("f", bytes(raw)) for name, (_, _, raw) in tensors.read(gradients).items()}
    return {"loss": [json.loads(log.read_text().splitlines()[0])["loss"]], **values}


def main():
    folder, models = pathlib.Path(sys.argv[1]), [name for name in sys.argv[2:] if name != "--tiles"]
    folder.mkdir(parents=True, exist_ok=True)
    samples, ways = (530, FEW) if "--tiles" in sys.argv else (12, WAYS)
    for name in models:
        model = MODELS / "split" / f"{name}-dynamo.onnx"
        expected = step(model, folder, samples, [])
        for way, tolerance, options in ways:
            compare(f"{name}, {way}", step(model, folder, samples, options), expected, tolerance, 0.1)
        print(f"{name}: {len(ways)} ways agree")


if __name__ == "__main__":
    main()
