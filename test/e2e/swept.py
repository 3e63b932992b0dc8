# SPDX-License-Identifier: Apache-2.0
"""swept.py FOLDER [EXPORT...]: functions and losses over values from 1e-38 to beyond the range of exp (test/models/swept, made by
make/make-swept.py), by both exporters, and by dynamo's with its optimiser. Oracle: PyTorch's values and derivatives in f64, stored;
what PyTorch in f32 has finitely is right to 1e-5, on the host, on reference and in micro-batches. Values in bf16 are finite. `--worst` prints
where it is most off.

The functions of CANCELS lose digits in f32 whoever computes them: they may be off by DRAWS times what PyTorch in f32 is off by itself."""
import json
import math
import pathlib
import struct
import sys

import tensors
from program import MODELS, run

SAMPLES = 2
RELATIVE = 1e-5
SMALLEST = 2e-38  # what f32 has without losing digits
SATURATED, CANCELLED = 10, 1e-15  # from here on, PyTorch in f64 is off by this: it has 1 - sigmoid(40) as 0
EXACT = ["erfc", "erfcx", "ndtr", "log_ndtr", "log_erfc", "log_erfc_eighth"]  # whose tails the oracle has
FACTS = {"optimised": "dynamo"}  # the file that has them
# Not in the optimised file, see make-swept.py.
NOT_OPTIMISED = ["bce-written-out", "quotient-of-exp", "gaussian-variance", "poisson-rate", "cosine-embedding", "cosine-embedding-apart"]
DRAWS = 4
CANCELS = {
    "acosh": "of 1 + |x|, which is rounded", "log-mean-exp": "the mean of exp(x) is rounded near one", "log-normal": "1 + erf(x) is rounded near one",
    "gelu": "1 + erf(x) cancels", "gelu-tanh": "1 + tanh(x) cancels", "sinc": "pi * x is rounded before its sine",
    "gaussian": "a sum near zero", "gaussian-log-variance": "1 - c / exp(x) near zero", "cosine-embedding-apart": "a cosine less its margin",
    "triplet": "a difference of two distances", "softmax": "1 - p of a p near one", "entropy": "log(p) of a p near one",
    "atan2-of-both": "its derivative is a difference of two", "root-quotient": "its derivative is a difference of two",
    "clamped-log": "1 - 1e-6 is no number of f32", "logit-eps": "1 - 1e-6 is no number of f32", "where-log": "nor is 1e-30, the bound and the place",
    "norm": "squares of 1e-30 are none of f32", "norm-3": "nor are cubes of 1e-20",
}

# A vector shorter than the end of its norm, 1e-8: PyTorch's gradient passes this end, and exporters write a Clip, or end the product
# of both norms.
LEFT_OUT = {"cosine": lambda at: max(map(abs, at)) < 1e-7, "triplet_cosine": lambda at: max(map(abs, at)) < 1e-7,
            "bce": lambda at: at == 36}  # where f64 has one digit of 1 - sigmoid(36)


def read(path):
    kinds = {"F32": "f", "F64": "d"}
    return {name: struct.unpack(f"<{math.prod(shape)}{kinds[kind]}", raw) for name, (kind, shape, raw) in tensors.read(path).items()}


def gradients(model, folder, options):
    artifact, found = folder / "swept.accum", folder / "gradients.safetensors"
    run("accumc", model, "-o", artifact, "--batch", SAMPLES, "--optimizer", "sgd", *options)
    run("accum-run", artifact, "--data", folder / "x.safetensors", "--steps", 1, "--no-shuffle", "--progress", "none", "--save", folder / "unused.safetensors",
        "--dump-gradients", found)
    return read(found)


def floor(name, at):
    """What a value may be off by however small it is."""
    largest = max(map(abs, at if isinstance(at, list) else [at]))
    return CANCELLED if largest >= SATURATED and name not in EXACT else SMALLEST


def off(found, expected, allowed):
    """How far beyond what is allowed: at most 1 is right. A NaN is infinitely far."""
    distance = abs(found - expected)
    return distance / allowed if math.isfinite(distance) else math.inf


def places(name, facts, found):
    """Of each place of a function: what is off, whether value or derivative, where, what was found and what expected. The first
    place, or row, tells equal tensors apart and has no values."""
    key, scale, width = facts["key"][2:], facts["scale"], len(facts["slope"]) // len(facts["at"])
    values = found[f"s_f_{key}"][1:]
    slopes = [v / scale for v in found.get(f"w_f_{key}", [0.0] * (len(facts["slope"]) + width))[width:]]  # floor has none
    for kind, has, which in (("value", values, "value"), ("derivative", slopes, "slope")):
        for place, (a, b, own) in enumerate(zip(has, facts[which], facts[f"{which} off"])):
            first = place if kind == "value" else place // width * width
            size = max(map(abs, facts[which][first:first + (1 if kind == "value" else width)]))  # of a row, its largest
            at = facts["at"][place if kind == "value" else place // width]
            if not LEFT_OUT.get(key, lambda at: False)(at):
                bound = RELATIVE * size
                draws = DRAWS * own if name in CANCELS else 0
                yield off(a, b, max(bound, draws, floor(key, at))), kind, at, a, b, own / size if size else 0.0


def check(export, options, about, found, worst):
    failed = []
    for name, facts in about.items():
        distance, kind, at, a, b, own = max(places(name, facts, found), key=lambda place: place[0])
        worst.append((distance, f"{export} {' '.join(options)}: {kind} of {name} at {at} is {a}, expected {b}; PyTorch in f32 is off by {own:.1g}"))
        if distance > 1:
            failed.append(worst[-1])
    return failed


def main():
    folder = pathlib.Path(sys.argv[1])
    tensors.write(folder / "x.safetensors", {"x": ("F32", [SAMPLES], struct.pack(f"<{SAMPLES}f", *[1.0] * SAMPLES))})
    failed, worst = [], []
    exports = [name for name in sys.argv[2:] if name[0] != "-"] or ["dynamo", "optimised", "torchscript"]
    for export in exports:
        model = MODELS / "swept" / f"{export}.onnx"
        about = json.loads((MODELS / "swept" / f"{FACTS.get(export, export)}.json").read_text())
        about = {name: facts for name, facts in about.items() if export != "optimised" or name not in NOT_OPTIMISED}
        for options in (["--micro-batch", "2"], ["--micro-batch", "1", "--target", "reference"]):
            failed += check(export, options, about, gradients(model, folder, options), worst)
        for name, values in gradients(model, folder, ["--precision", "bf16"]).items():
            if not all(map(math.isfinite, values)):
                failed.append((math.inf, f"{export} in bf16: `{name}` is not finite"))
    worst.sort(reverse=True)
    for distance, what in worst[:60] if "--worst" in sys.argv else sorted(failed, reverse=True):
        print(f"{distance:.3g} of what is allowed: {what}")
    if failed:
        sys.exit(f"{len(failed)} are not as they should be")
    print(f"all {len(worst)} are as they should be, the worst at {worst[0][0]:.2g} of what is allowed")


if __name__ == "__main__":
    main()
