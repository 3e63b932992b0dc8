# SPDX-License-Identifier: Apache-2.0
"""`FOLDER`: inputs of a model that are called as the inputs that the program adds, with the types of those, and parameters that are called as
functions of the program. The loss is the mean over the samples with `valid` of first_row . w + s rng (oracle: the formula)."""
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import BOOL, FLOAT, INT64, Graph

BATCH, WIDTH = 5, 3
VALID, FIRST = [1, 0, 1, 1, 0], [[((7 * i + 3 * k) % 11) / 4 - 1 for k in range(WIDTH)] for i in range(BATCH)]
NUMBERS = [[3, -2], [5, 1], [0, 4], [-7, 2], [6, 6]]
PARAMETERS = [("step", "eval"), ("forward", "program"), ("targets", "seed"), ("valid.weight", "first_row.weight")]


def make(path, names):
    graph = Graph(path.name + ".data")
    valid, first = graph.input("valid", BOOL, ["batch", 1]), graph.input("first_row", FLOAT, ["batch", WIDTH])
    rng = graph.input("rng", INT64, ["batch", 2])
    product = graph.node("MatMul", [first, graph.parameter(names[0], [WIDTH, 1])])
    scaled = graph.node("MatMul", [graph.node("Cast", [rng], to=FLOAT), graph.parameter(names[1], [2, 1])])
    counted = graph.node("Cast", [valid], to=FLOAT)
    sums = [graph.node("ReduceSum", [value], keepdims=0)
            for value in (graph.node("Mul", [graph.node("Add", [product, scaled]), counted]), counted)]
    graph.output(graph.node("Div", sums), "loss", FLOAT, [])
    path.write_bytes(graph.model("own-names", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack("<5f", 0.5, -1, 2, 0.25, 1))


def main():
    folder = pathlib.Path(sys.argv[1])
    data = folder / "data.safetensors"
    tensors.write(data, {"valid": ("BOOL", [BATCH, 1], bytes(VALID)),
                         "first_row": ("F32", [BATCH, WIDTH], struct.pack(f"<{BATCH * WIDTH}f", *sum(FIRST, []))),
                         "rng": ("I64", [BATCH, 2], struct.pack(f"<{2 * BATCH}q", *sum(NUMBERS, [])))})
    mean = lambda rows: [sum(row[k] for row, counts in zip(rows, VALID) if counts) / sum(VALID) for k in range(len(rows[0]))]
    for index, names in enumerate(PARAMETERS):
        make(folder / f"{index}.onnx", names)
        for m in (5, 2):
            artifact, gradients = folder / f"{index}-{m}.accum", folder / f"{index}-{m}.gradients"
            run("accumc", folder / f"{index}.onnx", "--batch", BATCH, "--micro-batch", m, "--trainable", "*", "-o", artifact)
            run("accum-run", artifact, "--data", data, "--steps", 1, "--no-shuffle", "--dump-gradients", gradients, "--save", folder / "p.safetensors")
            got = tensors.read(gradients)
            for name, wanted in zip(names, (mean(FIRST), mean(NUMBERS))):
                found = struct.unpack(f"<{len(wanted)}f", got[name][2])
                assert all(abs(a - b) < 1e-6 for a, b in zip(found, wanted)), f"{names}, {m}: {name} is {found}, expected {wanted}"


if __name__ == "__main__":
    main()
