# SPDX-License-Identifier: Apache-2.0
"""`three-steps.py FOLDER/NAME-EXPORTER.onnx WORK [FLAG...]` compares the losses of three SGD steps with those in FOLDER/NAME.json, which are PyTorch's
in float64, for each micro-batch size that divides the batch, and the parameters then with NAME.after.safetensors where that is there."""
import json
import pathlib
import struct
import subprocess
import sys

import tensors


def beside(model, suffix):
    return model.with_name(model.stem.rsplit("-", 1)[0] + suffix)


def losses(model, work, facts, size, flags):
    artifact, log = work / f"{size}.accum", work / f"{size}.jsonl"
    subprocess.run(["accumc", model, "--batch", str(facts["batch"]), "--micro-batch", str(size), "--optimizer", "sgd", "-o", artifact, *flags],
                   check=True)
    save = ["--save", work / f"{size}.safetensors", "--names", "framework"] if beside(model, ".after.safetensors").exists() else []
    subprocess.run(["accum-run", artifact, "--data", beside(model, ".safetensors"), "--steps", "3", "--lr", str(facts["rate"]), "--no-shuffle",
                    "--log", log, *save], check=True)
    return [entry["loss"] for entry in map(json.loads, log.read_text().splitlines()) if "loss" in entry]


def check_trained(expected, got):
    for name, (kind, shape, values) in tensors.read(expected).items():
        assert name in got, f"{name} is not among {sorted(got)}"
        assert shape == got[name][1], f"{name}: {got[name][1]}, expected {shape}"
        pairs = zip(struct.unpack(f"<{len(values) // 8}d", values), struct.unpack(f"<{len(got[name][2]) // 4}f", got[name][2]))
        assert all(abs(a - b) <= 1e-5 * max(1, abs(a)) for a, b in pairs), f"{name} was trained into something else"


def main(model, work, *flags):
    model, work = pathlib.Path(model), pathlib.Path(work)
    work.mkdir(parents=True)
    facts = json.loads(beside(model, ".json").read_text())
    for size in [s for s in range(1, facts["batch"] + 1) if facts["batch"] % s == 0]:
        got = losses(model, work, facts, size, flags)
        assert len(got) == len(facts["losses"]), got
        for step, (value, expected) in enumerate(zip(got, facts["losses"])):
            assert abs(value - expected) <= 1e-5 * abs(expected), f"micro-batch {size}, step {step}: {value}, expected {expected}"
        if beside(model, ".after.safetensors").exists():
            check_trained(beside(model, ".after.safetensors"), tensors.read(work / f"{size}.safetensors"))


main(*sys.argv[1:])
