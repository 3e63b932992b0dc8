# SPDX-License-Identifier: Apache-2.0
"""One graph with every activation: `make FILE.onnx` writes sum over all of mean(f(x + w)), each with a w of its own;
`check GRADIENTS LOG` compares loss and gradients with the formulas of the ONNX specification, in plain Python."""
import json
import math
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

SAMPLES = [[-4.0, -1.5, -0.5, 0.25], [0.0, 0.5, 1.25, 3.5], [90.0, -90.0, 2.0, -3.0]]
WIDTH = 4
SLOPES = [0.3, -0.2, 1.5, 0.1]


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def soft(x):
    return max(x, 0) + math.log1p(math.exp(-abs(x)))


def ramp(x):
    return min(max(x / 6 + 0.5, 0), 1)


# operator -> (attributes, f(x, column))
FORMULAS = {
    "Celu": ({"alpha": 1.5}, lambda x, c: x if x > 0 else 1.5 * math.expm1(x / 1.5)),
    "Elu": ({"alpha": 0.7}, lambda x, c: x if x > 0 else 0.7 * math.expm1(x)),
    "HardSigmoid": ({"alpha": 0.25, "beta": 0.4}, lambda x, c: min(max(0.25 * x + 0.4, 0), 1)),
    "HardSwish": ({}, lambda x, c: x * ramp(x)),
    "LeakyRelu": ({"alpha": 0.2}, lambda x, c: x if x > 0 else 0.2 * x),
    "Mish": ({}, lambda x, c: x * math.tanh(soft(x))),
    "PRelu": ({}, lambda x, c: x if x > 0 else SLOPES[c] * x),
    "Selu": ({}, lambda x, c: 1.0507009873554805 * (x if x > 0 else 1.6732632423543772 * math.expm1(x))),
    "Softsign": ({}, lambda x, c: x / (1 + abs(x))),
    "Swish": ({"alpha": 1.7}, lambda x, c: x * sigmoid(1.7 * x)),
    "ThresholdedRelu": ({"alpha": 0.6}, lambda x, c: x if x > 0.6 else 0),
}
START = [0.05, -0.13, 0.02, 0.07]  # of every w: no x + w lies on a kink


def make(path):
    graph = Graph(path.name + ".data")
    graph.input("x", FLOAT, ["batch", WIDTH])
    total = None
    for kind, (attributes, _) in FORMULAS.items():
        shifted = graph.node("Add", ["x", graph.parameter(kind, [WIDTH])])
        operands = [shifted, graph.parameter("slopes", [WIDTH])] if kind == "PRelu" else [shifted]
        mean = graph.node("ReduceMean", [graph.node(kind, operands, **attributes)], keepdims=0)
        total = mean if total is None else graph.node("Add", [total, mean])
    graph.output(total, "loss", FLOAT, [])
    path.write_bytes(graph.model("activations", 24))
    weights = [value for kind in FORMULAS for value in START + (SLOPES if kind == "PRelu" else [])]
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(weights)}f", *weights))
    flat = [x for row in SAMPLES for x in row]
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [len(SAMPLES), WIDTH], struct.pack(f"<{len(flat)}f", *flat))})


def near(what, got, expected):
    assert abs(got - expected) <= 2e-5 * max(1, abs(expected)), f"{what}: {got}, expected {expected}"


def check(gradients, log):
    found, loss, count = tensors.read(gradients), 0, len(SAMPLES) * WIDTH
    for kind, (_, f) in FORMULAS.items():
        got = struct.unpack(f"<{WIDTH}f", found[kind][2])
        for c in range(WIDTH):
            at = [row[c] + START[c] for row in SAMPLES]
            loss += sum(f(x, c) for x in at) / count
            near(f"{kind} {c}", got[c], sum((f(x + 1e-6, c) - f(x - 1e-6, c)) / 2e-6 for x in at) / count)
    slopes = struct.unpack(f"<{WIDTH}f", found["slopes"][2])
    for c in range(WIDTH):
        near(f"slopes {c}", slopes[c], sum(min(row[c] + START[c], 0) for row in SAMPLES) / count)
    near("loss", json.loads(log.read_text())["loss"], loss)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]))
    else:
        check(*map(pathlib.Path, sys.argv[2:]))
