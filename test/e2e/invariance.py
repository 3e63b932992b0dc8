# SPDX-License-Identifier: Apache-2.0
"""The central invariant: loss, gradients and updated parameters do not depend on how the batch is cut.

Usage: invariance.py MODEL FOLDER --precision f64|f32 --cuts all|sample|M:D,M:D,... Every cut is compared with one
undivided batch on one device. `all` is every micro-batch size of SIZES on every number of devices; `sample` draws a few
of them, others every day; what fails is named, and `--cuts M:D` runs it again.
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


def grid():
    share = {devices: -(-BATCH // devices) for devices in DEVICES}
    return [(size or share[devices], devices) for devices in DEVICES for size in SIZES]


def cuts_of(text, name):
    if text == "all":
        return grid()
    if text == "sample":
        return random.Random(f"{datetime.date.today()} {name}").sample(grid(), SAMPLED)
    return [tuple(map(int, cut.split(":"))) for cut in text.split(",")]


def measure(model, precision, size, devices):
    tag = f"{size}-{devices}"
    target = ["--target", "reference", "--precision", "f64"] if precision == "f64" else []
    artifact = model.compile("--optimizer", "sgd", "--micro-batch", size, "--devices", devices, *target, batch=BATCH)
    gradients, weights = model.folder / f"g-{tag}.safetensors", model.folder / f"w-{tag}.safetensors"
    log = model.train(artifact, 1, "--lr", 0.1, "--seed", 7, gradients=gradients, weights=weights)
    # What is zero in exact arithmetic is noise of noise, relative to nothing.
    tensors.blank(gradients, gradients, model.zero_gradient())
    return log[0]["loss"], gradients, weights


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--precision", choices=TOLERANCE, required=True)
    parser.add_argument("--cuts", required=True, help="all, sample, or micro-batch:devices separated by commas")
    options = parser.parse_args()
    model, tolerance = Model(options.model, options.folder), TOLERANCE[options.precision]
    model.repeat_data(BATCH)
    whole = measure(model, options.precision, BATCH, 1)
    for size, devices in cuts_of(options.cuts, model.name + options.precision):
        cut = f"micro-batch {size} on {devices} devices"
        print(cut, flush=True)
        loss, gradients, weights = measure(model, options.precision, size, devices)
        if not abs(loss - whole[0]) <= tolerance * abs(whole[0]):
            raise SystemExit(f"{cut}: loss {loss!r}, undivided {whole[0]!r}")
        compare(gradients, whole[1], tolerance)
        compare(weights, whole[2], tolerance)


if __name__ == "__main__":
    main()
