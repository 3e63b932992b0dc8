# SPDX-License-Identifier: Apache-2.0
"""--loss mse and --loss bce on a linear model of several outputs (oracle: loss and gradient in closed form, in Python's floats), in
micro-batches of several sizes, one of them ragged; and graphs that end in what a loss cannot take: one score, probabilities.

Usage: element-loss.py FOLDER
"""
import json
import math
import pathlib
import struct
import sys

import tensors
from program import run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, Graph

FOLDER = pathlib.Path(sys.argv[1])
SAMPLES, WIDTH, OUTPUTS = 5, 4, 3
# The first sample is zeros: its scores are exactly 0, where the loss must be smooth. The last scores are large.
X = [[0.0 if n == 0 else math.sin(1 + n + 0.7 * k) * (60 if n == 4 else 1) for k in range(WIDTH)] for n in range(SAMPLES)]
W = [[math.cos(k + 2.5 * c) for c in range(OUTPUTS)] for k in range(WIDTH)]
TARGETS = {"mse": [[math.sin(3 * n + c) for c in range(OUTPUTS)] for n in range(SAMPLES)],
           "bce": [[(1.0, 0.0, 0.25)[(n + c) % 3] for c in range(OUTPUTS)] for n in range(SAMPLES)]}


def flat(rows):
    return [value for row in rows for value in row]


def floats(rows):
    return struct.pack(f"<{len(flat(rows))}f", *flat(rows))


def rounded(rows):
    """As the files hold them: in f32."""
    values = struct.unpack(f"<{len(flat(rows))}f", floats(rows))
    return [values[i:i + len(rows[0])] for i in range(0, len(values), len(rows[0]))]


def write_model(name, outputs, last=None):
    graph = Graph(f"{name}.onnx.data")
    graph.input("x", FLOAT, ["batch", WIDTH])
    scores = graph.node("MatMul", ["x", graph.parameter("w", [WIDTH, outputs])])
    graph.output(graph.node(last, [scores]) if last else scores, "scores", FLOAT, ["batch", outputs])
    (FOLDER / f"{name}.onnx").write_bytes(graph.model(name, 17))
    (FOLDER / f"{name}.onnx.data").write_bytes(floats([row[:outputs] for row in W]))


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def expected(kind):
    """Loss, and its gradient of the weights."""
    x, w, targets = rounded(X), rounded(W), rounded(TARGETS[kind])
    loss, gradient = 0.0, [[0.0] * OUTPUTS for _ in range(WIDTH)]
    for row, wanted in zip(x, targets):
        for c, t in enumerate(wanted):
            score = sum(row[k] * w[k][c] for k in range(WIDTH))
            loss += (score - t) ** 2 if kind == "mse" else max(score, 0) - score * t + math.log1p(math.exp(-abs(score)))
            slope = 2 * (score - t) if kind == "mse" else sigmoid(score) - t
            for k in range(WIDTH):
                gradient[k][c] += row[k] * slope
    count = SAMPLES * OUTPUTS
    return loss / count, [value / count for value in flat(gradient)]


def check(kind, *options):
    artifact, log, gradients = FOLDER / "step.accum", FOLDER / "log.jsonl", FOLDER / "gradients.safetensors"
    run("accumc", FOLDER / "linear.onnx", "--batch", SAMPLES, "--loss", kind, "-o", artifact, *options)
    log.unlink(missing_ok=True)
    run("accum-run", artifact, "--data", FOLDER / f"{kind}.safetensors", "--steps", 1, "--log", log, "--dump-gradients", gradients,
        "--progress", "none")
    loss, gradient = expected(kind)
    found = json.loads(log.read_text().splitlines()[0])["loss"]
    dtype, shape, values = tensors.read(gradients)["w"]
    values = struct.unpack(f"<{WIDTH * OUTPUTS}{'d' if dtype == 'F64' else 'f'}", bytes(values))
    tolerance = 1e-12 if dtype == "F64" else 2e-6
    size = max(map(abs, gradient))
    if abs(found - loss) > tolerance * abs(loss) or any(abs(a - b) > tolerance * size for a, b in zip(values, gradient)):
        sys.exit(f"{kind} {' '.join(map(str, options))}: loss {found}, expected {loss}; gradient {values}, expected {gradient}")
    print(f"{kind} {' '.join(map(str, options))}: right")


FOLDER.mkdir(parents=True, exist_ok=True)
write_model("linear", OUTPUTS)
write_model("one", 1)
write_model("softmax", OUTPUTS, "Softmax")
write_model("sigmoid", OUTPUTS, "Sigmoid")
for each, wanted in TARGETS.items():
    tensors.write(FOLDER / f"{each}.safetensors", {"x": ("F32", [SAMPLES, WIDTH], floats(X)),
                                                   "targets": ("F32", [SAMPLES, OUTPUTS], floats(wanted))})
    for cut in ("none", "2", "1"):
        check(each, "--micro-batch", cut)
    check(each, "--micro-batch", "2", "--precision", "f64", "--target", "reference")
