# SPDX-License-Identifier: Apache-2.0
"""How often a plan's arena is as low as any can be (oracle: the largest load). Plans models for several budgets each.

Usage: arena.py FOLDER --cuts all|sample. `all`: every model of test/models that trains; `sample`: a few.
"""
import argparse
import json
import pathlib
import random

from program import MODELS, about, run

BUDGETS, BATCH, SAMPLED = 10, 96, 3
SHARE = 0.99  # of all plans; a sample is too small for a share, its plans are near the load
NEAR = 1.01


def models():
    names = sorted(path.name.removesuffix(".data.safetensors") for path in MODELS.glob("*.data.safetensors"))
    return [name for name in names if (MODELS / f"{name}.onnx").exists() and about(name).get("verdict") != "reject"]


def fused(name, folder):
    """Imported and fused once; every budget plans from that dump."""
    flags = ["--dim", "sequence=16"] if name.endswith("-sequence") else []
    if about(name)["loss"] != "output":
        flags += ["--loss", about(name)["loss"]]
    run("accumc", MODELS / f"{name}.onnx", *flags, "--batch", BATCH, "--dump-phases", folder, "--to", "fuse")
    (dump,) = folder.glob("*.fuse.mlir")
    return dump


def plan(dump, budget):
    return json.loads(run("accumc", dump, "--batch", BATCH, "--memory", budget, "--plan-only", "--json").stdout)["search"]


def plans(name, folder):
    """(arena, load) of the plan for each budget, from the least there is to what the fastest plan takes."""
    dump = fused(name, folder)
    most = plan(dump, "1TiB")
    low, high = most["smallest"]["counted_bytes"], most["plan"]["counted_bytes"]
    for index in range(BUDGETS):
        found = plan(dump, low + (high - low) * index // (BUDGETS - 1))["plan"]
        yield found["state_bytes"] + found["scratch_bytes"], found["state_bytes"] + found["lower_bound_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--cuts", choices=("all", "sample"), required=True)
    options = parser.parse_args()
    names = models()
    if options.cuts == "sample":
        names = random.Random("a sample").sample(names, SAMPLED)
    equal = total = 0
    worst = 1.0
    for name in names:
        folder = options.folder / name
        folder.mkdir(parents=True)
        for index, (arena, load) in enumerate(plans(name, folder)):
            total += 1
            equal += arena == load
            worst = max(worst, arena / load)
            if arena != load:
                print(f"{name}, budget {index}: {arena} bytes, {arena / load:.5f} of the load", flush=True)
    print(f"arena = largest load in {equal} of {total} plans ({100 * equal / total:.1f} %), at most {worst:.5f} of it")
    if worst > NEAR or (options.cuts == "all" and equal < SHARE * total):
        raise SystemExit("that is too few")


if __name__ == "__main__":
    main()
