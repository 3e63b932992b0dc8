# SPDX-License-Identifier: Apache-2.0
"""verify-choices.py FOLDER: verifies graphs whose loss jumps where a choice changes, in so many places that differences of it see a
slope, which no gradient has; functions in pieces that meet, NAME-smooth, and among them ReLUs behind weights of zero, all at their
kink; and a regression at its optimum, where the gradient is nothing but rounding."""
import json
import math
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, INT64, Graph

LENGTH, WIDTH, EXPERTS = 64, 16, 4
SIGNS = [1.0 if (i * i + 3 * i + 2) % 7 < 3 else -1.0 for i in range(WIDTH)]


def positive(graph, h):
    return graph.node("Greater", [h, graph.constant(0.0, FLOAT)])


def step(graph, h):
    return graph.node("Cast", [positive(graph, h)], to=FLOAT)


def threshold(graph, h):
    return graph.node("ThresholdedRelu", [h], alpha=0.5)


def pieces(graph, h):
    """Two that do not meet."""
    return graph.node("Where", [positive(graph, h), graph.node("Exp", [h]), h])


def integers(graph, h):
    return graph.node("Cast", [graph.node("Cast", [graph.node("Mul", [h, graph.constant(4.0, FLOAT)])], to=INT64)], to=FLOAT)


def remainder(graph, h):
    return graph.node("Mod", [h, graph.constant(0.5, FLOAT)], fmod=1)


def experts(graph, h):
    """The best one of four, by its score; the others' outputs are left out."""
    scores = graph.node("Softmax", [graph.node("MatMul", [h, graph.parameter("router", [WIDTH, EXPERTS])])], axis=-1)
    best, index = graph.node("TopK", [scores, graph.constant([1])], outputs=2, axis=-1)
    chosen = graph.node("Equal", [index, graph.constant(list(range(EXPERTS)))])
    outputs = graph.node("Tanh", [graph.node("MatMul", [h, graph.parameter("experts", [WIDTH, EXPERTS])])])
    return graph.node("Mul", [graph.node("Mul", [graph.node("Cast", [chosen], to=FLOAT), best]), outputs])


def leaky(graph, h):
    return graph.node("LeakyRelu", [h], alpha=0.1)


def elu(graph, h):
    return graph.node("Elu", [h])


def learned(graph, h):
    return graph.node("PRelu", [h, graph.parameter("slope", [WIDTH])])


def clamp(graph, h):
    return graph.node("Clip", [h, graph.constant(-0.5, FLOAT), graph.constant(0.5, FLOAT)])


def byHand(graph, h):
    return graph.node("Where", [positive(graph, h), h, graph.node("Mul", [h, graph.constant(0.01, FLOAT)])])


def largest(graph, h):
    return graph.node("Max", [h, graph.node("Sin", [h])])


def pooled(graph, h):
    """Largest ones of windows and rows, read by their index."""
    image = graph.node("Unsqueeze", [h, graph.constant([1])])
    values, _ = graph.node("TopK", [h, graph.constant([3])], outputs=2, axis=-1)
    pool = graph.node("MaxPool", [image], kernel_shape=[2, 2], strides=[2, 2])
    pool = graph.node("ReduceMean", [graph.node("ReduceMean", [pool], axes=[3], keepdims=0)], axes=[2], keepdims=1)
    return graph.node("Add", [values, pool])


def zeros(graph, h):
    """Of both signs, so that the slopes ahead and behind may both be larger than the gradient, which is zero."""
    started = graph.node("MatMul", [graph.node("Exp", [h]), graph.parameter("zeros", [WIDTH, WIDTH])])
    return graph.node("Mul", [graph.node("Relu", [started]), graph.constant(SIGNS, FLOAT)])


def write(folder, build, end):
    name = build.__name__.lower() + end
    graph = Graph(f"{name}.onnx.data")
    graph.input("x", FLOAT, ["batch", LENGTH, WIDTH])
    h = graph.node("MatMul", ["x", graph.parameter("w", [WIDTH, WIDTH])])
    result = graph.node("ReduceMean", [build(graph, h)], keepdims=0)
    smooth = graph.node("ReduceMean", [graph.node("Mul", [h, h])], keepdims=0)
    graph.output(graph.node("Add", [result, graph.node("Mul", [smooth, graph.constant(0.1, FLOAT)])]), "loss", FLOAT, [])
    (folder / f"{name}.onnx").write_bytes(graph.model(name, 17))
    count = graph.bytes // 4
    numbers = [0.0 if build is zeros and i >= WIDTH * WIDTH else 0.6 * math.sin(1 + 1.7 * i * i) for i in range(count)]
    (folder / f"{name}.onnx.data").write_bytes(struct.pack(f"<{count}f", *numbers))


def write_regression(folder):
    """Residuals of 0.3, 0.7 and -1 at each x: their gradients cancel, and what is left hangs on the order of the sum."""
    graph = Graph("optimum.onnx.data")
    graph.input("x", FLOAT, ["batch", WIDTH])
    graph.input("y", FLOAT, ["batch", 1])
    residual = graph.node("Sub", [graph.node("MatMul", ["x", graph.parameter("w", [WIDTH, 1])]), "y"])
    graph.output(graph.node("ReduceMean", [graph.node("Mul", [residual, residual])], keepdims=0), "loss", FLOAT, [])
    (folder / "optimum.onnx").write_bytes(graph.model("optimum", 17))
    w = [0.5 + 0.01 * i for i in range(WIDTH)]
    (folder / "optimum.onnx.data").write_bytes(struct.pack(f"<{WIDTH}f", *w))
    rows = [[math.sin(3 + 7 * row + 1.3 * i) for i in range(WIDTH)] for row in range(8)] * 3
    y = [sum(a * b for a, b in zip(w, row)) - (0.3, 0.7, -1.0)[i // 8] for i, row in enumerate(rows)]
    flat = [number for row in rows for number in row]
    tensors.write(folder / "optimum.safetensors", {"x": ("F32", [24, WIDTH], struct.pack(f"<{len(flat)}f", *flat)),
                                                   "y": ("F32", [24, 1], struct.pack("<24f", *y))})


def verify(folder, name, detached, *data):
    """Exit 0, and so many tensors that the compiler marks."""
    artifact = folder / f"{name}.accum"
    run("accumc", folder / f"{name}.onnx", "--batch", 24, "--micro-batch", 16, "--optimizer", "sgd", "-o", artifact)
    (folder / f"{name}.txt").write_text(run("accum-run", artifact, "--verify", *data).stdout)
    params = json.loads((artifact / "manifest.json").read_text())["params"]
    marked = sorted(param["onnx_name"] for param in params if param.get("detached"))
    assert marked == detached, f"{name}: {marked} are marked, expected {detached}"


folder = pathlib.Path(sys.argv[1])
for build in (step, threshold, pieces, integers, remainder, experts):
    write(folder, build, "")
    verify(folder, build.__name__, ["router", "w"] if build is experts else ["w"])
for build in (leaky, elu, learned, clamp, byHand, largest, pooled, zeros):
    write(folder, build, "-smooth")
    verify(folder, build.__name__.lower() + "-smooth", [])
write_regression(folder)
verify(folder, "optimum", [], "--data", folder / "optimum.safetensors")
