# SPDX-License-Identifier: Apache-2.0
"""A parameter of rank 0, a factor as of a temperature: five steps of the optimizer that holds rows and columns of larger ones apart
(oracle: PyTorch's formula of Adafactor for values without a matrix, torch/optim/_adafactor.py, in Python's floats).

Usage: scalar-parameter.py FOLDER
"""
import math
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

STEPS, RATE, START = 5, 0.01, 0.75
X, T = [0.5, -1.25, 2.0, 0.25], [1.0, 0.5, -0.75, 2.0]
FOLDER = pathlib.Path(sys.argv[1])


def write_model(path):
    g = Graph(path.name + ".data")
    for name in ("x", "t"):
        g.input(name, FLOAT, ["batch", 1])
    off = g.node("Sub", [g.node("Mul", ["x", g.parameter("scale", [])]), "t"])
    g.output(g.node("ReduceMean", [g.node("Mul", [off, off])], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(g.model("scalar", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack("<f", START))


def adafactor():
    value, variance, first, second = START, 0.0, 2.0**-23, 1e-3
    for step in range(1, STEPS + 1):
        gradient = sum(2 * (x * value - t) * x for x, t in zip(X, T)) / len(X)
        weight = step**-0.8
        variance += weight * (gradient * gradient - variance)
        alpha = max(second, abs(value)) * min(RATE, 1 / math.sqrt(step))
        update = gradient / math.sqrt(max(variance, first * first))
        value -= alpha * update / max(1.0, abs(update))
    return value


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_model(FOLDER / "scalar.onnx")
    tensors.write(FOLDER / "data.safetensors", {name: ("F32", [4, 1], struct.pack("<4f", *values)) for name, values in (("x", X), ("t", T))})
    run("accumc", FOLDER / "scalar.onnx", "--batch", 4, "--micro-batch", 3, "--trainable", "scale", "--optimizer", "adafactor",
        "--precision", "f64", "--target", "reference", "-o", FOLDER / "scalar.accum")
    run("accum-run", FOLDER / "scalar.accum", "--data", FOLDER / "data.safetensors", "--steps", STEPS, "--lr", RATE, "--no-shuffle", "--save",
        FOLDER / "out.safetensors")
    dtype, shape, values = tensors.read(FOLDER / "out.safetensors")["scale"]
    found, = struct.unpack({"F64": "<d", "F32": "<f"}[dtype], bytes(values))
    expected = adafactor()
    print(f"scale {found}, expected {expected}")
    assert shape == [] and abs(found - expected) <= (1e-12 if dtype == "F64" else 1e-7), (shape, found, expected)


main()
