# SPDX-License-Identifier: Apache-2.0
"""`selections.py NAME FILE.onnx` writes a graph that selects rows by a mask and does with them what NAME says."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from onnx_graph import FLOAT, INT64, Graph


def rows(g, value, mask):
    return g.node("GatherND", [value, g.node("Transpose", [g.node("NonZero", [mask])], perm=[1, 0])])


def beside_itself(g, x, mask):
    picked = rows(g, x, mask)
    return g.node("MatMul", [picked, g.node("Transpose", [picked], perm=[1, 0])])


def running_sum(g, x, mask):
    return g.node("CumSum", [rows(g, x, mask), g.constant(0)])


def in_pairs(g, x, mask):
    return g.node("Reshape", [rows(g, x, mask), g.constant([-1, 8])])


def sorted_rows(g, x, mask):
    return g.node("TopK", [g.node("ReduceSum", [rows(g, x, mask), g.constant([1])], keepdims=0), g.constant([1])], outputs=2)[0]


def softmax_over_rows(g, x, mask):
    return g.node("Softmax", [rows(g, x, mask)], axis=0)


def largest(g, x, mask):
    return g.node("ReduceMax", [rows(g, x, mask)], keepdims=0)


def first(g, x, mask):
    return g.node("Gather", [rows(g, x, mask), g.constant([0])], axis=0)


def two_masks(g, x, mask):
    return g.node("Mul", [rows(g, x, mask), rows(g, x, g.node("Not", [mask]))])


def all_beside_selected(g, x, mask):
    every = g.node("ReduceSum", [x, g.constant([1, 2])], keepdims=0)
    return g.node("Mul", [g.node("Unsqueeze", [rows(g, x, mask), g.constant([1])]), g.node("Unsqueeze", [every, g.constant([1])])])


def positions(g, x, mask):
    return g.node("Cast", [g.node("NonZero", [mask])], to=FLOAT)


def by_sample(g, x, mask):
    size = g.node("Slice", [g.node("Shape", [x]), g.constant([0]), g.constant([1])])
    return g.node("Reshape", [rows(g, x, mask), g.node("Concat", [size, g.constant([-1, 4])], axis=0)])


def counted_in_range(g, x, mask):
    count = g.node("Gather", [g.node("Shape", [rows(g, x, mask)]), g.constant(0)])
    return g.node("Cast", [g.node("Range", [g.constant(0), count, g.constant(1)])], to=FLOAT)


GRAPHS = {f.__name__.replace("_", "-"): f for f in (
    beside_itself, running_sum, in_pairs, sorted_rows, softmax_over_rows, largest, first, two_masks, all_beside_selected,
    positions, by_sample, counted_in_range)}


def main(name, path):
    graph = Graph(path.name + ".data")
    graph.input("x", FLOAT, ["batch", 6, 4])
    graph.input("chosen", INT64, ["batch", 6])
    x = graph.node("Mul", ["x", graph.parameter("w", [4])])
    mask = graph.node("Equal", ["chosen", graph.constant(1)])
    graph.output(graph.node("ReduceSum", [GRAPHS[name](graph, x, mask)], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("selections", 17))
    path.with_name(path.name + ".data").write_bytes(bytes(16))


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
