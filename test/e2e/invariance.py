# SPDX-License-Identifier: Apache-2.0
"""The central invariant: loss, gradients and updated parameters do not depend on how the batch is cut.

Usage: invariance.py MODEL FOLDER --precision f64|f32 --cuts M:D,M:D,... Every cut is compared with one undivided batch.
"""
import argparse

import tensors
from program import Model, compare

# f64 is where a bug differs from noise.
TOLERANCE = {"f64": 1e-12, "f32": 5e-6}


def measure(model, precision, size, devices, batch):
    tag = f"{size}-{devices}"
    target = ["--target", "reference", "--precision", "f64"] if precision == "f64" else []
    artifact = model.compile("--optimizer", "sgd", "--micro-batch", size, "--devices", devices, *target, batch=batch)
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
    parser.add_argument("--cuts", required=True, help="micro-batch:devices, separated by commas")
    parser.add_argument("--batch", type=int, default=7)
    options = parser.parse_args()
    model, tolerance = Model(options.model, options.folder), TOLERANCE[options.precision]
    whole = measure(model, options.precision, options.batch, 1, options.batch)
    for cut in options.cuts.split(","):
        size, devices = cut.split(":")
        loss, gradients, weights = measure(model, options.precision, size, devices, options.batch)
        if not abs(loss - whole[0]) <= tolerance * abs(whole[0]):
            raise SystemExit(f"micro-batch {size} on {devices} devices: loss {loss!r}, undivided {whole[0]!r}")
        compare(gradients, whole[1], tolerance)
        compare(weights, whole[2], tolerance)


if __name__ == "__main__":
    main()
