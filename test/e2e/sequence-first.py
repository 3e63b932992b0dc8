# SPDX-License-Identifier: Apache-2.0
"""One model twice, `[N, S, E]` and `[S, N, E]`: `sequence-first.py FOLDER` writes both with the data that both take, samples
leading. What they train must be equal (oracle: each other; accum-diff compares)."""
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

SAMPLES, SEQUENCE, WIDTH = 7, 5, 4
WEIGHTS = {"w_in": [WIDTH, 6], "w_out": [6, 3]}


def floats(count, step):
    return struct.pack(f"<{count}f", *(((step * i) % 17) / 8 - 1 for i in range(count)))


def make(folder, name, shape, sequence):
    """A prefix sum along the sequence keeps positions apart."""
    graph = Graph("weights.data")
    x = graph.input("x", FLOAT, shape)
    for parameter, extents in WEIGHTS.items():
        graph.parameter(parameter, extents)
    hidden = graph.node("Tanh", [graph.node("MatMul", [x, "w_in"])])
    prefix = graph.node("CumSum", [hidden, graph.constant(sequence)])
    out = graph.node("MatMul", [prefix, "w_out"])
    graph.output(graph.node("ReduceMean", [graph.node("Mul", [out, out])], keepdims=0), "loss", FLOAT, [])
    (folder / f"{name}.onnx").write_bytes(graph.model(name, 17))


def main(folder):
    make(folder, "samples", ["n", SEQUENCE, WIDTH], 1)
    make(folder, "sequence", [SEQUENCE, "n", WIDTH], 0)
    (folder / "weights.data").write_bytes(b"".join(floats(a * b, 5) for a, b in WEIGHTS.values()))
    count = SAMPLES * SEQUENCE * WIDTH
    tensors.write(folder / "data.safetensors", {"x": ("F32", [SAMPLES, SEQUENCE, WIDTH], floats(count, 7))})


main(pathlib.Path(sys.argv[1]))
