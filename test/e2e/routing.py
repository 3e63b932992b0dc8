# SPDX-License-Identifier: Apache-2.0
"""Routing by TopK and ScatterElements, as mixtures of experts write it: `make FILE.onnx`, and `check GRADIENTS` against the formulas.
`--given`: the positions are an input instead, so that two of them may be the same.

With z = x + w and c = (1, 2, 3, 4), all means over batch and columns: `gates` is c * (the two largest z, zero elsewhere), `kept` is
c * (three times the two largest z, z elsewhere), `chosen` is c * z * (one at the largest z, zero elsewhere).
"""
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, INT64, Graph

SAMPLES = [[0.5, 2.0, -1.0, 1.0], [3.0, -2.0, 0.25, 0.5], [-1.0, -3.0, -2.0, -0.5], [0.0, 1.0, 4.0, 2.0], [1.5, 1.0, 0.5, 0.0]]
WEIGHTS = [1.0, 2.0, 3.0, 4.0]
START = [0.125, -0.25, 0.0625, 0.03125]
PICKED = 2


def scatter(graph, base, indices, updates):
    return graph.node("ScatterElements", [base, indices, updates], axis=-1)


def values(graph, name, z, positions):
    shape = graph.node("Shape", [z])
    zeros = graph.node("ConstantOfShape", [shape])
    if name == "chosen":
        best = graph.node("ArgMax", [z], axis=1, keepdims=1)
        ones = graph.node("Expand", [graph.constant(1.0, FLOAT), graph.node("Shape", [best])])
        return graph.node("Mul", [scatter(graph, zeros, best, ones), z])
    largest, indices = graph.node("TopK", [z, graph.constant([PICKED])], outputs=2, axis=1)
    indices = positions or indices
    if name == "gates":
        return scatter(graph, zeros, indices, largest)
    return scatter(graph, z, indices, graph.node("Mul", [largest, graph.constant(3.0, FLOAT)]))


def make(path, given):
    graph = Graph(path.name + ".data")
    graph.input("x", FLOAT, ["batch", 4])
    positions = graph.input("positions", INT64, ["batch", PICKED]) if given else None
    total = None
    for name in ("gates", "kept", "chosen"):
        z = graph.node("Add", ["x", graph.parameter(name, [4])])
        weighted = graph.node("Mul", [values(graph, name, z, positions), graph.constant(WEIGHTS, FLOAT)])
        mean = graph.node("ReduceMean", [weighted], keepdims=0)
        total = mean if total is None else graph.node("Add", [total, mean])
    graph.output(total, "loss", FLOAT, [])
    path.write_bytes(graph.model("routing", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack("<4f", *START) * 3)
    flat = [x for row in SAMPLES for x in row]
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [len(SAMPLES), 4], struct.pack(f"<{len(flat)}f", *flat))})


def check(path):
    found = tensors.read(path)
    for name, (inside, outside, picked) in {"gates": (1, 0, 2), "kept": (3, 1, 2), "chosen": (1, 0, 1)}.items():
        got = struct.unpack("<4f", found[name][2])
        expected = [0.0] * 4
        for row in SAMPLES:
            z = [x + w for x, w in zip(row, START)]
            top = sorted(range(4), key=lambda j: -z[j])[:picked]
            for j in range(4):
                expected[j] += WEIGHTS[j] * (inside if j in top else outside) / (4 * len(SAMPLES))
        assert all(abs(a - b) < 1e-6 for a, b in zip(got, expected)), f"{name}: {got}, expected {expected}"


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]), "--given" in sys.argv)
    else:
        check(pathlib.Path(sys.argv[2]))
