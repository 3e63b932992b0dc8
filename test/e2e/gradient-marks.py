# SPDX-License-Identifier: Apache-2.0
"""What metadata says of gradients: `make FILE.onnx` writes mean(x * detach(x)) of rows of a table, as the dynamo exporter
does, `check FILE.safetensors` compares its gradient. `--lost`: as if the exporter's optimiser had dropped the detach."""
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import wire
from onnx_graph import FLOAT, INT64, Graph

TABLE = [[0.5, -1.0], [2.0, 0.25], [-0.75, 1.5], [1.25, -0.5]]
IDS = [[1, 3, 3], [0, 1, 3], [2, 2, 1], [3, 1, 0], [1, 1, 2]]
PADDING = 3


def node(kind, inputs, output, call):
    call = f"%{output} : [num_users=1] = call_function[target=torch.ops.aten.{call}, kwargs = {{}})"
    entry = wire.message(1, "pkg.torch.onnx.fx_node") + wire.message(2, call)
    return wire.message(1, b"".join([*(wire.message(1, i) for i in inputs), wire.message(2, output), wire.message(3, f"node_{output}"),
                                     wire.message(4, kind), wire.message(9, entry)]))


def make(path, lost):
    graph = Graph(path.name + ".data")
    graph.input("ids", INT64, ["batch", 3])
    table = graph.parameter("wte.weight", [4, 2])
    graph.parts.append(node("Gather", [table, "ids"], "embedding", f"embedding.default](args = (%p_wte_weight, %ids, {PADDING})"))
    if not lost:
        graph.parts.append(node("Identity", ["embedding"], "detach", "detach.default](args = (%embedding,)"))
    factor = "embedding" if lost else "detach"
    graph.parts.append(node("Mul", ["embedding", factor], "mul", "mul.Tensor](args = (%embedding, %detach)"))
    bias = graph.parameter("bias", [2])
    loss = graph.node("ReduceMean", [graph.node("Add", ["mul", bias])], keepdims=0)
    graph.output(loss, "loss", FLOAT, [])
    path.write_bytes(graph.model("gradient-marks", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack("<10f", *(x for row in TABLE for x in row), 0.5, -0.5))
    flat = [i for row in IDS for i in row]
    tensors.write(path.with_suffix(".safetensors"), {"ids": ("I64", [len(IDS), 3], struct.pack(f"<{len(flat)}q", *flat))})


def check(path):
    gradient = struct.unpack("<8f", tensors.read(path)["wte.weight"][2])
    for row, values in enumerate(TABLE):
        times = 0 if row == PADDING else sum(sample.count(row) for sample in IDS)
        for column, value in enumerate(values):
            expected, got = times * value / (len(IDS) * 3 * 2), gradient[row * 2 + column]
            assert abs(got - expected) < 1e-6, f"row {row}: {got}, expected {expected}"


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]), "--lost" in sys.argv)
    else:
        check(pathlib.Path(sys.argv[2]))
