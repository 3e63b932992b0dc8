# SPDX-License-Identifier: Apache-2.0
"""`make FILE.onnx` writes the sum of the means of some einsums: three operands, ellipses, no right side, an index twice in an
operand, extents of 1 that broadcast; `check GRADIENTS LOG` compares with sums written out in plain Python (oracle: the definition)."""
import itertools
import json
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

N, S, D, E = 3, 2, 2, 2
X = [0.5, -1.0, 2.0, 0.25, -0.75, 1.5, 1.25, -0.5, 0.1, 0.9, -1.1, 0.3]  # [N, S, D]
W = [0.2, -0.4, 0.6, 0.8, -1.0, 1.2, 0.7, -0.3]  # [D, E, D]
V = [1.0, 0.5, -0.5, 0.25]  # [S, E]


def make(path):
    graph = Graph(path.name + ".data")
    x = graph.input("x", FLOAT, ["batch", S, D])
    w, v = graph.parameter("w", [D, E, D]), graph.parameter("v", [S, E])
    parts = [graph.node("Einsum", [x, w, v], equation="nsd,def,se->nsf"), graph.node("Einsum", [x, x], equation="...qd, ...kd -> ...qk"),
             graph.node("Einsum", [x, v], equation="nsd,se"),  # [d, e, n], per sample, no s
             graph.node("Einsum", [x], equation="nss->n"), graph.node("Einsum", [x], equation="ndd->nd"),
             graph.node("Einsum", [w], equation="ded->e"), graph.node("Einsum", [x, v], equation="nss,ss->n"),
             graph.node("Einsum", [x, graph.node("ReduceSum", [v, graph.constant([0])], keepdims=1)], equation="n...d,...d->n...")]
    total = None
    for part in parts:
        mean = graph.node("ReduceMean", [part], keepdims=0)
        total = mean if total is None else graph.node("Add", [total, mean])
    graph.output(total, "loss", FLOAT, [])
    path.write_bytes(graph.model("einsum", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack("<12f", *W, *V))
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [N, S, D], struct.pack("<12f", *X))})


def loss(w, v):
    x = lambda n, s, d: X[(n * S + s) * D + d]
    every = lambda *sizes: itertools.product(*map(range, sizes))
    first = sum(x(n, s, d) * w[(d * E + e) * D + f] * v[s * E + e] for n, s, d, e, f in every(N, S, D, E, D)) / (N * S * D)
    second = sum(x(n, q, d) * x(n, k, d) for n, q, k, d in every(N, S, S, D)) / (N * S * S)
    third = sum(x(n, s, d) * v[s * E + e] for n, s, d, e in every(N, S, D, E)) / (N * D * E)
    trace = sum(x(n, s, s) for n, s in every(N, S)) / N
    diagonal = sum(x(n, s, s) for n, s in every(N, S)) / (N * S)
    own = sum(w[(d * E + e) * D + d] for d, e in every(D, E)) / E
    both = sum(x(n, s, s) * v[t * E + t] for n, s, t in every(N, S, S) if s == t) / N
    broadcast = sum(x(n, s, d) * v[t * E + d] for n, s, d, t in every(N, S, D, S)) / (N * S)
    return first + second + third + trace + diagonal + own + both + broadcast


def slope(f, values, at):
    up, down = list(values), list(values)
    up[at], down[at] = up[at] + 0.5, down[at] - 0.5  # linear in each: exact
    return f(up) - f(down)


def near(what, got, expected):
    assert abs(got - expected) <= 1e-5 * max(1, abs(expected)), f"{what}: {got}, expected {expected}"


def check(gradients, log):
    found = tensors.read(gradients)
    near("loss", json.loads(log.read_text())["loss"], loss(W, V))
    for i, got in enumerate(struct.unpack("<8f", found["w"][2])):
        near(f"w {i}", got, slope(lambda w: loss(w, V), W, i))
    for i, got in enumerate(struct.unpack("<4f", found["v"][2])):
        near(f"v {i}", got, slope(lambda v: loss(W, v), V, i))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]))
    else:
        check(*map(pathlib.Path, sys.argv[2:]))
