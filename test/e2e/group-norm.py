# SPDX-License-Identifier: Apache-2.0
"""`make FILE.onnx OPSET` writes the weighted mean of a GroupNormalization, whose scale is of channels from opset 21 on and of
groups before; `check GRADIENTS LOG OPSET` compares with its slopes (oracle: the definition, in double precision)."""
import json
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

N, C, S, GROUPS, EPS = 3, 4, 3, 2, 1e-2
X = [((7 * i) % 13) / 4 - 1.5 for i in range(N * C * S)]
Y = [((5 * i) % 11) / 5 - 1.0 for i in range(N * C * S)]  # weights of the loss


def scales(opset):
    size = C if opset >= 21 else GROUPS
    return [0.5 + 0.25 * i for i in range(size)], [0.1 * i - 0.2 for i in range(size)]


def make(path, opset):
    graph = Graph(path.name + ".data")
    x, y = graph.input("x", FLOAT, ["batch", C, S]), graph.input("y", FLOAT, ["batch", C, S])
    scale, bias = scales(opset)
    # A parameter in front, so that a gradient goes through the norm.
    front = graph.node("Mul", [x, graph.parameter("front.weight", [S])])
    normed = graph.node("GroupNormalization", [front, graph.parameter("norm.weight", [len(scale)]), graph.parameter("norm.bias", [len(bias)])],
                        num_groups=GROUPS, epsilon=EPS)
    graph.output(graph.node("ReduceMean", [graph.node("Mul", [normed, y])], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("group-norm", opset))
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{S + 2 * len(scale)}f", *FRONT, *scale, *bias))
    tensors.write(path.with_suffix(".safetensors"), {name: ("F32", [N, C, S], struct.pack(f"<{len(v)}f", *v)) for name, v in (("x", X), ("y", Y))})


FRONT = [0.75, -1.25, 1.5]


def loss(front, scale, bias):
    total, members = 0.0, C // GROUPS * S
    for row in range(N * GROUPS):
        at = range(row * members, (row + 1) * members)
        values = [X[i] * front[i % S] for i in at]
        mean = sum(values) / members
        deviation = (sum((v - mean) ** 2 for v in values) / members + EPS) ** 0.5
        for i, value in zip(at, values):
            k = i // S % C if len(scale) == C else row % GROUPS
            total += ((value - mean) / deviation * scale[k] + bias[k]) * Y[i]
    return total / len(X)


def slope(f, values, at, step=1e-4):
    def moved(by):
        return f([v + by * (i == at) for i, v in enumerate(values)])
    return (moved(step) - moved(-step)) / (2 * step)


def check(gradients, log, opset):
    found, (scale, bias) = tensors.read(gradients), scales(opset)
    cases = {"front.weight": (lambda v: loss(v, scale, bias), FRONT), "norm.weight": (lambda v: loss(FRONT, v, bias), scale),
             "norm.bias": (lambda v: loss(FRONT, scale, v), bias)}
    pairs = [("loss", json.loads(log.read_text())["loss"], loss(FRONT, scale, bias))]
    for name, (f, values) in cases.items():
        got = struct.unpack(f"<{len(values)}f", found[name][2])
        pairs += [(f"{name} {i}", got[i], slope(f, values, i)) for i in range(len(values))]
    for what, got, expected in pairs:
        assert abs(got - expected) <= 2e-6, f"{what}: {got}, expected {expected}"


if __name__ == "__main__":
    *paths, last = sys.argv[2:]
    {"make": make, "check": check}[sys.argv[1]](*map(pathlib.Path, paths), int(last))
