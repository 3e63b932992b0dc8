# SPDX-License-Identifier: Apache-2.0
"""Graphs that move the batch axis and keep the slab, against loops: loss, and gradients by central differences.

Usage: moved-batch.py FOLDER [--random COUNT [--seed SEED]]. Every graph is a chain of moves with weights between them. It
trains on the reference in f64, in micro-batches of 5, 2 and 1 of 5 samples, and on the host in f32.
"""
import argparse
import array
import itertools
import json
import math
import pathlib
import random
import struct
import sys

from program import MODELS, run
import tensors

sys.path.insert(0, str(MODELS))
from onnx_graph import FLOAT, Graph
from windows import close, differences, f32

SAMPLES = 5
TOLERANCE = {"f64": 1e-7, "f32": 2e-5}
REFERENCE = ["--target", "reference", "--precision", "f64"]
RUNS = [("f64", REFERENCE, 5), ("f64", REFERENCE, 2), ("f64", REFERENCE, 1), ("f32", [], 2)]


class Value:
    """The shape of a slab, of whose axis `axis` the whole has outer x N x rows; `whole` gives extents and elements."""

    def __init__(self, slab, axis, outer=1):
        self.slab, self.axis, self.outer = list(slab), axis, outer

    def shape(self, samples):
        return [extent * samples if i == self.axis else extent for i, extent in enumerate(self.slab)]

    def static(self):
        return [i for i in range(len(self.slab)) if i != self.axis]

    def __str__(self):
        return "x".join("N" * (i == self.axis) + str(extent) for i, extent in enumerate(self.slab))


def strides_of(shape):
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def reorder(shape, perm, values):
    strides = strides_of(shape)
    places = itertools.product(*(range(shape[axis]) for axis in perm))
    return [values[sum(i * strides[axis] for i, axis in zip(place, perm))] for place in places]


