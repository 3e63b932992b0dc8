# SPDX-License-Identifier: Apache-2.0
"""`framework-names.py MODEL.onnx WORK [ABSENT=OTHER] [FLAG]` saves the weights of the file under the framework's names, untrained, and compares names,
shapes and a sum over each with MODEL.json, which is what a strict load_state_dict takes. Only ABSENT may be missing, and OTHER stands for it."""
import json
import pathlib
import struct
import subprocess
import sys

import tensors


def weighted(values):
    numbers = struct.unpack(f"<{len(values) // 4}f", values)
    return sum((i + 1) * x for i, x in enumerate(numbers)), sum((i + 1) * abs(x) for i, x in enumerate(numbers))


def main(model, work, *more):
    flags = [word for word in more if word.startswith("--")]
    model, work = pathlib.Path(model), pathlib.Path(work)
    artifact, saved = work / "a.accum", work / "saved.safetensors"
    subprocess.run(["accumc", model, "--batch", "4", "--micro-batch", "2", "--optimizer", "sgd", "-o", artifact, *flags], check=True)
    subprocess.run(["accum-run", artifact, "--synthetic", "--steps", "1", "--lr", "0", "--names", "framework", "--save", saved], check=True)
    state, got = json.loads(model.with_suffix(".json").read_text()), tensors.read(saved)
    missing = dict(pair.split("=") for pair in more if pair not in flags)
    expected = state.keys() - missing.keys() | set(missing.values())
    assert got.keys() == expected, f"missing {expected - got.keys()}, unexpected {got.keys() - expected}"
    for name in got.keys() & state.keys():
        (shape, expected_sum), (total, scale) = state[name], weighted(got[name][2])
        assert got[name][1] == shape, f"{name}: {got[name][1]}, expected {shape}"
        assert abs(total - expected_sum) <= 1e-6 * scale, f"{name} is another tensor, or has another layout"


main(*sys.argv[1:])
