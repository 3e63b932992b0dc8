# SPDX-License-Identifier: Apache-2.0
"""The plan's memory is a promise: the kernel's own counter of a run stays below it, and not far.

Usage: memory.py FOLDER. Trains examples/gpt2-tiny.onnx with small and large micro-batches, and with recomputation.
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
    peaks = {}
    for size, recompute in ((16, "none"), (100, "none"), (512, "none"), (512, "all")):
        artifact = folder / f"{size}-{recompute}.accum"
        run("accumc", EXAMPLES / "gpt2-tiny.onnx", "--batch", 512, "--micro-batch", size, "--recompute", recompute,
            "-o", artifact)
        promise, real = predicted(artifact), measured(artifact, folder)
        peaks[size, recompute] = promise, real
        print(f"micro-batch {size}, recompute {recompute}: predicted {promise}, measured {real}")
        if not real <= promise <= 1.05 * real + (64 << 20):
            raise SystemExit("the prediction does not hold")
    promised, saved = (peaks[512, "none"][index] - peaks[512, "all"][index] for index in (0, 1))
    if not saved >= 0.8 * promised > 0:
        raise SystemExit(f"recomputation saves {saved} bytes, {promised} were promised")


if __name__ == "__main__":
    main()
