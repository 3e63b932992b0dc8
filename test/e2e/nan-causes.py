# SPDX-License-Identifier: Apache-2.0
"""nan-causes.py FOLDER: small graphs that are not finite where a mask hides all they read, NAME.onnx, with data in which it does so in
the last sample (NAME.safetensors) and data in which it does not (NAME.open.safetensors).

What ONNX says of them: a softmax of a row of -inf is NaN, the largest of nothing but -inf is -inf, 0 / 0 is NaN, as is the mean
of SoftmaxCrossEntropyLoss over no label. `guarded` replaces NaN by zero, as the framework's attention is exported.
"""
import math
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, INT64, Graph

LENGTH, WIDTH = 3, 4
WEIGHTS = [0.5, -0.25, 1.0, 0.75]
X = [[[math.sin(1 + sample + 2.5 * row + 0.7 * column) for column in range(WIDTH)] for row in range(LENGTH)] for sample in range(3)]
OPEN = [[1, 0, 1], [1, 1, 1], [0, 1, 0]]
HIDDEN = OPEN[:2] + [[0, 0, 0]]


def masked(graph, scores):
    seen = graph.node("Equal", ["seen", graph.constant(1)])
    return graph.node("Where", [seen, scores, graph.constant(-math.inf, FLOAT)])


def softmax(graph, scores):
    return graph.node("Mul", [graph.node("Softmax", [masked(graph, scores)], axis=-1), scores])


def guarded(graph, scores):
    p = graph.node("Softmax", [masked(graph, scores)], axis=-1)
    p = graph.node("Where", [graph.node("IsNaN", [p]), graph.constant(0.0, FLOAT), p])
    return graph.node("ReduceSum", [graph.node("Mul", [p, scores]), graph.constant([1])], keepdims=0)


def attention(graph, scores):
    """Scores of each row with each, hidden by column."""
    keys = graph.node("Transpose", ["x"], perm=[0, 2, 1])
    pairs = graph.node("MatMul", [graph.node("Mul", ["x", "w"]), keys])
    seen = graph.node("Unsqueeze", [graph.node("Equal", ["seen", graph.constant(1)]), graph.constant([1])])
    mask = graph.node("Where", [seen, graph.constant(0.0, FLOAT), graph.constant(-math.inf, FLOAT)])
    return graph.node("MatMul", [graph.node("Softmax", [graph.node("Add", [pairs, mask])], axis=-1), "x"])


def extremum(graph, scores):
    return graph.node("ReduceMax", [masked(graph, scores)], axes=[1], keepdims=0)


def quotient(graph, scores):
    seen = graph.node("Cast", ["seen"], to=FLOAT)
    total = graph.node("ReduceSum", [graph.node("Mul", [scores, seen]), graph.constant([1])], keepdims=0)
    return graph.node("Div", [total, graph.node("ReduceSum", [seen, graph.constant([1])], keepdims=0)])


def targets(graph, scores):
    return graph.node("SoftmaxCrossEntropyLoss", [scores, "seen"], ignore_index=-100)


def weights(graph, scores):
    """A mean over what is seen in the whole batch, its weights real numbers."""
    seen = graph.node("Cast", ["seen"], to=FLOAT)
    total = graph.node("ReduceSum", [graph.node("Mul", [scores, seen])], keepdims=0)
    return graph.node("Div", [total, graph.node("ReduceSum", [seen], keepdims=0)])


def write(folder, build):
    name = build.__name__
    graph = Graph(f"{name}.onnx.data")
    graph.input("x", FLOAT, ["batch", LENGTH, WIDTH])
    graph.input("seen", INT64, ["batch"] if build is targets else ["batch", LENGTH])
    weighted = graph.node("Mul", ["x", graph.parameter("w", [WIDTH])])
    result = build(graph, graph.node("ReduceSum", [weighted, graph.constant([2])], keepdims=0))
    graph.output(graph.node("ReduceMean", [result], keepdims=0), "loss", FLOAT, [])
    (folder / f"{name}.onnx").write_bytes(graph.model(name, 17))
    (folder / f"{name}.onnx.data").write_bytes(struct.pack(f"<{WIDTH}f", *WEIGHTS))
    flat = [number for sample in X for row in sample for number in row]
    for end, seen in ("open.", OPEN), ("", [[0] * LENGTH] * 3 if build is weights else HIDDEN):
        labels = [1, 0, 2] if end else [-100] * 3
        numbers = labels if build is targets else [number for row in seen for number in row]
        shape = [3] if build is targets else [3, LENGTH]
        tensors.write(folder / f"{name}.{end}safetensors", {
            "x": ("F32", [3, LENGTH, WIDTH], struct.pack(f"<{len(flat)}f", *flat)),
            "seen": ("I64", shape, struct.pack(f"<{len(numbers)}q", *numbers))})


def guarded_loss():
    """In Python's floats: a row that sees nothing gives zero."""
    total = 0.0
    for x, seen in zip(X, HIDDEN):
        scores = [sum(w * v for w, v in zip(WEIGHTS, row)) for row in x]
        powers = [math.exp(s) if see else 0.0 for s, see in zip(scores, seen)]
        total += sum(p * s for p, s in zip(powers, scores)) / (sum(powers) or 1.0)
    return total / len(X)


for build in (softmax, guarded, attention, extremum, quotient, targets, weights):
    write(pathlib.Path(sys.argv[1]), build)
print(f"guarded {guarded_loss():.5f}")
