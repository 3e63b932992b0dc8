# SPDX-License-Identifier: Apache-2.0
"""The plan's memory is a promise: the kernel's own counter of a run stays below it, and not far.

Usage: memory.py FOLDER. Trains examples/gpt2-tiny.onnx with small and large micro-batches.
"""
import argparse
import json
import pathlib

from program import check_arena, run

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples"


def predicted(artifact):
    """Bytes per process above the start, as the plan says: everything but what was gone before."""
    plan = json.loads((artifact / "plan.json").read_text())
    return sum(line["bytes"] for line in plan["memory"] if line["kind"] != "context")


def measured(artifact, folder):
    log = folder / "log.jsonl"
    run("accum-run", artifact, "--data", EXAMPLES / "tokens.safetensors", "--steps", 2, "--progress", "none",
        "--log", log, "--save", folder / "weights.safetensors")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    check_arena(artifact, lines)
    return max(line["peak_bytes"] for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True)
    for size in (16, 100, 512):
        artifact = folder / f"{size}.accum"
        run("accumc", EXAMPLES / "gpt2-tiny.onnx", "--batch", 512, "--micro-batch", size, "-o", artifact)
        promise, real = predicted(artifact), measured(artifact, folder)
        print(f"micro-batch {size}: predicted {promise}, measured {real}")
        if not real <= promise <= 1.05 * real + (64 << 20):
            raise SystemExit("the prediction does not hold")


if __name__ == "__main__":
    main()
