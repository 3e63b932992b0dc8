# SPDX-License-Identifier: Apache-2.0
"""A loss in slices of samples changes memory and time, and results by no more than another order of their sums.

Usage: slices.py MODEL FOLDER --precision f64|f32|bf16 [--sim TARGET]. Micro-batches of 6 on 10 samples, so that the last one is ragged
(or --micro-batch M on M + 4); slices of 4 leave a shorter last slice, slices of 1 do not, pieces are parts of one sample. Each is forced by a plan that accum-plan makes for a problem
in which nothing else pays. Loss, gradients and updated parameters are those of one slice: to
1e-12 in f64, to 5e-6 in f32; in bf16 to a rounding or two, since a product adds up in another order where it has other rows, and what
lies near a half is then rounded the other way. The slices take less memory, and predicted bytes are the allocated ones.
On the host, program.cpp built by the system's compiler gives the weights of program.so, bit for bit.
"""
import argparse
import json
import re

import tensors
from artifact import CXX, build_program
from program import Model, compare, run

LIMIT = {"f64": 1e-12, "f32": 5e-6, "bf16": 5e-3}


def force(text, name):
    """The problem where whatever has a variant `name` takes a minute in every other."""
    ids = set(re.findall(rf"^variant (\d+) {name} ", text, re.M))
    if len(ids) < 3:  # logits, their cotangent, and the products of both
        raise SystemExit(f"the problem has {len(ids)} commands with a variant {name}")
    slow = " flops=60000000000000"
    lines = []
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] in ("command", "variant") and words[1] in ids and not (words[0] == "variant" and words[2] == name):
            line = re.sub(r" flops=\S+", "", line) + slow
        lines.append(line)
    return "\n".join(lines) + "\n"


def measure(model, precision, sim, m, variant):
    batch = m + 4
    target = ["--precision", precision, *["--target", "reference"] * (precision == "f64")]
    options = ["--optimizer", "sgd", *target, *(["--target", sim, "--with-sim"] if sim else [])]
    # Where slices are hardly slower on this machine, the plan of least memory would have them.
    size = ["--micro-batch", m, "--prefer", "speed"]
    if variant:
        problem, plan = model.folder / "problem.txt", model.folder / "plan.json"
        dumps = model.folder / "dumps"
        model.compile(*options, *size, "--dump-phases", dumps, batch=batch)
        problem.write_text(force((dumps / "problem.txt").read_text(), variant))
        run("accum-plan", problem, "--micro-batch", m, "--memory", "4GiB", *(["--target", sim] if sim else []), "-o", plan)
        options += ["--plan", plan]
        size = []
    artifact = model.compile(*options, *size, batch=batch)
    plan = json.loads((artifact / "plan.json").read_text())
    if set(plan["variants"].values()) != ({variant} if variant else set()):
        raise SystemExit(f"asked for {variant}, got {plan['variants']}")
    tag = variant or "whole"
    gradients, weights = model.folder / f"g-{tag}.safetensors", model.folder / f"w-{tag}.safetensors"
    simulated = ["--target", "sim"] if sim else []
    log = model.train(artifact, 1, "--lr", 0.1, "--seed", 7, *simulated, gradients=gradients, weights=weights)
    if variant and not sim:
        rebuilt = model.folder / "w-cpp.safetensors"
        build_program(artifact, [*CXX, "-Wall", "-Wextra", "-Werror"])
        model.train(artifact, 1, "--lr", 0.1, "--seed", 7, weights=rebuilt)
        if rebuilt.read_bytes() != weights.read_bytes():
            raise SystemExit(f"{variant}: program.cpp trains other weights")
    # What is zero in exact arithmetic is noise of noise, relative to nothing.
    tensors.blank(gradients, gradients, model.zero_gradient())
    return plan["scratch"], log[0]["loss"], gradients, weights


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--precision", choices=LIMIT, required=True)
    parser.add_argument("--sim", metavar="TARGET", help="the kernels for this GPU, simulated")
    parser.add_argument("--micro-batch", type=int, default=6)
    options = parser.parse_args()
    model, limit = Model(options.model, options.folder), LIMIT[options.precision]
    model.repeat_data(options.micro_batch + 4)
    how = options.precision, options.sim, options.micro_batch
    whole = measure(model, *how, None)
    for variant in ("slices4", "slices1", "pieces4"):
        scratch, loss, gradients, weights = measure(model, *how, variant)
        print(variant, scratch, whole[0], loss, whole[1])
        if abs(loss - whole[1]) > limit * abs(whole[1]):
            raise SystemExit(f"{variant}: loss {loss!r}, in one slice {whole[1]!r}")
        if scratch > whole[0]:
            raise SystemExit(f"{variant} takes {scratch} bytes, one slice {whole[0]}")
        compare(gradients, whole[2], limit)
        compare(weights, whole[3], limit)


if __name__ == "__main__":
    main()
