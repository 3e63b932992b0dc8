#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gpt3-table.py [SIZE...]: the table of micro-batch sizes for GPT-3, sequence 2048, a global batch of 512 on 8 devices, from graphs
without weights: `m x K, GiB per device`, or what the smallest plan needs."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

MAKE = pathlib.Path(__file__).resolve().parents[2] / "models" / "make-gpt3.py"
SIZES = ["1.3B", "2.7B", "6.7B", "13B", "20B", "30B", "39B", "65B", "82B", "175B"]
TARGETS = ["h100"]
FLAGS = ["--batch", "512", "--devices", "8", "--plan-only", "--json"]
HEAD = ["| model | " + " | ".join(TARGETS) + " |", "|---" * (len(TARGETS) + 1) + "|"]


def cell(fused, target):
    """`m x K, arena GiB`, or what the smallest plan takes where none fits."""
    run = subprocess.run(["accumc", fused, "--target", target, *FLAGS], capture_output=True, text=True)
    if run.returncode not in (0, 1):
        sys.exit(f"gpt3-table: {target}: {run.stderr}")
    search = json.loads(run.stdout)["search"]
    if search["reason"] == "does-not-fit":
        return f"needs {search['smallest']['counted_bytes'] / 2**30:,.0f} GiB"
    plan = search["plan"]
    again = f", {len(plan['recompute'])} recomputed" if plan["recompute"] else ""
    return f"**{plan['micro_batch']}** x {plan['steps']}, {plan['counted_bytes'] / 2**30:.1f} GiB{again}"


def row(size):
    """Imported and fused once; every target plans from that dump."""
    with tempfile.TemporaryDirectory() as folder:
        model, fused = pathlib.Path(folder) / "gpt3.onnx", pathlib.Path(folder) / "model.4.fuse.mlir"
        subprocess.run([sys.executable, MAKE, size, "-o", model], check=True, capture_output=True)
        subprocess.run(["accumc", model, "--dump-phases", folder, "--to", "fuse"], check=True, capture_output=True)
        return f"| {size} | " + " | ".join(cell(fused, target) for target in TARGETS) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", default=SIZES)
    options = parser.parse_args()
    print("\n".join(HEAD + [row(size) for size in options.sizes]))


if __name__ == "__main__":
    main()
