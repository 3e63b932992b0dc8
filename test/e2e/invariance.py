# SPDX-License-Identifier: Apache-2.0
"""The central invariant: loss, gradients and updated parameters do not depend on how the batch is cut.

Usage: invariance.py MODEL FOLDER --precision f64|f32 --cuts all|sample|M:D,M:D,... [--sim TARGET] [--batch N]. Every cut is
compared with one undivided batch on one device. `all` is every micro-batch size of SIZES on every number of devices; `sample`
draws a few of them, others every day; what fails is named, and `--cuts M:D` runs it again. With --sim the kernels are a GPU's,
in the simulator; several devices are processes with a simulator each, which sum over MPI.
"""
import argparse
import datetime
import random

import tensors
from program import Model, compare

# f64 is where a bug differs from noise.
TOLERANCE = {"f64": 1e-12, "f32": 5e-6}
BATCH = 23  # a prime: every cut into micro-batches and devices is ragged
SIZES = (1, 2, 3, 5, None)  # None: all of a device's samples
DEVICES = (1, 2, 3, 4)
SAMPLED = 3


def grid(batch):
    share = {devices: -(-batch // devices) for devices in DEVICES}
    return [(size or share[devices], devices) for devices in DEVICES for size in SIZES]


def cuts_of(text, name, batch):
    if text == "all":
        return grid(batch)
    if text == "sample":
        return random.Random(f"{datetime.date.today()} {name}").sample(grid(batch), SAMPLED)
    return [tuple(map(int, cut.split(":"))) for cut in text.split(",")]


def measure(model, options, size, devices):
    tag = f"{size}-{devices}"
    target = ["--target", "reference", "--precision", "f64"] if options.precision == "f64" else []
    target += ["--target", options.sim, "--with-sim"] if options.sim else []
    artifact = model.compile("--optimizer", "sgd", "--micro-batch", size, "--devices", devices, *target, batch=options.batch)
    gradients, weights = model.folder / f"g-{tag}.safetensors", model.folder / f"w-{tag}.safetensors"
    device = ["--target", "sim"] if options.sim else []
    log = model.train(artifact, 1, *device, "--lr", 0.1, "--seed", 7, gradients=gradients, weights=weights)
    # What is zero in exact arithmetic is noise of noise, relative to nothing.
    tensors.blank(gradients, gradients, model.zero_gradient())
    return log[0]["loss"], gradients, weights


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--precision", choices=TOLERANCE, required=True)
    parser.add_argument("--cuts", required=True, help="all, sample, or micro-batch:devices separated by commas")
    parser.add_argument("--sim", metavar="TARGET", help="compile for this GPU and simulate it")
    parser.add_argument("--batch", type=int, default=BATCH)
    options = parser.parse_args()
    model, tolerance = Model(options.model, options.folder), TOLERANCE[options.precision]
    model.repeat_data(options.batch)
    whole = measure(model, options, options.batch, 1)
    worst = {}
    for size, devices in cuts_of(options.cuts, model.name + options.precision, options.batch):
        cut = f"micro-batch {size} on {devices} devices"
        print(cut, flush=True)
        loss, gradients, weights = measure(model, options, size, devices)
        off = {"loss": abs(loss - whole[0]) / abs(whole[0])}
        if not off["loss"] <= tolerance:
            raise SystemExit(f"{cut}: loss {loss!r}, undivided {whole[0]!r}")
        off["gradients"] = compare(gradients, whole[1], tolerance)
        off["parameters"] = compare(weights, whole[2], tolerance)
        worst = {kind: max(off[kind], worst.get(kind, 0)) for kind in off}
    print("worst of", ", ".join(f"{kind} {difference:.1e}" for kind, difference in worst.items()))


if __name__ == "__main__":
    main()
