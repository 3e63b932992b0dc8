# SPDX-License-Identifier: Apache-2.0
"""A table of positions, read as the dynamo exporter writes `weight[positions]` for positions repeated over the batch: GatherND of a
folded copy of the table. `make FILE.onnx`, and `check GRADIENTS` under the framework's names against the formula (oracle: below).

The loss is mean(x * table[positions]), so row p gets the sum of x over the places that read it, over the number of elements.
"""
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import wire
from onnx_graph import FLOAT, Graph, value_info

POSITIONS = [2, 0, 2]
ROWS, WIDTH, BATCH = 4, 4, 5  # square: the shape does not tell the layout


def entry(key, text):
    return wire.message(1, key) + wire.message(2, text)


def make(path):
    graph = Graph(path.name + ".data")
    x = graph.input("x", FLOAT, ["batch", len(POSITIONS), WIDTH])
    table = graph.parameter("val_0", [ROWS, WIDTH])
    signature = "p_positions_weight: PARAMETER target='positions.weight'\n"
    source = entry("pkg.onnxscript.optimizer.folded_from", "['positions.weight']")
    graph.parts.append(wire.message(16, entry("pkg.torch.export.ExportedProgram.graph_signature", signature)))
    graph.parts.append(wire.message(13, value_info(table, FLOAT, [ROWS, WIDTH]) + wire.message(4, source)))
    batch = graph.node("Gather", [graph.node("Shape", [x]), graph.constant([0])])
    repeats = graph.node("Concat", [batch, graph.constant([1])], axis=0)
    row = graph.node("Reshape", [graph.constant(POSITIONS), graph.constant([1, len(POSITIONS)])])
    tuples = graph.node("Unsqueeze", [graph.node("Tile", [row, repeats]), graph.constant([-1])])
    call = "%index : [num_users=1] = call_function[target=torch.ops.aten.index.Tensor](args = (%p_positions_weight, [%repeat]), kwargs = {})"
    graph.parts.append(wire.message(1, b"".join([
        wire.message(1, table), wire.message(1, tuples), wire.message(2, "index"), wire.message(3, "node_index"),
        wire.message(4, "GatherND"), wire.message(9, entry("pkg.torch.onnx.fx_node", call))])))
    loss = graph.node("ReduceMean", [graph.node("Mul", [x, "index"])], keepdims=0)
    graph.output(loss, "loss", FLOAT, [])
    path.write_bytes(graph.model("indexed-table", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{ROWS * WIDTH}f", *(0.1 * i - 0.7 for i in range(ROWS * WIDTH))))
    flat = data()
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [BATCH, len(POSITIONS), WIDTH], struct.pack(f"<{len(flat)}f", *flat))})


def data():
    return [((7 * i) % 13) / 4 - 1.5 for i in range(BATCH * len(POSITIONS) * WIDTH)]


def check(path):
    _, shape, raw = tensors.read(path)["positions.weight"]
    got, flat = struct.unpack(f"<{ROWS * WIDTH}f", raw), data()
    assert list(shape) == [ROWS, WIDTH], shape
    expected = [0.0] * (ROWS * WIDTH)
    for i, x in enumerate(flat):
        expected[POSITIONS[i // WIDTH % len(POSITIONS)] * WIDTH + i % WIDTH] += x / len(flat)
    assert all(abs(a - b) < 1e-6 for a, b in zip(got, expected)), f"{got}, expected {expected}"


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
