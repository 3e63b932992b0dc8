# SPDX-License-Identifier: Apache-2.0
"""Writes mean((x * w)^2) in float64."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import onnx_graph
import wire

DOUBLE = 11
graph = onnx_graph.Graph("none.data")
x = graph.input("x", DOUBLE, ["batch", 4])
graph.parts.append(wire.message(5, onnx_graph.tensor("w", DOUBLE, [4], wire.message(9, bytes(32)))))
h = graph.node("Mul", [x, "w"])
graph.output(graph.node("ReduceMean", [graph.node("Mul", [h, h])], keepdims=0), "loss", DOUBLE, [])
pathlib.Path(sys.argv[1]).write_bytes(graph.model("doubles", 17))
