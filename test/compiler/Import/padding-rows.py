# SPDX-License-Identifier: Apache-2.0
"""`padding-rows.py constant|input FILE`: a decoder looks up padding, row 1, in place of labels that are ignored; or what an input says."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from onnx_graph import BOOL, FLOAT, INT64, Graph

graph = Graph("none.data")
ids, other = (graph.input(name, INT64, ["batch", 4]) for name in ("ids", "other"))
ignored = graph.input("ignored", BOOL, ["batch", 4])
filled = graph.node("Where", [ignored, graph.constant(1) if sys.argv[1] == "constant" else other, ids])
h = graph.node("Gather", [graph.parameter("wte.weight", [5, 2]), filled])
graph.output(graph.node("ReduceMean", [h], keepdims=0), "loss", FLOAT, [])
pathlib.Path(sys.argv[2]).write_bytes(graph.model("padding-rows", 17))
