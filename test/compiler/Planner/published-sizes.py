#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""published-sizes.py [--check PAGE] [MODEL...]: the table of micro-batch sizes for GPT-3 and T5 in bf16, from graphs without
weights; or whether the rows of a page say the same.

A cell is `m x K, GiB per device` of the plan for 8 devices with whole copies of the state. Where none fits: in brackets what the
least of them needs, and the plan with the state spread over the fewest devices, a power of two, on which one fits.
"""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"
GPT3 = ["1.3B", "2.7B", "6.7B", "13B", "20B", "30B", "39B", "65B", "82B", "175B"]
# Model: its maker, its size, and the global batch in sequences.
ROWS = {**{f"GPT-3 {size}": ("make-gpt3.py", size, 512) for size in GPT3},
        **{f"T5 {size}": ("make-t5.py", size, 2048) for size in ("3B", "11B")}}
MEMORY = {"a100-80g": 80, "h100": 80, "h200": 140, "b200": 180}  # GiB, rounded up
TARGETS = list(MEMORY)
DEVICES, MOST_DEVICES = 8, 512
HEAD = ["| model | " + " | ".join(TARGETS) + " |", "|---" * (len(TARGETS) + 1) + "|"]


def planned(fused, target, batch, devices, *flags):
    """(the plan in words, 0), or (None, GiB that the smallest plan needs)."""
    command = ["accumc", fused, "--target", target, "--batch", str(batch), "--devices", str(devices), "--plan-only", *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    needs = re.search(r"the smallest, \d+, needs ([\d.]+) GiB", run.stderr)
    if needs:
        return None, float(needs[1])
    plan = re.search(r"^plan +micro-batch (\d+) x (\d+) accumulation steps?, (?:recompute (\d+)|no recompute).*, (zero\d|not)", run.stdout,
                     re.MULTILINE)
    arena = re.search(r"^ +arena +([\d.]+)", run.stdout, re.MULTILINE)
    if run.returncode or not plan or not arena:
        sys.exit(f"published-sizes: {target}: {run.stdout}{run.stderr}")
    shard = f", {plan[4]} over {devices}" if plan[4] != "not" else ""
    again = f", {plan[3]} recomputed" if plan[3] else ""
    return f"**{plan[1]}** x {plan[2]}, {float(arena[1]):.1f} GiB{again}{shard}", 0


def cell(fused, target, batch):
    words, needs = planned(fused, target, batch, DEVICES)
    if words:
        return words
    devices, memory = DEVICES, MEMORY[target]
    while devices <= MOST_DEVICES:
        # However it is spread, a device holds its part of everything.
        words = planned(fused, target, batch, devices, "--shard", "auto")[0] if needs / devices < memory else None
        if words:
            return f"({needs:,.0f} GiB) {words}"
        devices *= 2
    return f"({needs:,.0f} GiB)"


def row(name):
    """Imported and fused once; every target plans from that dump."""
    maker, size, batch = ROWS[name]
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.onnx"
        subprocess.run([sys.executable, MODELS / maker, size, "-o", model], check=True, capture_output=True)
        fused = pathlib.Path(folder) / "model.4.fuse.mlir"
        subprocess.run(["accumc", model, "--target", TARGETS[0], "--precision", "bf16", "--batch", str(batch), "--dump-phases", folder,
                        "--to", "fuse"], check=True, capture_output=True)
        return f"| {name} | " + " | ".join(cell(fused, target, batch) for target in TARGETS) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("models", nargs="*", default=ROWS)
    options = parser.parse_args()
    if not options.check:
        for line in itertools.chain(HEAD, map(row, options.models)):
            print(line, flush=True)
        return
    page = options.check.read_text().splitlines()
    missing = [line for line in HEAD + [row(size) for size in options.models] if line not in page]
    if missing:
        print("\n".join([f"{options.check} lacks:", *missing]))
        sys.exit(1)
    print(f"{len(options.models)} rows are as {options.check.name} says")


if __name__ == "__main__":
    main()
