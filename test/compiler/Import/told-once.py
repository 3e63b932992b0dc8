# SPDX-License-Identifier: Apache-2.0
"""`told-once.py noise|integers|experts FILE`: a graph that draws indices at random; one whose shapes are in a data file that
is not there, read by nodes of two kinds; one that sorts the tokens of the batch by expert."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import onnx_graph
import wire

FLOAT, INT64 = onnx_graph.FLOAT, onnx_graph.INT64


def absent(graph, name, count):
    """Integers like the parameters, in the data file."""
    entries = {"location": graph.location, "offset": "4096", "length": str(8 * count)}
    body = b"".join(wire.message(13, wire.message(1, k) + wire.message(2, v)) for k, v in entries.items())
    graph.parts.append(wire.message(5, onnx_graph.tensor(name, INT64, [count], body + wire.number(14, 1))))
    return name


graph = onnx_graph.Graph("none.data")
x = graph.input("x", FLOAT, ["batch", 4])
h = graph.node("MatMul", [x, graph.parameter("w", [4, 4])])
if sys.argv[1] == "noise":
    for _ in range(2):
        h = graph.node("Mul", [h, graph.node("Cast", [graph.node("Multinomial", [h])], to=FLOAT)])
elif sys.argv[1] == "experts":
    graph.scope = "/model/layers.0/mlp/experts"
    chosen = graph.node("Flatten", [h], axis=0)
    count = graph.node("Reshape", [graph.node("Size", [h]), graph.constant([1])])
    order = graph.node("TopK", [graph.node("Reshape", [chosen, graph.constant([-1])]), count], outputs=2)[0]
    h = graph.node("Mul", [h, graph.node("ReduceMean", [order], keepdims=0)])
else:
    h = graph.node("Reshape", [h, absent(graph, "shape", 3)])
    h = graph.node("Mul", [h, graph.node("Expand", [graph.parameter("v", [2]), absent(graph, "wide", 3)])])
graph.output(graph.node("ReduceMean", [h], keepdims=0), "loss", FLOAT, [])
pathlib.Path(sys.argv[2]).write_bytes(graph.model("told-once", 17))
