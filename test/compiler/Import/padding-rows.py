# SPDX-License-Identifier: Apache-2.0
"""`padding-rows.py KIND FILE`: a model whose loss padding's row of a table reaches, or does not.

constant, other, input, position: what a decoder looks up in place of labels that are ignored is a constant, on either side of the
choice; what an input says; a constant in place of a position that is counted. moved: then the last label goes to the front.
conv, mean, flat: positions mixed, padding among them; pointwise: not mixed; masked-conv, masked-mean: without padding."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from onnx_graph import BOOL, FLOAT, INT64, Graph

kind = sys.argv[1]
graph = Graph("none.data")
ids = graph.input("ids", INT64, ["batch", 4])


def filled():
    """What a decoder reads in place of `ids`, 1 for those that are ignored."""
    other, ignored = graph.input("other", INT64, ["batch", 4]), graph.input("ignored", BOOL, ["batch", 4])
    if kind == "input":
        return graph.node("Where", [ignored, other, ids])
    if kind == "position":
        counted = graph.node("CumSum", [other, graph.constant(1)])
        return graph.node("Where", [ignored, graph.constant(1), counted])
    if kind == "other":
        return graph.node("Where", [graph.node("Not", [ignored]), ids, graph.constant(1)])
    return graph.node("Where", [ignored, graph.constant(1), ids])


def moved(labels):
    last = graph.node("GatherElements", [labels, graph.input("last", INT64, ["batch", 1])], axis=1)
    others = graph.node("Slice", [labels, graph.constant([0]), graph.constant([3]), graph.constant([1])])
    return graph.node("Concat", [last, others], axis=1)


def mixed(h):
    if kind.startswith("masked"):
        mask = graph.node("Cast", [graph.input("attention_mask", INT64, ["batch", 4])], to=FLOAT)
        h = graph.node("Mul", [h, graph.node("Unsqueeze", [mask, graph.constant([2])])])
    else:
        graph.node("Not", [graph.node("Cast", [graph.input("attention_mask", INT64, ["batch", 4])], to=BOOL)])
    if kind == "flat":
        return graph.node("MatMul", [graph.node("Flatten", [h], axis=1), graph.parameter("fc.weight", [8, 2])])
    if kind.endswith("mean"):
        return graph.node("ReduceMean", [h], axes=[1], keepdims=0)
    size = 1 if kind == "pointwise" else 3
    return graph.node("Conv", [graph.node("Transpose", [h], perm=[0, 2, 1]), graph.parameter("conv.weight", [2, 2, size])],
                      kernel_shape=[size])


if kind in ("constant", "other", "input", "position", "moved"):
    read = moved(filled()) if kind == "moved" else filled()
    h = graph.node("Gather", [graph.parameter("wte.weight", [5, 2]), read])
else:
    h = mixed(graph.node("Gather", [graph.parameter("wte.weight", [5, 2]), ids]))
graph.output(graph.node("ReduceMean", [graph.node("Tanh", [h])], keepdims=0), "loss", FLOAT, [])
pathlib.Path(sys.argv[2]).write_bytes(graph.model("padding-rows", 17))
