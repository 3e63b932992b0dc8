# SPDX-License-Identifier: Apache-2.0
"""Derivatives exactly at the points where two pieces of a function meet, which PyTorch decides by convention.

`make FILE.onnx` writes sum over cases of mean(f(x + w)), each with a w of its own; `check GRADIENTS` compares with what PyTorch gives
(torch 2.15, float32): a clamp by numbers, hardtanh and relu6 pass nothing at a bound; a maximum of two tensors passes half; a norm
passes nothing where it is zero; amax divides among equal elements, and max over an axis gives all to the first (oracle: the list below).
The dynamo exporter writes a clamp by one number as Max or Min, max over an axis and amax as ReduceMax, and names them in the metadata.
"""
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import wire
from onnx_graph import FLOAT, Graph

SAMPLES = [[-1.0, 2.0, 0.5], [-2.0, 3.0, -1.0], [0.0, 0.0, 0.0], [2.0, -1.0, 1.0], [1.5, 1.5, 1.5]]  # of x + w
START = [0.25, -0.5, 1.0]  # of every w: no sum rounds
WIDTH = len(START)


def where(passes):
    return lambda row: [1.0 if passes(x) else 0.0 for x in row]


def norm(row):
    length = sum(x * x for x in row) ** 0.5
    return [x / length if length else 0.0 for x in row]


def divided(extremum):
    return lambda row: [(x == extremum(row)) / row.count(extremum(row)) for x in row]


def first(extremum):
    return lambda row: [float(place == row.index(extremum(row))) for place in range(len(row))]


# name -> (operator, bounds or axes as further operands, the traced call, derivatives of one sample's row)
CASES = {
    "clip": ("Clip", [-1.0, 2.0], None, where(lambda x: -1 < x < 2)),
    "clip-low": ("Clip", [-1.0], None, where(lambda x: x > -1)),
    "clamp-low": ("Max", [-1.0], "aten.clamp.Tensor](args = (%x, -1.0)", where(lambda x: x > -1)),
    "clamp-high": ("Min", [2.0], "aten.clamp.Tensor](args = (%x, None, 2.0)", where(lambda x: x < 2)),
    "maximum": ("Max", [-1.0], None, lambda row: [0.5 if x == -1 else float(x > -1) for x in row]),
    "norm": ("ReduceL2", None, None, norm),
    "amax": ("ReduceMax", None, "aten.amax.default](args = (%x, [1])", divided(max)),
    "amin": ("ReduceMin", None, None, divided(min)),
    "max-dim": ("ReduceMax", None, "aten.max.dim](args = (%x, 1)", first(max)),
    "min-dim": ("ReduceMin", None, "aten.min.dim](args = (%x, 1)", first(min)),
}


def node(kind, inputs, output, call):
    entry = wire.message(1, "pkg.torch.onnx.fx_node") + wire.message(2, f"%{output} : [num_users=1] = call_function[target=torch.ops.{call}, kwargs = {{}})")
    return wire.message(1, b"".join([*(wire.message(1, i) for i in inputs), wire.message(2, output), wire.message(3, f"node_{output}"),
                                     wire.message(4, kind), wire.message(9, entry)]))


def make(path):
    graph = Graph(path.name + ".data")
    graph.input("x", FLOAT, ["batch", WIDTH])
    total = None
    for name, (kind, bounds, call, _) in CASES.items():
        shifted = graph.node("Add", ["x", graph.parameter(name, [WIDTH])])
        more = [graph.constant([1])] if bounds is None else [graph.constant(bound, FLOAT) for bound in bounds]
        if call:
            value = name.replace("-", "_") + "_1"
            graph.parts.append(node(kind, [shifted, *more], value, call))
        else:
            value = graph.node(kind, [shifted, *more])
        mean = graph.node("ReduceMean", [value], keepdims=0)
        total = mean if total is None else graph.node("Add", [total, mean])
    graph.output(total, "loss", FLOAT, [])
    path.write_bytes(graph.model("kinks", 18))
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{WIDTH}f", *START) * len(CASES))
    flat = [x - w for row in SAMPLES for x, w in zip(row, START)]
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [len(SAMPLES), WIDTH], struct.pack(f"<{len(flat)}f", *flat))})


def check(gradients):
    found = tensors.read(gradients)
    for name, (_, bounds, _, derivatives) in CASES.items():
        got = struct.unpack(f"<{WIDTH}f", found[name][2])
        values = len(SAMPLES) * (WIDTH if bounds else 1)
        for column in range(WIDTH):
            expected = sum(derivatives(row)[column] for row in SAMPLES) / values
            assert abs(got[column] - expected) < 1e-6, f"{name} {column}: {got[column]}, expected {expected}"


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
