# SPDX-License-Identifier: Apache-2.0
"""`make FILE.onnx` writes a model that is trained towards its own largest score, in a loss that ignores -100; `check GRADIENTS LOG`
compares with the loss and the gradient written out in plain Python (oracle: the definition)."""
import json
import math
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

N, D, C = 5, 2, 3
X = [0.5, -1.0, 2.0, 0.25, -0.75, 1.5, 1.25, -0.5, 0.1, 0.9]
W = [0.2, -0.4, 0.6, 0.8, -1.0, 1.2]


def make(path):
    graph = Graph(path.name + ".data")
    scores = graph.node("MatMul", [graph.input("x", FLOAT, ["batch", D]), graph.parameter("w", [D, C])])
    labels = graph.node("ArgMax", [scores], axis=-1, keepdims=0)
    graph.output(graph.node("SoftmaxCrossEntropyLoss", [scores, labels], ignore_index=-100, reduction="mean"), "loss", FLOAT, [])
    path.write_bytes(graph.model("pseudo-labels", 17))
    path.with_name(path.name + ".data").write_bytes(struct.pack("<6f", *W))
    tensors.write(path.with_suffix(".safetensors"), {"x": ("F32", [N, D], struct.pack("<10f", *X))})


def expected():
    loss, slopes = 0, [0] * (D * C)
    for n in range(N):
        scores = [sum(X[n * D + d] * W[d * C + c] for d in range(D)) for c in range(C)]
        whole = sum(map(math.exp, scores))
        loss += (math.log(whole) - max(scores)) / N
        for d in range(D):
            for c in range(C):
                slopes[d * C + c] += X[n * D + d] * (math.exp(scores[c]) / whole - (scores[c] == max(scores))) / N
    return loss, slopes


def check(gradients, log):
    loss, slopes = expected()
    found = json.loads(log.read_text())["loss"]
    assert abs(found - loss) < 1e-6, f"loss {found}, expected {loss}"
    got = struct.unpack("<6f", tensors.read(gradients)["w"][2])
    assert all(abs(a - b) < 1e-6 for a, b in zip(got, slopes)), f"gradient {got}, expected {slopes}"


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]))
    else:
        check(*map(pathlib.Path, sys.argv[2:]))
