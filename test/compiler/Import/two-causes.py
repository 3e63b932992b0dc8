# SPDX-License-Identifier: Apache-2.0
"""Writes a graph with two root causes: a batch norm in training mode, and behind it a softmax over the batch."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from onnx_graph import FLOAT, Graph

graph = Graph("none.data")
x = graph.input("x", FLOAT, ["batch", 4])
h = graph.node("MatMul", [x, graph.parameter("w", [4, 3])])
gain = [graph.parameter(f"norm.{name}", [3]) for name in ("weight", "bias", "running_mean", "running_var")]
h = graph.node("BatchNormalization", [h] + gain, outputs=3, training_mode=1, epsilon=1e-5)[0]
loss = graph.node("ReduceSum", [graph.node("Softmax", [h], axis=0)], keepdims=0)
graph.output(loss, "loss", FLOAT, [])
pathlib.Path(sys.argv[1]).write_bytes(graph.model("two-causes", 17))
