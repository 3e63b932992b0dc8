# SPDX-License-Identifier: Apache-2.0
"""`FOLDER`: x[arange(N), i] = v and += v as exporters write them: ScatterND, whose index tuples are the place in the batch and a number
of the data. The loss is mean(c * h'), where rows of h = x w, [N, S, D], are overwritten with v, or v is added to them; so its gradients are
sums of x * c and of c over rows (oracle: brute force over the places below, the last of several at one place, negative ones from the end)."""
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, INT64, Graph

BATCH, ROWS, WIDTH = 5, 6, 3
ONE = [[4], [0], [-1], [2], [2]]
SEVERAL = [[4, 1, 4], [0, 5, 1], [-1, 2, 5], [3, 3, 3], [2, 0, 1]]


def number(i):
    return ((7 * i) % 13) / 4 - 1.5


def make(path, places, reduction):
    graph, count = Graph(path.name + ".data"), len(places[0])
    x, c = (graph.input(name, FLOAT, ["batch", ROWS, WIDTH]) for name in "xc")
    i = graph.input("i", INT64, ["batch", count])
    h = graph.node("MatMul", [x, graph.parameter("fc.weight", [WIDTH, WIDTH])])
    batch = graph.node("Gather", [graph.node("Shape", [x]), graph.constant(0)])
    samples = graph.node("Unsqueeze", [graph.node("Range", [graph.constant(0), batch, graph.constant(1)]), graph.constant([1])])
    shape = graph.node("Shape", [i])
    both = [graph.node("Unsqueeze", [graph.node("Expand", [value, shape]), graph.constant([2])]) for value in (samples, i)]
    tuples = graph.node("Concat", both, axis=2)
    rows = graph.node("Expand", [graph.parameter("v.weight", [WIDTH]), graph.node("Concat", [shape, graph.constant([WIDTH])], axis=0)])
    written = graph.node("ScatterND", [h, tuples, rows], **({"reduction": reduction} if reduction != "none" else {}))
    graph.output(graph.node("ReduceMean", [graph.node("Mul", [written, c])], keepdims=0), "loss", FLOAT, [])
    path.write_bytes(graph.model("own-rows", 17))
    weights = [number(3 * k + 1) for k in range(WIDTH * WIDTH + WIDTH)]
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(weights)}f", *weights))


def expected(places, adds):
    """Gradients of w, row by row, and of v."""
    at = lambda n, s, d: (n * ROWS + s) * WIDTH + d
    w, v, total = [0.0] * (WIDTH * WIDTH), [0.0] * WIDTH, BATCH * ROWS * WIDTH
    for n in range(BATCH):
        written = [place % ROWS for place in places[n]]
        for s in range(ROWS):
            for d in range(WIDTH):
                slope = number(5 * at(n, s, d)) / total
                v[d] += slope * (written.count(s) if adds else s in written)
                for k in range(WIDTH):
                    w[k * WIDTH + d] += 0 if s in written and not adds else slope * number(at(n, s, k))
    return w, v


def main():
    folder, size = pathlib.Path(sys.argv[1]), BATCH * ROWS * WIDTH
    for name, places, reduction in (("one", ONE, "none"), ("several", SEVERAL, "none"), ("sum", ONE, "add"), ("sums", SEVERAL, "add")):
        make(folder / f"{name}.onnx", places, reduction)
        flat = [place for row in places for place in row]
        data = folder / f"{name}.safetensors"
        tensors.write(data, {"x": ("F32", [BATCH, ROWS, WIDTH], struct.pack(f"<{size}f", *map(number, range(size)))),
                             "c": ("F32", [BATCH, ROWS, WIDTH], struct.pack(f"<{size}f", *(number(5 * k) for k in range(size)))),
                             "i": ("I64", [BATCH, len(places[0])], struct.pack(f"<{len(flat)}q", *flat))})
        for m in (5, 2, 1):
            artifact, gradients = folder / f"{name}-{m}.accum", folder / f"{name}-{m}.gradients"
            run("accumc", folder / f"{name}.onnx", "--batch", BATCH, "--micro-batch", m, "--optimizer", "sgd", "-o", artifact)
            run("accum-run", artifact, "--data", data, "--steps", 1, "--no-shuffle", "--dump-gradients", gradients, "--save", folder / "p.safetensors")
            got = tensors.read(gradients)
            for key, wanted in zip(("fc.weight", "v.weight"), expected(places, reduction == "add")):
                found = struct.unpack(f"<{len(wanted)}f", got[key][2])
                assert all(abs(a - b) < 1e-6 for a, b in zip(found, wanted)), f"{name}, {m}: {key} is {found}, expected {wanted}"


if __name__ == "__main__":
    main()
