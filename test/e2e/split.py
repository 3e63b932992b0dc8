# SPDX-License-Identifier: Apache-2.0
"""A loss that relates samples, split where they meet, against PyTorch's values of the whole batch.

Usage: split.py MODEL FOLDER [accumc options]. MODEL is of test/models/split, without the exporter: all of its exports are compared.
In f64 on the reference for micro-batches of 1, 3, 5 and 12 of 12 samples, and in f32 on the host for 5: the loss, every gradient,
and the parameters after three steps of SGD; `--verify` of the last one; and the evaluation, whose loss is the step's.
"""
import array
import json
import pathlib
import sys

from program import MODELS, run
import tensors

SAMPLES, RATE, STEPS = 12, 0.1, 3
CUTS = [("f64", cut) for cut in (1, 3, 5, 12)] + [("f32", 5)]
TOLERANCE = {"f64": 1e-10, "f32": 2e-5}
OPTIONS = {"f64": ["--target", "reference", "--precision", "f64"], "f32": []}


def numbers(tensor):
    dtype, _, values = tensor
    return array.array("d" if dtype == "F64" else "f", bytes(values))


def compare(what, found, expected, tolerance):
    """Largest difference over the largest magnitude, of each tensor; tiny ones beside those of all."""
    most = max(abs(v) for tensor in expected.values() for v in tensor)
    if set(found) != set(expected):
        sys.exit(f"{what}: has {sorted(found)}, expected {sorted(expected)}")
    for name, values in expected.items():
        size = max(max(map(abs, values)), 1e-6 * most, 1e-30)
        worst = max(abs(a - b) for a, b in zip(found[name], values)) / size
        if len(found[name]) != len(values) or not worst <= tolerance:
            sys.exit(f"{what}: {name} differs by {worst:.1e}")


def expectations(name):
    known = tensors.read(MODELS / "split" / f"{name}.reference.safetensors")
    kinds = {kind: {key.split("/", 1)[1]: numbers(t) for key, t in known.items() if key.startswith(kind + "/")} for kind in ("grad", "sgd")}
    return numbers(known["loss"])[0], kinds["grad"], kinds["sgd"]


def trained(path):
    return {name: numbers(tensor) for name, tensor in tensors.read(path).items()}


def data_of(name, folder):
    """In f64, and in f32."""
    values = tensors.read(MODELS / "split" / f"{name}.data.safetensors")
    single = {key: ("F32", shape, array.array("f", array.array("d", bytes(raw))).tobytes()) if dtype == "F64" else (dtype, shape, raw)
              for key, (dtype, shape, raw) in values.items()}
    paths = {}
    for precision, tensor in (("f64", values), ("f32", single)):
        paths[precision] = folder / f"{precision}.safetensors"
        tensors.write(paths[precision], tensor)
    return paths


def check(model, name, folder, precision, cut, options):
    loss, gradients, parameters = expectations(name)
    data, artifact = data_of(name, folder)[precision], folder / "a.accum"
    log, found, saved = folder / "log.jsonl", folder / "gradients.safetensors", folder / "weights.safetensors"
    run("accumc", model, "--batch", SAMPLES, "--micro-batch", cut, "--optimizer", "sgd", "--on-cross-batch", "split", "-o", artifact,
        *OPTIONS[precision], *options)
    what, tolerance = f"{model.stem} in {precision}, micro-batch {cut}", TOLERANCE[precision]
    common = ["--data", data, "--no-shuffle", "--lr", RATE, "--progress", "none", "--names", "framework"]
    log.unlink(missing_ok=True)
    run("accum-run", artifact, *common, "--steps", 1, "--log", log, "--dump-gradients", found, "--eval", data, "--eval-every", 1,
        "--save", saved)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    compare(f"{what}: loss", {"loss": [lines[0]["loss"]]}, {"loss": [loss]}, tolerance)
    compare(f"{what}: gradient", trained(found), gradients, tolerance)
    run("accum-run", artifact, *common, "--steps", STEPS, "--save", saved)
    compare(f"{what}: parameters", {key: value for key, value in trained(saved).items() if key in parameters}, parameters, tolerance)
    return artifact


def main():
    name, folder, options = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    models = sorted((MODELS / "split").glob(f"{name}-*.onnx"))
    for model in models:
        for precision, cut in CUTS:
            artifact = check(model, name, folder, precision, cut, options)
        run("accum-run", artifact, "--verify")
    print(f"{len(models) * len(CUTS)} runs agree")


if __name__ == "__main__":
    main()
