# SPDX-License-Identifier: Apache-2.0
"""`other-tools.py ends|part|sizes|fused FILE`: what tools other than PyTorch's exporters write. A slice of the batch up to 1,000,000,000, as
tf2onnx ends them, or up to 3; sizes of -1 and `?` and a weight that is a Constant node, as Paddle's exporter writes them; an operator of
onnxruntime's own."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import wire
from onnx_graph import FLOAT, Graph, tensor

kind, path = sys.argv[1], pathlib.Path(sys.argv[2])
graph = Graph(path.name + ".data")
if kind == "sizes":
    unknown = [-1, "?", "?"]
    dims = b"".join(wire.message(1, wire.message(2, d) if isinstance(d, str) else wire.number(1, d & (1 << 64) - 1)) for d in unknown)
    graph.parts.append(wire.message(11, wire.message(1, "x") + wire.message(2, wire.message(1, wire.number(1, FLOAT) + wire.message(2, dims)))))
    raw = struct.pack("<12f", *((5 * i % 7) / 4 - 0.8 for i in range(12)))
    h = graph.node("MatMul", ["x", graph.node("Constant", [], value=tensor("", FLOAT, [4, 3], wire.message(9, raw)))])
else:
    x = graph.input("x", FLOAT, ["batch", 4])
    h = graph.node("MatMul", [x, graph.parameter("fc.weight", [4, 3])])
if kind in ("ends", "part"):
    end = 1_000_000_000 if kind == "ends" else 3
    h = graph.node("Slice", [h, graph.constant([0]), graph.constant([end]), graph.constant([0])])
if kind == "fused":
    graph.parts.append(wire.message(1, b"".join([
        wire.message(1, h), wire.message(2, "fused"), wire.message(3, "fused"), wire.message(4, "BiasGelu"), wire.message(7, "com.microsoft")])))
    h = "fused"
graph.output(graph.node("ReduceMean", [graph.node("Mul", [h, h])], keepdims=0), "loss", FLOAT, [])
path.write_bytes(graph.model("other-tools", 17))
path.with_name(path.name + ".data").write_bytes(bytes(graph.bytes))
