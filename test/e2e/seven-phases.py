# SPDX-License-Identifier: Apache-2.0
"""A step of seven phases, written by hand as what `differentiate` leaves, through fuse, plan, schedule, emit and a run.

Usage: seven-phases.py FOLDER. The loss is the square root of a mean over the batch, of inputs from which the batch's mean is
subtracted: two loops of totals, a value computed once, a loop over the encoder whose sum depends on the weights, the rest of the
loss computed once from that, a loop with the gradients, and the update. Three steps of SGD against loops in Python, however the
batch is cut: micro-batch:devices of 11 samples. In f64 on the reference, in f32 and bf16 on the host, on simulated GPU kernels, and
with sharded state.
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
from windows import close, f32

SAMPLES, WIDTH, OUT, STEPS, RATE = 11, 3, 2, 3, 0.1
NAMES = ["counts", "moments", "mean", "encode", "whole", "micro", "update"]
TARGETS = {"f64": (["--target", "reference", "--precision", "f64"], [], [(11, 1), (3, 1), (1, 1), (4, 2), (3, 3)]),
           "f32": ([], [], [(11, 1), (4, 1), (3, 2)]),
           "zero3": (["--shard", "zero3"], [], [(3, 2), (2, 3)]),
           "bf16": (["--precision", "bf16"], [], [(4, 1), (3, 2)]),
           "bf16-zero3": (["--precision", "bf16", "--shard", "zero3"], [], [(3, 2)]),
           "sim": (["--target", "h100", "--with-sim"], ["--target", "sim"], [(4, 1), (3, 2)])}
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "zero3": 2e-5, "bf16": 2e-2, "bf16-zero3": 2e-2, "sim": 2e-5}


def loops(element, last, adds):
    """The loops and once-phases of a step; `last` is the name of the last one, which has gradients where it `adds` them."""
    r, b, p = (lambda shape, kind=k, e=element: f"tensor<{shape}{e}, #nn.{kind}>" for k in ("replicated", "batched<0>", "partial<sum>"))
    x, t, valid = b("1x3x"), b("1x2x"), "tensor<1xi1, #nn.batched<0>>"
    count = "tensor<i64, #nn.replicated>"
    error = f"""
    %w = train.load_param @w : {r("3x2x")}
    %d = nn.elementwise <sub> (%x, %mean) : ({x}, {r("3x")}) -> {x}
    %y = nn.contract "bk,kn->bn" (%d, %w) : ({x}, {r("3x2x")}) -> {t}
    %all = nn.elementwise <sub> (%y, %t) : ({t}, {t}) -> {t}
    %e = nn.mask_rows(%all, %valid) {{dim = 0 : i64}} : ({t}, {valid}) -> {t}"""
    arguments = f"%x: {x} = %x, %t: {t} = %t, %valid: {valid} = %valid, %mean: {r('3x')} = %mean"
    wide = "%sum" if element == "f64" else "%wide"
    cast = "" if element == "f64" else f"\n    %wide = nn.cast %sum : {p('')} -> {p('', e='f64')}"
    gradient = f"""
    %dw = nn.contract "bk,bn->kn" (%d, %s) : ({x}, {t}) -> {p("3x2x")}
    train.yield {wide}, %dw : {p("", e="f64")}, {p("3x2x")} to ["loss", @w]"""
    return f"""
  %count = train.phase "counts" loop(%valid: {valid} = %valid) -> {count} {{
    %0 = nn.cast %valid : {valid} -> tensor<1xi64, #nn.batched<0>>
    %1 = nn.reduce <sum> (%0) {{axes = array<i64: 0>}} : (tensor<1xi64, #nn.batched<0>>) -> tensor<i64, #nn.partial<sum>>
    train.yield %1 : tensor<i64, #nn.partial<sum>> to ["count"]
  }}
  %sums = train.phase "moments" loop(%x: {x} = %x, %valid: {valid} = %valid) -> {r("3x")} {{
    %0 = nn.mask_rows(%x, %valid) {{dim = 0 : i64}} : ({x}, {valid}) -> {x}
    %1 = nn.reduce <sum> (%0) {{axes = array<i64: 0>}} : ({x}) -> {p("3x")}
    train.yield %1 : {p("3x")} to ["sums"]
  }}
  %mean, %samples = train.phase "mean" once(%count: {count} = %count, %sums: {r("3x")} = %sums) -> ({r("3x")}, {r("")}) {{
    %n = nn.cast %count : {count} -> {r("")}
    %0 = nn.elementwise <div> (%sums, %n) : ({r("3x")}, {r("")}) -> {r("3x")}
    train.yield %0, %n : {r("3x")}, {r("")}
  }}
  %squares = train.phase "encode" loop({arguments}) -> {r("")} {{{error}
    %0 = nn.elementwise <mul> (%e, %e) : ({t}, {t}) -> {t}
    %1 = nn.reduce <sum> (%0) {{axes = array<i64: 0, 1>}} : ({t}) -> {p("")}
    train.yield %1 : {p("")} to ["squares"]
  }}
  %weight = train.phase "whole" once(%squares: {r("")} = %squares, %n: {r("")} = %samples) -> {r("")} {{
    %0 = nn.elementwise <div> (%squares, %n) : ({r("")}, {r("")}) -> {r("")}
    %1 = nn.elementwise <sqrt> (%0) : ({r("")}) -> {r("")}
    %2 = nn.elementwise <mul> (%1, %n) : ({r("")}, {r("")}) -> {r("")}
    %3 = nn.elementwise <reciprocal> (%2) : ({r("")}) -> {r("")}
    train.yield %3 : {r("")}
  }}
  {"%loss, %dw" if adds else "%loss"} = train.phase "{last}" loop({arguments}, %weight: {r("")} = %weight) -> {
      f"({r('', e='f64')}, {r('3x2x')})" if adds else r("", e="f64")} {{{error}
    %s = nn.elementwise <mul> (%e, %weight) : ({t}, {r("")}) -> {t}
    %0 = nn.elementwise <mul> (%s, %e) : ({t}, {t}) -> {t}
    %sum = nn.reduce <sum> (%0) {{axes = array<i64: 0, 1>}} : ({t}) -> {p("")}{cast}{
        gradient if adds else f'''
    train.yield {wide} : {p("", e="f64")} to ["loss"]'''}
  }}"""


def dump(element, weights):
    """The module that `differentiate` would leave, of a model whose one parameter is in the file `weights`."""
    arguments = (f"%x: tensor<1x3x{element}, #nn.batched<0>>, %t: tensor<1x2x{element}, #nn.batched<0>>, %valid: tensor<1xi1, #nn.batched<0>>, "
                 "%first: tensor<i64, #nn.replicated>, %rng: tensor<3xi64, #nn.replicated>")
    inputs = '{name = "x"}, {name = "t"}, {name = "valid"}, {name = "first_row"}, {name = "rng"}'
    weight, hyper = f"tensor<3x2x{element}, #nn.replicated>", "tensor<8xf64, #nn.replicated>"
    return f"""module attributes {{accum.phase = "differentiate"}} {{
train.param @w : tensor<3x2x{element}> from <"{weights}", 0, {weights.stat().st_size}, 0> trained
train.step @step inputs [{inputs}, {{name = "hyper"}}] {{
^bb0({arguments}, %hyper: {hyper}):{loops(element, "micro", True)}
  train.phase "update" once(%hyper: {hyper} = %hyper, %dw: {weight} = %dw) {{
    train.update "sgd" @w, %dw, %hyper : {weight}, {hyper}
    train.yield
  }}
}}
train.step @eval inputs [{inputs}] {{
^bb0({arguments}):{loops(element, "evaluation", False)}
}}
}}
"""


def trained(x, t, w):
    """Losses of the steps, and the weights after them."""
    mean = [sum(column) / SAMPLES for column in zip(*x)]
    rows = [[v - m for v, m in zip(row, mean)] for row in x]
    losses = []
    for _ in range(STEPS):
        errors = [[sum(row[k] * w[k * OUT + j] for k in range(WIDTH)) - target[j] for j in range(OUT)] for row, target in zip(rows, t)]
        losses.append(math.sqrt(sum(e * e for row in errors for e in row) / SAMPLES))
        gradient = [sum(row[k] * error[j] for row, error in zip(rows, errors)) / (SAMPLES * losses[-1])
                    for k in range(WIDTH) for j in range(OUT)]
        w = [value - RATE * slope for value, slope in zip(w, gradient)]
    return losses, w


def check(folder, precision, cut, values, expected):
    x, t, w = values
    target, device, _ = TARGETS[precision]
    element, kind, dtype = ("f64", "d", "F64") if precision == "f64" else ("f32", "f", "F32")
    weights, path, data = folder / f"{element}.weights", folder / f"{element}.mlir", folder / f"{element}.safetensors"
    weights.write_bytes(struct.pack(f"<{len(w)}{kind}", *w))
    path.write_text(dump(element, weights))
    tensors.write(data, {name: (dtype, [SAMPLES, len(rows[0])], b"".join(struct.pack(f"<{len(row)}{kind}", *row) for row in rows))
                         for name, rows in (("x", x), ("t", t))})
    artifact, log, saved = folder / f"{precision}.accum", folder / "log.jsonl", folder / "weights.safetensors"
    log.unlink(missing_ok=True)
    run("accumc", path, "--batch", SAMPLES, "--micro-batch", cut[0], "--devices", cut[1], "--optimizer", "sgd", "-o", artifact, *target)
    run("accum-run", artifact, "--data", data, "--steps", STEPS, "--no-shuffle", "--lr", RATE, "--eval", data, "--progress", "none",
        *device, "--log", log, "--save", saved)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    what = f"{precision} micro-batch {cut[0]} on {cut[1]} devices:"
    close(f"{what} losses", [line["loss"] for line in lines if "loss" in line], expected[0], TOLERANCE[precision])
    [(dtype, _, found)] = tensors.read(saved).values()
    close(f"{what} weights", array.array("d" if dtype == "F64" else "f", bytes(found)), expected[1], TOLERANCE[precision])
    close(f"{what} evaluation", [line["eval_loss"] for line in lines if "eval_loss" in line], [expected[2]], TOLERANCE[precision])
    phases = json.loads((artifact / "manifest.json").read_text())["phases"]
    assert [row["name"] for row in phases if row["part"] == "step"] == NAMES, phases
    assert [row["inputs"] for row in phases if row["loop"]][0] == ["valid"], phases
    if precision == "f64":
        run("accum-run", artifact, "--verify")


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    x, t = ([f32(draw.uniform(2, 5) for _ in range(size)) for _ in range(SAMPLES)] for size in (WIDTH, OUT))
    w = f32(draw.uniform(-1, 1) for _ in range(WIDTH * OUT))
    losses, after = trained(x, t, w)
    expected = losses, after, trained(x, t, after)[0][0]
    cuts = [(precision, cut) for precision, (*_, cuts) in TARGETS.items() for cut in cuts]
    for precision, cut in cuts:
        check(folder, precision, cut, (x, t, w), expected)
    print(f"{len(cuts)} cuts agree")


main(pathlib.Path(sys.argv[1]))
