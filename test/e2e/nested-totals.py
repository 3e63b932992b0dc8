# SPDX-License-Identifier: Apache-2.0
"""Totals that need totals, against loops: loss, and gradients by central differences, however the batch is cut.

Usage: nested-totals.py FOLDER. Inputs are standardised over the batch, and each sample weighs what its class is rarer, by weights
that their sum normalises: the variance needs the mean, the sum of the weights the counts. Cuts are micro-batch:devices of 7
samples. In f64 on the reference, in f32 on the host and on simulated GPU kernels.
"""
import array
import json
import math
import pathlib
import random
import struct
import sys

from program import MODELS, run
import tensors

sys.path.insert(0, str(MODELS))
from onnx_graph import FLOAT, INT64, Graph
from windows import close, differences, f32

SAMPLES, WIDTH, CLASSES = 7, 3, 4
LABELS = [0, 2, 2, 3, 2, 0, 3]
TARGETS = {"f64": (["--target", "reference", "--precision", "f64"], [], [(7, 1), (2, 1), (1, 1), (2, 2), (1, 3), (3, 3)]),
           "f32": ([], [], [(7, 1), (3, 1), (2, 2)]),
           "sim": (["--target", "h100", "--with-sim"], ["--target", "sim"], [(2, 1), (2, 2)])}
TOLERANCE = {"f64": 1e-7, "f32": 2e-5, "sim": 2e-5}


def write_model(path):
    graph = Graph(path.name + ".data")
    x, labels = graph.input("x", FLOAT, ["batch", WIDTH]), graph.input("labels", INT64, ["batch"])
    centred = graph.node("Sub", [x, graph.node("ReduceMean", [x], axes=[0], keepdims=1)])
    variance = graph.node("ReduceMean", [graph.node("Mul", [centred, centred])], axes=[0], keepdims=1)
    scale = graph.node("Sqrt", [graph.node("Add", [variance, graph.constant(1e-3, FLOAT)])])
    weight, bias = graph.parameter("w", [WIDTH, CLASSES]), graph.parameter("b", [CLASSES])
    logits = graph.node("Add", [graph.node("MatMul", [graph.node("Div", [centred, scale]), weight]), bias])
    losses = graph.node("SoftmaxCrossEntropyLoss", [logits, labels], reduction="none")
    column = graph.node("Unsqueeze", [labels, graph.constant([1])])
    hits = graph.node("Cast", [graph.node("Equal", [column, graph.constant(list(range(CLASSES)))])], to=FLOAT)
    counts = graph.node("ReduceSum", [hits, graph.constant([0])], keepdims=0)
    rare = graph.node("Div", [graph.node("ReduceSum", [counts], keepdims=0), counts])
    weights = graph.node("Gather", [rare, labels], axis=0)
    lost = graph.node("ReduceSum", [graph.node("Mul", [losses, weights])], keepdims=0)
    graph.output(graph.node("Div", [lost, graph.node("ReduceSum", [weights], keepdims=0)]), "loss", FLOAT, [])
    path.write_bytes(graph.model("nested", 17))


def loss_of(_, x, parameters):
    columns = list(zip(*x))
    means = [sum(column) / SAMPLES for column in columns]
    scales = [math.sqrt(sum((v - mean) ** 2 for v in column) / SAMPLES + 1e-3) for column, mean in zip(columns, means)]
    total = count = 0
    for row, label in zip(x, LABELS):
        z = [(v - mean) / scale for v, mean, scale in zip(row, means, scales)]
        logits = [b + sum(z[k] * parameters["w"][k * CLASSES + c] for k in range(WIDTH)) for c, b in enumerate(parameters["b"])]
        weight = SAMPLES / LABELS.count(label)
        total += weight * (math.log(sum(map(math.exp, logits))) - logits[label])
        count += weight
    return total / count


def check(path, data, precision, cut, expected):
    target, device, _ = TARGETS[precision]
    artifact, found, log = path.with_suffix(".accum"), path.with_name("gradients.safetensors"), path.with_name("log.jsonl")
    run("accumc", path, "--batch", SAMPLES, "--micro-batch", cut[0], "--devices", cut[1], "--optimizer", "sgd", "-o", artifact, *target)
    run("accum-run", artifact, "--data", data, "--steps", 1, "--no-shuffle", "--lr", 0.1, "--progress", "none", *device,
        "--log", log, "--save", path.with_name("weights.safetensors"), "--dump-gradients", found)
    loss, gradients = expected
    what = f"{precision} micro-batch {cut[0]} on {cut[1]} devices:"
    close(f"{what} loss", [json.loads(log.read_text().splitlines()[0])["loss"]], [loss], TOLERANCE[precision])
    for parameter, (dtype, _, values) in tensors.read(found).items():
        kind = "d" if dtype == "F64" else "f"
        close(f"{what} {parameter}", array.array(kind, bytes(values)), gradients[parameter], TOLERANCE[precision])
    if precision != "sim":
        run("accum-run", artifact, "--verify")


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    draw, path, data = random.Random(1), folder / "nested.onnx", folder / "data.safetensors"
    write_model(path)
    parameters = {name: f32(draw.uniform(-1, 1) for _ in range(size)) for name, size in (("w", WIDTH * CLASSES), ("b", CLASSES))}
    path.with_name(path.name + ".data").write_bytes(b"".join(struct.pack(f"<{len(v)}f", *v) for v in parameters.values()))
    x = [f32(draw.uniform(2, 5) for _ in range(WIDTH)) for _ in range(SAMPLES)]  # far from zero: the mean matters
    tensors.write(data, {"x": ("F32", [SAMPLES, WIDTH], b"".join(struct.pack(f"<{WIDTH}f", *row) for row in x)),
                         "labels": ("I64", [SAMPLES], struct.pack(f"<{SAMPLES}q", *LABELS))})
    expected = loss_of(None, x, parameters), differences(None, x, parameters, loss_of)
    cuts = [(precision, cut) for precision, (*_, cuts) in TARGETS.items() for cut in cuts]
    for precision, cut in cuts:
        check(path, data, precision, cut, expected)
    print(len(cuts), "cuts agree")


main(pathlib.Path(sys.argv[1]))
