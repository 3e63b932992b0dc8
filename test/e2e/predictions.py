# SPDX-License-Identifier: Apache-2.0
"""accum-run --predict against ONNX Runtime's outputs of the same file and samples (stored, by models/make/make-predictions.py): in
micro-steps of several sizes with a ragged tail, on several devices, with state in parts and off the device, in bf16, without labels,
and without a trace in training.

Usage: predictions.py FOLDER CASE...
"""
import json
import pathlib
import struct
import sys

import tensors
from program import MODELS, Model, run

STORED = tensors.read(MODELS / "predictions.safetensors")
F32, BF16 = 2e-6, 2e-2  # of the largest value
# Options of accumc, options of accum-run, tolerance.
CASES = {
    "plain": [(["--micro-batch", 3], [], F32), (["--micro-batch", 1], [], F32), (["--micro-batch", 7], [], F32)],
    "devices": [(["--micro-batch", 2, "--devices", 2], [], F32), (["--micro-batch", 1], ["--devices", 3], F32)],
    "sharded": [(["--micro-batch", 2, "--devices", 2, "--shard", mode], [], F32) for mode in ("zero1", "zero3")],
    "offloaded": [(["--micro-batch", 2, "--offload", "parameters"], [], F32)],
    "bf16": [(["--micro-batch", 3, "--precision", "bf16"], [], BF16)],
    "split": [(["--micro-batch", 3, "--on-cross-batch", "split"], [], F32)],
    "sim": [(["--micro-batch", 3, "--target", "h100", "--with-sim"], ["--target", "sim"], F32)],
}


def unlabelled(model):
    arrays = tensors.read(model.data)
    arrays.pop("labels", None)
    path = model.folder / "inputs.safetensors"
    tensors.write(path, arrays)
    return path


def values(tensor):
    dtype, shape, content = tensor
    if dtype != "F32":
        sys.exit(f"the output has elements of {dtype}")
    return shape, struct.unpack(f"<{len(content) // 4}f", content)


def require_same(what, found, expected, tolerance):
    (shape, got), (wanted, want) = values(found), values(expected)
    if shape != wanted:
        sys.exit(f"{what}: the output has the shape {shape}, expected {wanted}")
    largest = max(map(abs, want))
    worst = max(abs(a - b) for a, b in zip(got, want, strict=True)) / largest
    print(f"{what}: {worst:.1e}")
    if not worst <= tolerance:
        sys.exit(f"{what}: the outputs differ by {worst}, more than {tolerance}")


def predict(model, artifact, *options):
    path = model.folder / "outputs.safetensors"
    run("accum-run", artifact, "--predict", unlabelled(model), "-o", path, *options)
    return tensors.read(path)


def train(model, artifact, *options):
    weights = model.folder / "weights.safetensors"
    run("accum-run", artifact, "--data", model.data, "--steps", 2, "--save", weights, "--progress", "none", *options)
    return weights.read_bytes()


def check_trace(model):
    """Memory, and the bits of training, are those of an artifact that predicts nothing."""
    made = []
    for outputs in ("auto", "none"):
        artifact = model.compile("--micro-batch", 3, "--outputs", outputs)
        manifest = json.loads((artifact / "manifest.json").read_text())
        plan = json.loads((artifact / "plan.json").read_text())
        made.append((train(model, artifact), plan["scratch"], plan["state"], manifest["state_bytes"]))
        if ("outputs" in manifest) != (outputs == "auto"):
            sys.exit(f"--outputs {outputs}: the manifest has other outputs")
    if made[0] != made[1]:
        sys.exit("training is not the same where outputs can be predicted")


folder, name, *chosen = sys.argv[1:]
model = Model(name, pathlib.Path(folder) / name)
expected = STORED[f"{model.about['family']}/logits"]
for case in chosen:
    if case == "trace":
        check_trace(model)
        continue
    for compiled, ran, tolerance in CASES[case]:
        artifact = model.compile(*compiled)
        found = predict(model, artifact, *ran)
        require_same(f"{name} {' '.join(map(str, compiled + ran))}", found["logits"], expected, tolerance)