# Each move: forms(value) lists what it can do, node(graph, ...) writes it, result and apply say what comes out.
class Reshape:
    @staticmethod
    def forms(value):
        """All slabs of up to four axes, and where they can hold the samples."""
        before, size = value.outer * math.prod(value.slab[:value.axis]), math.prod(value.slab)
        for rank in range(1, 5):
            for slab in itertools.product(*[[d for d in range(1, size + 1) if size % d == 0]] * rank):
                for axis in range(rank) if math.prod(slab) == size else ():
                    prefix = math.prod(slab[:axis])
                    if before % prefix == 0 and slab[axis] % (before // prefix) == 0:
                        yield list(slab), axis, before // prefix

    @staticmethod
    def node(graph, name, value, form):
        return graph.node("Reshape", [name, graph.constant([-1 if i == form[1] else e for i, e in enumerate(form[0])])])

    result = staticmethod(lambda value, form: Value(*form))
    apply = staticmethod(lambda shape, form, values: values)


class Transpose:
    forms = staticmethod(lambda value: itertools.permutations(range(len(value.slab))))
    node = staticmethod(lambda graph, name, value, form: graph.node("Transpose", [name], perm=list(form)))
    apply = staticmethod(lambda shape, form, values: reorder(shape, form, values))

    @staticmethod
    def result(value, form):
        return Value([value.slab[axis] for axis in form], form.index(value.axis), value.outer)


class Spread:
    """Expand by a new leading axis, or along a static one of extent 1."""
    @staticmethod
    def forms(value):
        yield -1
        yield from (i for i in value.static() if value.slab[i] == 1)

    @staticmethod
    def node(graph, name, value, form):
        rank = len(value.slab) + (form < 0)
        return graph.node("Expand", [name, graph.constant([2 if i == max(form, 0) else 1 for i in range(rank)])])

    @staticmethod
    def result(value, form):
        if form < 0:
            return Value([2, *value.slab], value.axis + 1, value.outer)
        return Value([2 if i == form else e for i, e in enumerate(value.slab)], value.axis, value.outer)

    @staticmethod
    def apply(shape, form, values):
        outer = math.prod(shape[:form]) if form > 0 else 1
        block = len(values) // outer
        return [v for i in range(outer) for _ in range(2) for v in values[i * block:(i + 1) * block]]


class Twice:
    """Concat with itself along any axis; along the batch there are twice as many blocks."""
    forms = staticmethod(lambda value: range(len(value.slab)))
    node = staticmethod(lambda graph, name, value, form: graph.node("Concat", [name, name], axis=form))

    @staticmethod
    def result(value, form):
        slab = [2 * e if i == form else e for i, e in enumerate(value.slab)]
        return Value(slab, value.axis, value.outer * (2 if form == value.axis else 1))

    @staticmethod
    def apply(shape, form, values):
        block = math.prod(shape[form:])
        return [v for i in range(0, len(values), block) for _ in range(2) for v in values[i:i + block]]


class Part:
    """A slice of a static axis: all but its first element, or from back to front."""
    @staticmethod
    def forms(value):
        for axis in value.static():
            if value.slab[axis] > 1:
                yield axis, 1
            yield axis, -1

    @staticmethod
    def node(graph, name, value, form):
        start, end = (1, 2 ** 62) if form[1] > 0 else (-1, -2 ** 62)
        return graph.node("Slice", [name, *(graph.constant([n]) for n in (start, end, form[0], form[1]))])

    @staticmethod
    def result(value, form):
        slab = [e - 1 if i == form[0] and form[1] > 0 else e for i, e in enumerate(value.slab)]
        return Value(slab, value.axis, value.outer)

    @staticmethod
    def apply(shape, form, values):
        kept = list(range(1, shape[form[0]]) if form[1] > 0 else range(shape[form[0]] - 1, -1, -1))
        strides = strides_of(shape)
        places = itertools.product(*(kept if i == form[0] else range(e) for i, e in enumerate(shape)))
        return [values[sum(i * s for i, s in zip(place, strides))] for place in places]


class Picked:
    """A gather of fixed elements of a static axis."""
    forms = staticmethod(lambda value: value.static())
    node = staticmethod(lambda graph, name, value, form: graph.node("Gather", [name, graph.constant([value.slab[form] - 1, 0])], axis=form))
    result = staticmethod(lambda value, form: Value([2 if i == form else e for i, e in enumerate(value.slab)], value.axis, value.outer))

    @staticmethod
    def apply(shape, form, values):
        strides = strides_of(shape)
        kept = [shape[form] - 1, 0]
        places = itertools.product(*(kept if i == form else range(e) for i, e in enumerate(shape)))
        return [values[sum(i * s for i, s in zip(place, strides))] for place in places]


class Padded:
    """One zero in front of a static axis."""
    forms = staticmethod(lambda value: value.static())
    result = staticmethod(lambda value, form: Value([e + (i == form) for i, e in enumerate(value.slab)], value.axis, value.outer))

    @staticmethod
    def node(graph, name, value, form):
        pads = [int(i == form) for i in range(len(value.slab))] + [0] * len(value.slab)
        return graph.node("Pad", [name, graph.constant(pads)])

    @staticmethod
    def apply(shape, form, values):
        block = math.prod(shape[form:])
        zeros = [0.0] * math.prod(shape[form + 1:])
        return [v for i in range(0, len(values), block) for v in zeros + values[i:i + block]]


class Kept:
    """A sum over a static axis that stays, with extent 1."""
    forms = staticmethod(lambda value: value.static())
    node = staticmethod(lambda graph, name, value, form: graph.node("ReduceSum", [name, graph.constant([form])], keepdims=1))
    result = staticmethod(lambda value, form: Value([1 if i == form else e for i, e in enumerate(value.slab)], value.axis, value.outer))

    @staticmethod
    def apply(shape, form, values):
        inner, extent = math.prod(shape[form + 1:]), shape[form]
        return [sum(values[(o * extent + k) * inner + i] for k in range(extent))
                for o in range(math.prod(shape[:form])) for i in range(inner)]


class Running:
    """A running sum along a static axis."""
    forms = staticmethod(lambda value: value.static())
    node = staticmethod(lambda graph, name, value, form: graph.node("CumSum", [name, graph.constant(form)]))
    result = staticmethod(lambda value, form: value)

    @staticmethod
    def apply(shape, form, values):
        inner, extent, result = math.prod(shape[form + 1:]), shape[form], list(values)
        for at in range(len(values)):
            if at // inner % extent:
                result[at] += result[at - inner]
        return result


MOVES = [Reshape, Transpose, Spread, Twice, Part, Picked, Padded, Kept, Running]


def weights_of(value):
    """The shape of a weight that all samples share, right-aligned."""
    return [1 if i == value.axis else extent for i, extent in enumerate(value.slab)]


class Chain:
    """tanh(x * w0), a move, + w1, a move, tanh(. * w2), ...: a weight behind `every` so many moves. The loss is the mean of
    squares."""

    def __init__(self, slab, moves, every=1):
        self.values, self.moves, self.every = [Value([1, *slab], 0)], moves, every
        for move, form in moves:
            self.values.append(move.result(self.values[-1], form))
        self.weighted = [i for i in range(len(self.values)) if i % every == 0 or i == len(moves)]

    def __str__(self):
        return " ".join([str(self.values[0]), *(f"{m.__name__}{f} {v}" for (m, f), v in zip(self.moves, self.values[1:]))])

    def write(self, path):
        graph, sizes = Graph(path.name + ".data"), {}
        name = graph.input("x", FLOAT, ["batch", *self.values[0].slab[1:]])
        for i, value in enumerate(self.values):
            if i:
                move, form = self.moves[i - 1]
                name = move.node(graph, name, self.values[i - 1], form)
            if i in self.weighted:
                weight = graph.parameter(f"w{i}", weights_of(value))
                sizes[weight] = math.prod(weights_of(value))
                name = graph.node("Add" if i % 2 else "Mul", [name, weight])
                name = name if i % 2 else graph.node("Tanh", [name])
        graph.output(graph.node("ReduceMean", [graph.node("Mul", [name, name])], keepdims=0), "loss", FLOAT, [])
        path.write_bytes(graph.model("moved", 17))
        return sizes

    def loss(self, _, x, parameters):
        values, samples = [v for row in x for v in row], len(x)
        for i, value in enumerate(self.values):
            if i:
                move, form = self.moves[i - 1]
                values = move.apply(self.values[i - 1].shape(samples), form, values)
            if i in self.weighted:
                shape, extents = value.shape(samples), weights_of(value)
                strides = [0 if e == 1 else s for e, s in zip(extents, strides_of(extents))]
                weight = [parameters[f"w{i}"][sum(p * s for p, s in zip(place, strides))]
                          for place in itertools.product(*map(range, shape))]
                values = [v + w for v, w in zip(values, weight)] if i % 2 else [math.tanh(v * w) for v, w in zip(values, weight)]
        return sum(v * v for v in values) / len(values)


def systematic():
    """There and back: every reshape and transpose of [N, a, b] that moves the batch axis and keeps the slab's shape, or
    moves it over axes of extent 1; then home."""
    for slab in ([1, 3], [2, 1]):
        first = Value([1, *slab], 0)
        for there in [(Reshape, f) for f in Reshape.forms(first)] + [(Transpose, f) for f in Transpose.forms(first)]:
            moved = there[0].result(first, there[1])
            if moved.axis and len(moved.slab) <= 3:
                home = [f for f in Reshape.forms(moved) if len(f[0]) == 3]
                yield Chain(slab, [there, (Transpose, (1, 2, 0) if len(moved.slab) == 3 else (1, 0))])
                yield Chain(slab, [there, (Reshape, home[0])], every=2)


def chains(count, seed):
    draw = random.Random(seed)
    while count:
        slab, moves = [draw.choice([1, 1, 2, 3]) for _ in range(draw.choice([1, 2, 2, 2, 3]))], []
        value = Value([1, *slab], 0)
        for _ in range(draw.choice([1, 2, 3, 4])):
            move = draw.choice(MOVES[:2] * 4 + MOVES[2:])
            forms = [f for f in move.forms(value) if math.prod(move.result(value, f).slab) <= 24 and len(move.result(value, f).slab) <= 4]
            if forms:
                moves.append((move, draw.choice(forms)))
                value = move.result(value, moves[-1][1])
        if moves:
            count -= 1
            yield Chain(slab, moves, every=draw.choice([1, 1, 2, 3]))


def check(chain, folder, draw):
    path, slab = folder / "moved.onnx", chain.values[0].slab[1:]
    count, sizes = math.prod(slab), chain.write(path)
    parameters = {name: f32(draw.uniform(-1, 1) for _ in range(size)) for name, size in sizes.items()}
    path.with_name(path.name + ".data").write_bytes(b"".join(struct.pack(f"<{len(v)}f", *v) for v in parameters.values()))
    x = [f32(draw.uniform(-1, 1) for _ in range(count)) for _ in range(SAMPLES)]
    data = folder / "data.safetensors"
    tensors.write(data, {"x": ("F32", [SAMPLES, *slab], b"".join(struct.pack(f"<{count}f", *row) for row in x))})
    loss, gradients = chain.loss(None, x, parameters), differences(None, x, parameters, chain.loss)
    largest = max(abs(value) for values in gradients.values() for value in values)
    for precision, target, micro in RUNS:
        what = f"{chain}: {precision}, micro-batch {micro}:"
        artifact, found, log = folder / "moved.accum", folder / "gradients.safetensors", folder / "log.jsonl"
        run("accumc", path, "--batch", SAMPLES, "--micro-batch", micro, "--optimizer", "sgd", "-o", artifact, *target)
        run("accum-run", artifact, "--data", data, "--steps", 1, "--no-shuffle", "--lr", 0.1, "--progress", "none",
            "--log", log, "--save", folder / "weights.safetensors", "--dump-gradients", found)
        close(f"{what} loss", [json.loads(log.read_text())["loss"]], [loss], TOLERANCE[precision])
        for parameter, (dtype, _, values) in tensors.read(found).items():
            actual = array.array("d" if dtype == "F64" else "f", bytes(values))
            far = max(abs(a - e) for a, e in zip(actual, gradients[parameter], strict=True))
            if not far <= TOLERANCE[precision] * largest:
                raise SystemExit(f"{what} {parameter} is off by {far:.3g} of {largest:.3g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--random", type=int, help="so many random chains instead")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    graphs = list(chains(options.random, options.seed) if options.random else systematic())
    for chain in graphs:
        check(chain, options.folder, random.Random(str(chain)))
    print(len(graphs), "graphs agree")


if __name__ == "__main__":
    main()
