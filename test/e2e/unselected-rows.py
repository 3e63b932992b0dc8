# SPDX-License-Identifier: Apache-2.0
"""What rows hold that a mask leaves out reaches no gradient, however large it is.

`make FILE.onnx` writes a loss of selected rows in which an exponential, a largest element, a norm and a log-sum-exp follow a
product and a constant: of rows of zeros the exponential would be infinite. `check GRADIENTS` compares with derivatives by
central differences in Python's floats over the selected rows alone.
"""
import math
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, INT64, Graph

LENGTH, WIDTH, HUGE, SHIFT = 3, 4, 1e30, 100.0
WEIGHTS = [1.0, -0.5, 2.0, 0.75]
CHOSEN = [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
X = [[[SHIFT + 0.1 * sample - 0.2 * row + 0.05 * column if CHOSEN[sample][row] else HUGE * (-1) ** column
       for column in range(WIDTH)] for row in range(LENGTH)] for sample in range(len(CHOSEN))]


def make(path):
    graph = Graph(path.name + ".data")
    graph.input("x", FLOAT, ["batch", LENGTH, WIDTH])
    graph.input("chosen", INT64, ["batch", LENGTH])
    mask = graph.node("Equal", ["chosen", graph.constant(1)])
    places = graph.node("Transpose", [graph.node("NonZero", [mask])], perm=[1, 0])
    weighted = graph.node("Mul", [graph.node("Sub", ["x", graph.constant(SHIFT, FLOAT)]), graph.parameter("w", [WIDTH])])
    rows = graph.node("GatherND", [weighted, places])
    last = graph.node("GatherND", ["x", places])
    exponential = graph.node("Exp", [graph.node("Mul", [graph.node("Sub", [graph.constant(SHIFT, FLOAT), last]), "w"])])
    terms = [graph.node("ReduceSum", [exponential, graph.constant([1])], keepdims=0),
             graph.node("ReduceMax", [rows], axes=[1], keepdims=0), graph.node("ReduceMin", [rows], axes=[1], keepdims=0),
             graph.node("ReduceL2", [rows], axes=[1], keepdims=0), graph.node("ReduceLogSumExp", [rows], axes=[1], keepdims=0)]
    total = terms[0]
    for term in terms[1:]:
        total = graph.node("Add", [total, term])
    graph.output(graph.node("ReduceMean", [total], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("unselected-rows", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{WIDTH}f", *WEIGHTS))
    numbers = [number for sample in X for row in sample for number in row]
    chosen = [number for sample in CHOSEN for number in sample]
    tensors.write(path.with_suffix(".safetensors"), {
        "x": ("F32", [len(X), LENGTH, WIDTH], struct.pack(f"<{len(numbers)}f", *numbers)),
        "chosen": ("I64", [len(X), LENGTH], struct.pack(f"<{len(chosen)}q", *chosen))})


def loss(weights):
    values = []
    for sample, flags in zip(X, CHOSEN):
        for row in (row for row, flag in zip(sample, flags) if flag):
            weighted = [(number - SHIFT) * weight for number, weight in zip(row, weights)]
            values.append(sum(math.exp((SHIFT - number) * weight) for number, weight in zip(row, weights)) + max(weighted) + min(weighted)
                          + math.hypot(*weighted) + math.log(sum(map(math.exp, weighted))))
    return sum(values) / len(values)


def check(gradients):
    found = struct.unpack(f"<{WIDTH}f", tensors.read(gradients)["w"][2])
    for column in range(WIDTH):
        high, low = ([weight + sign * 1e-5 * (at == column) for at, weight in enumerate(WEIGHTS)] for sign in (1, -1))
        expected = (loss(high) - loss(low)) / 2e-5
        assert abs(found[column] - expected) < 1e-3 * max(1, abs(expected)), f"{column}: {found[column]}, expected {expected}"


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
