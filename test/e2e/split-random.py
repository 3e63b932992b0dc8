# SPDX-License-Identifier: Apache-2.0
"""Random graphs whose samples meet, in micro-batches and whole, in f64: loss and gradients are equal, or the graph is refused.

Usage: split-random.py FOLDER FIRST COUNT [SAMPLES | --lengths]: seeds FIRST .. FIRST + COUNT - 1, on 7 or 12 samples where SAMPLES is not
given. From 512 on values of pairs are in tiles. --lengths: samples have positions, which encoders take the mean of, and are split at
several sizes.
"""
import array
import json
import pathlib
import random
import struct
import sys

from program import MODELS, run
import tensors

sys.path.insert(0, str(MODELS))
from onnx_graph import FLOAT, INT64, Graph

WIDTH, TOLERANCE, SIZES = 3, 1e-10, (2, 3, 6)


class Drawn:
    """A graph of one or two encoders, and of values by what their axes are: samples and features, pairs of samples, samples, none."""

    def __init__(self, draw, path, has_lengths):
        self.draw, self.graph, self.sizes = draw, Graph(path.name + ".data"), {}
        labels = self.graph.input("labels", INT64, ["batch"])
        self.same = self.cast(self.node("Equal", self.axis(labels, 1), self.axis(labels, 0)))
        places = ["length"] if has_lengths else []
        inputs = [self.graph.input(name, FLOAT, ["batch", *places, WIDTH]) for name in ("x", "y")[:draw.choice((1, 2))]]
        mask = self.cast(self.graph.input("mask", INT64, ["batch", "length"])) if has_lengths else None
        weights = [self.parameter(f"w{i}", [WIDTH, WIDTH]) for i in range(draw.choice((1, len(inputs))))]
        self.rows = [self.pooled(self.node("Tanh", self.node("MatMul", x, weights[i % len(weights)])), mask) for i, x in enumerate(inputs)]
        if draw.random() < 0.5:
            self.rows.append(self.node("Tanh", self.node("Mul", self.rows[0], self.parameter("scale", [1]))))
        self.pairs, self.vectors, self.numbers = [self.scores()], [], []
        for _ in range(draw.randint(2, 7)):
            draw.choice((self.row, self.pair, self.pair, self.vector, self.vector, self.number))()
        self.number()
        terms = self.draw.sample(self.numbers, min(len(self.numbers), 2)) + [self.number()]
        self.graph.output(self.node("Sum", *terms), "loss", FLOAT, [])
        path.write_bytes(self.graph.model("drawn", 17))

    def node(self, kind, *inputs, **attributes):
        return self.graph.node(kind, list(inputs), **attributes)

    def parameter(self, name, shape):
        self.sizes[name] = shape
        return self.graph.parameter(name, shape)

    def pooled(self, value, mask):
        """The mean of a sample's real positions."""
        if mask is None:
            return value
        return self.node("Div", self.total(self.node("Mul", value, self.axis(mask, 2)), [1]), self.total(mask, [1], keepdims=1))

    def axis(self, value, at):
        return self.node("Unsqueeze", value, self.graph.constant([at]))

    def cast(self, value):
        return self.node("Cast", value, to=FLOAT)

    def number_of(self, value):
        return self.graph.constant(value, FLOAT)

    def total(self, value, axes, kind="ReduceSum", keepdims=0):
        if kind == "ReduceSum":
            return self.node(kind, value, self.graph.constant(axes), keepdims=keepdims)
        return self.node(kind, value, axes=axes, keepdims=keepdims)

    def any(self, values):
        return self.draw.choice(values)

    def bounded(self, value):
        """Values stay near one, whatever is drawn."""
        return self.node(self.any(("Tanh", "Sigmoid", "Softplus", "Identity", "Identity")), value)

    def scores(self):
        turned = self.node("Transpose", self.any(self.rows), perm=[1, 0])
        return self.node("Mul", self.node("MatMul", self.any(self.rows), turned), self.number_of(self.any((0.5, 1.5))))

    def row(self):
        a, kind = self.any(self.rows), self.draw.randrange(4)
        if kind == 0:
            a = self.node("Mul", a, self.any(self.rows))
        elif kind == 1:
            a = self.node("Sub", a, self.total(a, [0], "ReduceMean", 1))
        elif kind == 2:
            length = self.node("Sqrt", self.node("Add", self.total(self.node("Mul", a, a), [1], keepdims=1), self.number_of(0.25)))
            a = self.node("Div", a, length)
        else:
            weights = self.node("Softmax", self.any(self.pairs), axis=1)
            a = self.node("Add", a, self.node("MatMul", weights, self.any(self.rows)))
        self.rows.append(self.bounded(a))

    def pair(self):
        a, kind = self.any(self.pairs), self.draw.randrange(7)
        if kind == 0:
            a = self.scores()
        elif kind == 1:
            a = self.node("Mul", a, self.same)
        elif kind == 2:
            a = self.node("Add", a, self.node("Transpose", self.any(self.pairs), perm=[1, 0]))
        elif kind == 3:
            a = self.node(self.any(("Softmax", "LogSoftmax")), a, axis=self.draw.randrange(2))
        elif kind == 4 and self.vectors:
            a = self.node("Sub", a, self.axis(self.any(self.vectors), self.draw.randrange(2)))
        elif kind == 5:
            a = self.node("Exp", self.node("Tanh", a))
        else:
            a = self.node("Mul", a, self.any(self.pairs))
        self.pairs.append(self.bounded(a))

    def vector(self):
        kind = self.draw.randrange(4)
        if kind == 0:
            a = self.total(self.any(self.rows), [1])
        elif kind == 1 and self.vectors:
            a = self.node("Mul", self.any(self.vectors), self.any(self.vectors))
        else:
            a = self.total(self.any(self.pairs), [self.draw.randrange(2)], self.any(("ReduceMean", "ReduceMax", "ReduceLogSumExp")))
        self.vectors.append(self.bounded(a))

    def number(self):
        kind = self.draw.randrange(4)
        if kind == 0 and self.vectors:
            a = self.total(self.any(self.vectors), [0], "ReduceMean")
        elif kind == 1:
            a = self.total(self.any(self.rows), [0, 1], "ReduceMean")
        else:
            a = self.total(self.any(self.pairs), [0, 1], "ReduceMean")
        if self.draw.random() < 0.3:
            a = self.node("Sqrt", self.node("Add", self.node("Mul", a, a), self.number_of(0.5)))
        self.numbers.append(a)
        return a


