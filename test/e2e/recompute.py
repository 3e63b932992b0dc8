# SPDX-License-Identifier: Apache-2.0
"""Recomputing activations changes memory and time, not one bit of the result.

Usage: recompute.py MODEL FOLDER --precision f64|f32|bf16. Loss, gradients and updated parameters with everything kept are
those with all that helps recomputed, and with what a tighter budget needs. A plan may also cut the loss into slices, which
adds a weight's gradient up in another order: then they agree to 1e-12 in f64, to 5e-6 in f32, to a rounding or two in bf16.
"""
import argparse
import json

import tensors
from program import Model, run


SLICED = {"f64": 1e-12, "f32": 5e-6, "bf16": 5e-3}


def measure(model, precision, tag, *options):
    target = ["--precision", precision] + (["--target", "reference"] if precision == "f64" else [])
    artifact = model.compile("--optimizer", "sgd", "--micro-batch", 3, *target, *options, batch=7)
    gradients, weights = model.folder / f"g-{tag}.safetensors", model.folder / f"w-{tag}.safetensors"
    log = model.train(artifact, 1, "--lr", 0.1, "--seed", 7, gradients=gradients, weights=weights)
    return json.loads((artifact / "plan.json").read_text()), log[0]["loss"], gradients, weights


def bytes_of(plan):
    return sum(line["bytes"] for line in plan["memory"] if line["kind"] != "context")


def without_noise(model, gradients):
    """Of what is zero in exact arithmetic, roundings are all there is."""
    blanked = gradients.with_suffix(".blanked.safetensors")
    tensors.blank(gradients, blanked, model.zero_gradient())
    return blanked


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--precision", choices=("f64", "f32", "bf16"), required=True)
    options = parser.parse_args()
    model = Model(options.model, options.folder)
    whole = measure(model, options.precision, "none", "--recompute", "none")
    least = measure(model, options.precision, "all", "--recompute", "all")
    if whole[0]["recompute"] or not least[0]["recompute"] or least[0]["scratch"] >= whole[0]["scratch"]:
        raise SystemExit("--recompute all does not help, or none recomputes")
    budget = (bytes_of(whole[0]) + bytes_of(least[0])) // 2
    half = measure(model, options.precision, "half", "--memory", f"{budget}B")
    if not half[0]["recompute"] or bytes_of(half[0]) > budget:
        raise SystemExit("the budget is not kept by recomputing")
    print([(len(plan["recompute"]), plan["scratch"]) for plan, *_ in (whole, half, least)])
    for other in (least, half):
        if other[1] != whole[1]:
            raise SystemExit(f"loss {other[1]!r}, without recomputation {whole[1]!r}")
        same = other[0]["variants"] == whole[0]["variants"]
        pairs = [(other[2], whole[2]), (other[3], whole[3])]
        if not same:
            pairs[0] = tuple(without_noise(model, gradients) for gradients in pairs[0])
        for a, b in pairs:
            run("accum-diff", a, b, "--tolerance", 0 if same else SLICED[options.precision])


if __name__ == "__main__":
    main()
