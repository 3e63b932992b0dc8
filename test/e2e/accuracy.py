# SPDX-License-Identifier: Apache-2.0
"""--metric accuracy against counts of NumPy on the logits of onnx's reference evaluator (stored, by models/make/make-accuracy.py), for
several cuts and devices, and training has the same bits with and without it.

Usage: accuracy.py FOLDER MODEL... [--sim]
"""
import json
import pathlib
import sys

from program import MODELS, Model, run

STORED = json.loads((MODELS / "accuracy.json").read_text())


def evaluate(model, artifact, *device):
    log = model.folder / "eval.jsonl"
    run("accum-run", artifact, "--eval", model.data, "--eval-only", "--log", log, *device)
    (line,) = map(json.loads, log.read_text().splitlines())
    return line


def train(model, artifact, *device):
    weights = model.folder / "weights.safetensors"
    run("accum-run", artifact, "--data", model.data, "--steps", 2, "--save", weights, "--progress", "none", *device)
    return weights.read_bytes()


def check(model, simulated):
    correct, counted = STORED[model.name]
    target = ["--target", "h100", "--with-sim"] if simulated else []
    device = ["--target", "sim"] if simulated else []
    for size, devices in [(3, 1)] if simulated else [(3, 1), (1, 1), (2, 2), (7, 1)]:
        artifact = model.compile("--micro-batch", size, "--metric", "accuracy", *target)
        line = evaluate(model, artifact, *device, *(["--devices", devices] if devices > 1 else []))
        if line["eval_accuracy"] != correct / counted:
            sys.exit(f"{model.name} in micro-steps of {size}: accuracy {line['eval_accuracy']}, expected {correct} / {counted}")
    trained = train(model, artifact, *device)
    plain = model.compile("--micro-batch", size, *target)
    if train(model, plain, *device) != trained:
        sys.exit(f"{model.name}: training has other bits with the metric")
    if "eval_accuracy" in evaluate(model, plain, *device):
        sys.exit(f"{model.name}: an accuracy that nobody asked for")


folder, *names = sys.argv[1:]
for name in names:
    if name != "--sim":
        check(Model(name, pathlib.Path(folder) / name), "--sim" in names)
