# SPDX-License-Identifier: Apache-2.0
"""One model against PyTorch's full-batch values: loss, every gradient, parameters after three SGD and AdamW steps.

Usage: reference.py MODEL FOLDER [--micro-batch M] [--sim TARGET [--driver BUILD]] [accumc options]. The batch of 7 is cut into
micro-batches, the last one ragged. With --sim the kernels are a GPU's, executed and checked by the simulator; with --driver the
runtime takes them for a real card's, whose driver is BUILD's fake one. Tolerances are relative (largest difference over largest
magnitude, per tensor).
"""
import argparse

import tensors
from fake_gpu import FakeGpu
from program import Model, compare


def check_loss(model, log):
    expected, loss = model.reference("loss"), log[0]["loss"]
    if not abs(loss - expected) <= 1e-5 * abs(expected):
        raise SystemExit(f"loss is {loss!r}, expected {expected!r}")


def check_targets(model, log):
    """The log counts every predicted token, padding too: all but the first of each sample."""
    if model.about["loss"] != "next-token":
        return
    length = model.about["inputs"][0]["shape"][1]
    expected, targets = model.about["samples"] * (length - 1), log[0]["targets"]
    if targets != expected:
        raise SystemExit(f"{targets} targets, expected {expected}")


def check(model, options, device):
    ranges = model.zero_gradient()
    weights, gradients = model.folder / "weights.safetensors", model.folder / "gradients.safetensors"

    def against(kind, file, tolerance):
        mine, theirs = model.folder / f"mine-{kind}.safetensors", model.folder / f"theirs-{kind}.safetensors"
        tensors.blank(file, mine, ranges)
        tensors.blank(model.reference(kind), theirs, ranges)
        compare(mine, theirs, tolerance)

    artifact = model.compile("--optimizer", "sgd", *options)
    log = model.train(artifact, 1, *device, "--lr", 0.1, gradients=gradients)
    check_loss(model, log)
    check_targets(model, log)
    against("grad", gradients, 1e-4)
    model.train(artifact, 3, *device, "--lr", 0.1, weights=weights)
    against("sgd3", weights, 1e-4)
    artifact = model.compile("--optimizer", "adamw", *options)
    model.train(artifact, 3, *device, "--lr", 1e-3, weights=weights)
    against("adamw3", weights, 1e-4)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--micro-batch", default="3")
    parser.add_argument("--sim", metavar="TARGET", help="compile for this GPU and simulate it")
    parser.add_argument("--driver", metavar="BUILD", help="and train on the fake driver of this build folder")
    known, options = parser.parse_known_args()
    model, device = Model(known.model, known.folder), []
    if known.sim:
        options += ["--target", known.sim, "--with-sim"]
        device = ["--target", "sim"]
    if known.driver:
        device = []
        model.gpu = FakeGpu(known.driver, known.folder)
    check(model, ["--micro-batch", known.micro_batch, *options], device)


if __name__ == "__main__":
    main()
