#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpt3-table.py [--check PAGE] [SIZE...]: the table of micro-batch sizes for GPT-3 at a sequence of 2048, from graphs without
weights; or whether the rows of a page say the same.

A cell is `m x K, GiB per device` of the plan for 8 devices with whole copies of the state. Where none fits: what the least of
them needs, and behind it the plan with the state spread over the fewest devices, a power of two, on which one fits.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

MAKE = pathlib.Path(__file__).resolve().parents[2] / "models" / "make-gpt3.py"
SIZES = ["1.3B", "2.7B", "6.7B", "13B", "20B", "30B", "39B", "65B", "82B", "175B"]
TARGETS = ["a100-80g", "h100", "h200", "b200"]
DEVICES, MOST_DEVICES, BATCH = 8, 512, 512
HEAD = ["| model | " + " | ".join(TARGETS) + " |", "|---" * (len(TARGETS) + 1) + "|"]


def search(fused, target, devices, *flags):
    command = ["accumc", fused, "--target", target, "--batch", str(BATCH), "--devices", str(devices), "--plan-only", "--json", *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"gpt3-table: {target}: {run.stderr}")
    return json.loads(run.stdout)["search"]


def words(plan):
    again = f", {len(plan['recompute'])} recomputed" if plan["recompute"] else ""
    return f"**{plan['micro_batch']}** x {plan['steps']}, {plan['counted_bytes'] / 2**30:.1f} GiB{again}"


def cell(fused, target):
    whole = search(fused, target, DEVICES)
    if whole["reason"] != "does-not-fit":
        return words(whole["plan"])
    needs = f"{whole['smallest']['counted_bytes'] / 2**30:,.0f} GiB"
    devices = DEVICES
    while devices <= MOST_DEVICES:
        spread = search(fused, target, devices, "--shard", "auto")
        if spread["reason"] != "does-not-fit":
            return f"{needs}; {spread['plan']['shard']} over {devices}: {words(spread['plan'])}"
        devices *= 2
    return f"{needs}; nor spread over {MOST_DEVICES}"


def row(size):
    """Imported and fused once; every target plans from that dump."""
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "gpt3.onnx"
        subprocess.run([sys.executable, MAKE, size, "-o", model], check=True, capture_output=True)
        fused = pathlib.Path(folder) / "model.4.fuse.mlir"
        subprocess.run(["accumc", model, "--target", TARGETS[0], "--precision", "bf16", "--batch", str(BATCH), "--dump-phases", folder,
                        "--to", "fuse"], check=True, capture_output=True)
        return f"| {size} | " + " | ".join(cell(fused, target) for target in TARGETS) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("sizes", nargs="*", default=SIZES)
    options = parser.parse_args()
    if not options.check:
        print("\n".join(HEAD + [row(size) for size in options.sizes]))
        return
    page = options.check.read_text().splitlines()
    missing = [line for line in HEAD + [row(size) for size in options.sizes] if line not in page]
    if missing:
        print("\n".join([f"{options.check} lacks:", *missing]))
        sys.exit(1)
    print(f"{len(options.sizes)} rows are as {options.check.name} says")


if __name__ == "__main__":
    main()
