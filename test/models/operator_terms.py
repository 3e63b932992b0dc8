# SPDX-License-Identifier: Apache-2.0
"""Terms of a loss that are one operator, or few, on operands of given roles; and a model of many of them.

A term's operands have per-sample shapes; axes count from the back, so that an operand of one shape may have a batch in front or not.
Its elements are weighted and summed for each sample; a term in which no operand has a batch is weighted by an input. The loss is the
mean over samples of the sum of all terms.
"""
import itertools
import math
import random
import struct

from onnx_graph import FLOAT, INT64, Graph, tensor
import wire

ANY, POSITIVE = (-1.3, 1.3), (0.5, 1.6)
SAMPLE, PARAMETER, CONSTANT, RAW = "s", "p", "c", "x"  # x: an input as it is, which has no gradient
SHAPES = [(3, 4), (1, 4), (3, 1), (1, 1)]


class Case:
    """`build(graph, values)` gives the output and its per-sample shape; `operands` are (shape, domain) each, `roles` the letters
    that each may have. Operands of `one_rank` all have a batch in front, or none has."""

    def __init__(self, name, build, operands, roles=None, one_rank=False):
        self.name, self.build, self.operands, self.one_rank = name, build, operands, one_rank
        self.roles = roles or [SAMPLE + PARAMETER + CONSTANT] * len(operands)

    def combinations(self):
        for roles in itertools.product(*self.roles):
            batched = [role in (SAMPLE, RAW) for role in roles]
            if (SAMPLE in roles or PARAMETER in roles) and not (self.one_rank and len(set(batched)) > 1):
                yield "".join(roles)


def text(shape):
    return "x".join(map(str, shape)) or "scalar"


def kind_of(domain):
    """The element type, and its letter in struct: numbers between two bounds, or one of some indices."""
    return (FLOAT, "f") if isinstance(domain, tuple) else (INT64, "q")


def broadcast(*shapes):
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(max(extents) for extents in zip(*padded))


def reduced(shape, axes, keep):
    axes = [axis % len(shape) for axis in axes]
    kept = [1 if i in axes else extent for i, extent in enumerate(shape)]
    return tuple(kept) if keep else tuple(e for i, e in enumerate(shape) if i not in axes)


def plain(kind, shape, **attributes):
    return lambda g, v: (g.node(kind, v, **attributes), shape)


class Terms:
    """A model of some cases, its parameters' values and the samples."""

    def __init__(self, cases, location, samples, seed=1):
        self.graph, self.samples, self.random = Graph(location), samples, random.Random(seed)
        self.weights, self.inputs, self.owner = [], {}, {}
        terms = [self.term(case, roles) for case, roles in cases]
        total = self.graph.node("Sum", terms) if len(terms) > 1 else terms[0]
        self.graph.output(self.graph.node("ReduceMean", [total], keepdims=0), "loss", FLOAT, [])

    def numbers(self, count, domain):
        if not isinstance(domain, tuple):  # indices
            return [self.random.choice(domain) for _ in range(count)]
        return [struct.unpack("<f", struct.pack("<f", self.random.uniform(*domain)))[0] for _ in range(count)]

    def constant(self, shape, domain):
        kind, letter = kind_of(domain)
        raw = struct.pack(f"<{math.prod(shape)}{letter}", *self.numbers(math.prod(shape), domain))
        return self.graph.node("Constant", [], value=tensor("", kind, shape, wire.message(9, raw)))

    def parameter(self, shape, domain):
        name = f"{self.graph.scope}.{len(self.weights)}"
        self.weights += self.numbers(math.prod(shape), domain)
        self.owner[name] = self.graph.scope
        return self.graph.parameter(name, list(shape))

    def input(self, shape, domain):
        name = f"{self.graph.scope}.in{len(self.inputs)}"
        self.inputs[name] = (shape, domain, self.numbers(self.samples * math.prod(shape), domain))
        return self.graph.input(name, kind_of(domain)[0], ["batch", *shape])

    def operand(self, role, shape, domain):
        if role == CONSTANT:
            return self.constant(shape, domain)
        if role == PARAMETER:
            return self.parameter(shape, domain)
        if role == RAW:
            return self.input(shape, domain)
        # Between what the two are, so that the domain stays.
        half = tuple(bound / 2 for bound in domain)
        return self.graph.node("Add", [self.input(shape, half), self.parameter(shape, half)])

    def term(self, case, roles):
        self.graph.scope = f"{case.name}.{roles}"
        values = [self.operand(role, *operand) for role, operand in zip(roles, case.operands)]
        value, shape = case.build(self.graph, values)
        weighted = self.graph.node("Mul", [value, self.constant(shape, ANY)])
        isBatched = SAMPLE in roles or RAW in roles
        axes = list(range(1 if isBatched else 0, len(shape) + isBatched))
        total = self.graph.node("ReduceSum", [weighted, self.graph.constant(axes)], keepdims=0) if axes else weighted
        return total if isBatched else self.graph.node("Mul", [total, self.input((), ANY)])

    def write(self, path):
        """The model, its weights beside it, and the samples as safetensors (name -> dtype, shape, bytes)."""
        path.write_bytes(self.graph.model("operators", 23))
        path.with_name(self.graph.location).write_bytes(struct.pack(f"<{len(self.weights)}f", *self.weights))
        return {name: ("F32" if isinstance(domain, tuple) else "I64", [self.samples, *shape],
                       struct.pack(f"<{len(values)}{kind_of(domain)[1]}", *values))
                for name, (shape, domain, values) in self.inputs.items()}
