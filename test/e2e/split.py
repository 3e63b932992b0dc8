# SPDX-License-Identifier: Apache-2.0
"""A loss that relates samples, split where they meet, against PyTorch's values of the whole batch.

Usage: split.py MODEL FOLDER [accumc options]. MODEL is of test/models/split, without the exporter. In f64 on the reference for
micro-batches of 1, 3, 5 and 12 of 12 samples, of TorchScript's export for 5, on several devices (`--devices D`) for 2 of dynamo's and
for all of a device's samples, and in f32 on the host for 5; where the forward pass of the first micro-step is kept (`kept`), and where
it runs twice: the loss, every gradient, and the parameters after three steps of SGD; `--verify` of the last one. Values of TorchScript's exports are those of the same file
on the whole batch at once: it rounds constants to f32. An evaluation before the first step has its loss. Where dropout draws, which no framework draws alike,
all cuts are compared with one micro-step on one device, whose forward pass runs twice.
"""
import array
import json
import pathlib
import sys

from program import MODELS, run
import tensors

SAMPLES, RATE, STEPS = 12, 0.1, 3
KEEP = ("infonce", "simcse")  # in each of their micro-batches on one device
KEPT = ", the forward pass of the first one kept"
CUTS = {"dynamo": [("f64", 1, "kept"), ("f64", 3, "twice"), ("f64", 5, "kept"), ("f64", 12, "twice"), ("f64", 12, "kept"), ("f32", 5, "any")],
        "torchscript": [("f64", 5, "any")]}
ON_DEVICES = [("f64", 2, "twice"), ("f64", "none", "kept"), ("f32", 2, "kept")]
TOLERANCE = {"f64": 1e-10, "f32": 2e-5}
OPTIONS = {"f64": ["--target", "reference", "--precision", "f64"], "f32": []}


def numbers(tensor):
    dtype, _, values = tensor
    return array.array("d" if dtype == "F64" else "f", bytes(values))


def compare(what, found, expected, tolerance, least=1e-3):
    """Largest difference over the largest magnitude, of each tensor; of rounding errors over the largest of all."""
    most = max(abs(v) for tensor in expected.values() for v in tensor)
    if set(found) != set(expected):
        sys.exit(f"{what}: has {sorted(found)}, expected {sorted(expected)}")
    for name, values in expected.items():
        size = max(max(map(abs, values)), least * most, 1e-30)
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


class Runs:
    """Of one model file."""

    def __init__(self, model, name, folder, options):
        self.model, self.folder, self.options, self.name = model, folder, options, name
        self.data = data_of(name, folder)

    def train(self, mode, precision, cut, form="any"):
        """Loss and gradients of the first step, the evaluation before it, and parameters after three steps."""
        artifact = self.folder / f"{mode}-{precision}.accum"
        log, found, saved = (self.folder / part for part in ("log.jsonl", "gradients.safetensors", "weights.safetensors"))
        preferred = {"kept": ["--prefer", "speed"], "twice": ["--prefer", "memory"], "any": []}[form]
        said = run("accumc", self.model, "--batch", SAMPLES, *preferred, "--micro-batch", cut, "--optimizer", "sgd", "--on-cross-batch", mode,
                   "-o", artifact, *OPTIONS[precision], *self.options).stdout
        # In some of these small models it costs more to keep the pass than one of many micro-steps saves.
        isOpen = form == "any" or (form == "kept" and cut not in (SAMPLES, "none") and (self.name not in KEEP or self.options))
        if not isOpen and (KEPT in said) != (form == "kept"):
            sys.exit(f"{self.model.name} at {cut}: the forward pass is not {form}:\n{said}")
        common = [artifact, "--data", self.data[precision], "--no-shuffle", "--lr", RATE, "--progress", "none", "--names", "framework"]
        log.unlink(missing_ok=True)
        run("accum-run", *common, "--steps", 1, "--log", log, "--dump-gradients", found, "--save", saved)
        loss = json.loads(log.read_text().splitlines()[0])["loss"]
        run("accum-run", *common, "--steps", STEPS, "--save", saved)
        return loss, trained(found), trained(saved)

    def evaluate(self, precision):
        """Of the artifact in micro-batches, before a step."""
        log = self.folder / "evaluation.jsonl"
        log.unlink(missing_ok=True)
        run("accum-run", self.folder / f"split-{precision}.accum", "--eval", self.data[precision], "--eval-only", "--log", log)
        return json.loads(log.read_text().splitlines()[0])["eval_loss"]


def compare_runs(what, found, expected, tolerance):
    compare(f"{what}: loss", {"loss": [found[0]]}, {"loss": [expected[0]]}, tolerance)
    compare(f"{what}: gradient", found[1], expected[1], tolerance, 0.1 if tolerance > 1e-8 else 1e-3)
    compare(f"{what}: parameters", {name: value for name, value in found[2].items() if name in expected[2]}, expected[2], tolerance)


def check(model, name, folder, options):
    exporter = model.stem.rsplit("-", 1)[1]
    runs = Runs(model, name, folder, options)
    drawn = not (MODELS / "split" / f"{name}.reference.safetensors").exists()
    if drawn:
        expected = Runs(model, name, folder, []).train("split", "f64", SAMPLES, "twice")
    else:
        expected = expectations(name) if exporter == "dynamo" else runs.train("disable", "f64", "none")
    cuts = ON_DEVICES if "--devices" in options else CUTS[exporter]
    for precision, cut, form in cuts:
        found = runs.train("split", precision, cut, form)
        compare_runs(f"{model.stem} in {precision}, micro-batch {cut}, forward pass {form}", found, expected, TOLERANCE[precision])
        if not drawn:
            compare(f"{model.stem} in {precision}: evaluation", {"loss": [runs.evaluate(precision)]}, {"loss": [found[0]]}, TOLERANCE[precision])
    if exporter == "dynamo":
        run("accum-run", folder / "split-f32.accum", "--verify")
    return len(cuts)


def main():
    name, folder, options = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    models = sorted(path for path in (MODELS / "split").glob(f"{name}-*.onnx") if path.stem.rsplit("-", 1)[0] == name)
    if "--devices" in options:
        models = [path for path in models if path.stem.endswith("-dynamo")]
    print(sum(check(model, name, folder, options) for model in models), "runs agree")


if __name__ == "__main__":
    main()
