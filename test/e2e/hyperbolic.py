# SPDX-License-Identifier: Apache-2.0
"""`hyperbolic.py make FILE.onnx` writes the sum of s * f(w * x) over functions f and places, x being 1: the gradient of s is a value of f and
that of w a derivative. `check GRADIENTS` compares them with Python's (oracle: the module math)."""
import math
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

SAMPLES = 3
SIZES = [0.0, 1e-30, 1e-7, 1e-3, 0.3, 0.9]
ANY = [sign * size for size in [*SIZES, 1.0, 5.0, 17.0, 40.0, 88.0] for sign in (1, -1)]
FUNCTIONS = {  # values, function, derivative
    "Sinh": ([*ANY, 89.0, -89.0], math.sinh, math.cosh),
    "Cosh": ([*ANY, 89.0, -89.0], math.cosh, math.sinh),
    "Asinh": ([*ANY, 1e8, -1e8], math.asinh, lambda x: 1 / math.hypot(x, 1)),
    "Acosh": ([1.0001, 1.5, 2.0, 17.0, 1e8], math.acosh, lambda x: 1 / math.sqrt(x * x - 1)),
    "Atanh": ([sign * size for size in [*SIZES, 0.999] for sign in (1, -1)], math.atanh, lambda x: 1 / (1 - x * x)),
}
# Equal tensors would be taken for one parameter.
PLACES = {kind: [0.2 + number / 64 + (kind == "Acosh") * 2, *row[0]] for number, (kind, row) in enumerate(FUNCTIONS.items())}


def scales(kind):
    """Of every place; a large value times its scale can be summed."""
    own = 1 + list(FUNCTIONS).index(kind) / 8
    return [single(own * (1e-30 if abs(value) > 80 else 1.0)) for value in PLACES[kind]]


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def make(path):
    graph, numbers = Graph(path.name + ".data"), []
    x, total = graph.input("x", FLOAT, ["batch", 1]), None
    for kind, values in PLACES.items():
        y = graph.node(kind, [graph.node("Mul", [x, graph.parameter(f"{kind}.w", [len(values)])])])
        mean = graph.node("ReduceMean", [graph.node("Mul", [y, graph.parameter(f"{kind}.s", [len(values)])])], keepdims=0)
        numbers += values + scales(kind)
        total = mean if total is None else graph.node("Add", [total, mean])
    graph.output(total, "loss", FLOAT, [])
    path.write_bytes(graph.model("hyperbolic", 18))
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(numbers)}f", *numbers))
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [SAMPLES, 1], struct.pack(f"<{SAMPLES}f", *[1.0] * SAMPLES))})


def near(what, got, expected):
    assert abs(got - expected) <= 1e-5 * abs(expected) + 1e-37, f"{what}: {got}, expected {expected}"


def check(path):
    found = tensors.read(path)
    for kind, (_, function, derivative) in FUNCTIONS.items():
        values = PLACES[kind]
        w, s = (struct.unpack(f"<{len(values)}f", found[f"{kind}.{name}"][2]) for name in "ws")
        for place, (value, scale) in enumerate(zip(map(single, values), scales(kind))):
            near(f"{kind}({value})", s[place] * len(values), function(value))
            near(f"derivative of {kind} at {value}", w[place] * len(values), derivative(value) * scale)


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