def write_values(path, data, draw, samples, sizes, has_lengths):
    numbers = [draw.uniform(-1, 1) for shape in sizes.values() for _ in range(shape[0] * shape[-1] if len(shape) > 1 else shape[0])]
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(numbers)}f", *numbers))
    places = SIZES[-1:] if has_lengths else ()
    count = samples * WIDTH * (places[0] if has_lengths else 1)
    values = {name: ("F32", [samples, *places, WIDTH], struct.pack(f"<{count}f", *(draw.uniform(-2, 2) for _ in range(count))))
              for name in ("x", "y")}
    if has_lengths:
        lengths = [draw.randint(1, SIZES[-1]) for _ in range(samples)]
        mask = [int(at < length) for length in lengths for at in range(SIZES[-1])]
        values["mask"] = ("I64", [samples, *places], struct.pack(f"<{len(mask)}q", *mask))
    values["labels"] = ("I64", [samples], struct.pack(f"<{samples}q", *(draw.randrange(3) for _ in range(samples))))
    tensors.write(data, values)


def step(path, data, samples, *options):
    """Loss and gradients; nothing where the graph is refused."""
    artifact, found, log = path.with_suffix(".accum"), path.with_name("gradients.safetensors"), path.with_name("log.jsonl")
    compiled = run("accumc", path, "--batch", samples, "--optimizer", "sgd", "--target", "reference", "--precision", "f64", "-o", artifact,
                   "--on-cross-batch", *options, ok=(0, 1))
    if compiled.returncode == 1:
        return None
    log.unlink(missing_ok=True)
    run("accum-run", artifact, "--data", data, "--steps", 1, "--no-shuffle", "--progress", "none", "--log", log, "--dump-gradients", found,
        "--save", path.with_name("weights.safetensors"))
    values = {name: array.array("d", bytes(raw)) for name, (_, _, raw) in tensors.read(found).items()}
    values["loss"] = [json.loads(log.read_text().splitlines()[0])["loss"]]
    return values


def agrees(seed, folder, samples, has_lengths):
    draw, path, data = random.Random(seed), folder / "drawn.onnx", folder / "data.safetensors"
    drawn = Drawn(draw, path, has_lengths)
    samples = samples or draw.choice((7, 12))
    write_values(path, data, draw, samples, drawn.sizes, has_lengths)
    expected = step(path, data, samples, "disable", *(["--dim", f"length={SIZES[-1]}"] if has_lengths else []))
    form = "speed" if seed % 2 else "memory"  # the forward pass of the first micro-step is kept, or runs twice
    sizes = ["--dim", "length=" + ",".join(map(str, SIZES))] if has_lengths else ["--prefer", form]
    found = step(path, data, samples, "split", *sizes, "--micro-batch", draw.randint(1, samples) if samples < 100 else 211)
    if expected is None or found is None:
        return False
    most = max(abs(v) for values in expected.values() for v in values)
    for name, values in expected.items():
        worst = max(abs(a - b) for a, b in zip(values, found[name], strict=True)) / most
        if not worst <= TOLERANCE:
            sys.exit(f"seed {seed}, {samples} samples: {name} differs by {worst:.1e}")
    return True


def main():
    folder, first, count, has_lengths = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), "--lengths" in sys.argv
    samples = 0 if has_lengths else int((sys.argv + ["0"])[4])
    folder.mkdir(parents=True, exist_ok=True)
    equal = sum(agrees(seed, folder, samples, has_lengths) for seed in range(first, first + count))
    print(f"{equal} of {count} graphs are equal, {count - equal} refused")


if __name__ == "__main__":
    main()
