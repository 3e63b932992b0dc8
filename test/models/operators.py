# SPDX-License-Identifier: Apache-2.0
"""Every differentiable operator that import knows, on operands of every role (per sample, parameter, constant) and of extents
that are 1 somewhere: small terms, to be trained many to a model (operator_terms.py). `cases(family)` gives them.
"""
import itertools
import math
import random

from onnx_graph import FLOAT
from operator_terms import ANY, CONSTANT, PARAMETER, POSITIVE, RAW, SAMPLE, SHAPES, Case, broadcast, plain, reduced, text


UNARY = {"Neg": ANY, "Abs": ANY, "Exp": ANY, "Log": POSITIVE, "Sqrt": POSITIVE, "Reciprocal": POSITIVE, "Tanh": ANY, "Erf": ANY,
         "Sigmoid": ANY, "Relu": ANY, "Sin": ANY, "Cos": ANY, "Softplus": ANY, "Celu": ANY, "Elu": ANY, "Gelu": ANY,
         "HardSigmoid": ANY, "HardSwish": ANY, "LeakyRelu": ANY, "Mish": ANY, "Selu": ANY, "Softsign": ANY, "Identity": ANY,
         "Asin": (-0.9, 0.9), "Acos": (-0.9, 0.9), "Atan": ANY, "Sinh": ANY, "Cosh": ANY, "Asinh": ANY, "Acosh": (1.2, 2.0),
         "Atanh": (-0.9, 0.9)}


def unary():
    for kind, domain in UNARY.items():
        for shape in SHAPES:
            yield Case(f"{kind}.{text(shape)}", plain(kind, shape), [(shape, domain)])


def binary():
    pairs = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 4), (1,)), ((3, 1), (1, 4)), ((1, 1), (1, 1)), ((1, 4), (3, 4))]
    for kind in ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Mean"):
        domain = POSITIVE if kind in ("Div", "Pow") else ANY
        for a, b in pairs:
            # What has a batch in front has all axes. An exponent of one number is no parameter in these exports.
            b_roles = SAMPLE * (len(a) == len(b)) + PARAMETER * (kind != "Pow" or math.prod(b) > 1) + CONSTANT
            yield Case(f"{kind}.{text(a)}.{text(b)}", plain(kind, broadcast(a, b)), [(a, domain), (b, domain)],
                       [SAMPLE + PARAMETER + CONSTANT, b_roles])


def where():
    for shape in SHAPES:
        def build(g, v, shape=shape):
            condition = g.node("Greater", [v[0], g.constant(0.1, FLOAT)])
            return g.node("Where", [condition, v[1], v[2]]), shape
        # A known condition of few elements may take all of one side, which leaves nothing to train of the other.
        yield Case(f"Where.{text(shape)}", build, [(shape, ANY)] * 3, [RAW + CONSTANT * (math.prod(shape) > 4), "spc", "spc"])


def gates():
    """Parameters of one element with several contributions."""
    def gate(g, v):
        one = g.constant(1.0, FLOAT)
        return g.node("Add", [g.node("Mul", [v[0], v[1]]), g.node("Mul", [g.node("Sub", [one, v[0]]), v[2]])])

    def polynomial(g, v):
        square = g.node("Mul", [v[0], v[0]])
        cube = g.node("Mul", [g.node("Mul", [square, v[1]]), v[0]])
        return g.node("Add", [g.node("Add", [cube, g.node("Mul", [square, v[2]])]), g.node("Mul", [v[0], v[1]])])
    for name, build in (("gate", gate), ("polynomial", polynomial)):
        for scalar in ((), (1,), (1, 1), (4,)):
            for shape in SHAPES:
                out = broadcast(scalar, shape)
                yield Case(f"{name}.{text(scalar)}.{text(shape)}", lambda g, v, build=build, out=out: (build(g, v), out),
                           [(scalar, ANY), (shape, ANY), (shape, ANY)], [PARAMETER, "sc", "sc"])


def twice():
    """One value in several places of an operator, or of two."""
    def both(kind, **attributes):
        return lambda g, v, shape: g.node(kind, [v[0], v[0]], **attributes)

    def chosen(g, v, shape):
        return g.node("Where", [g.node("Greater", [v[0], g.constant(0.1, FLOAT)]), g.node("Mul", [v[0], v[0]]), v[0]])

    def scaled(g, v, shape):
        return g.node("LayerNormalization", [v[0], v[1], v[1]], axis=-1, epsilon=0.1)

    def attended(g, v, shape):
        weights = g.node("Softmax", [g.node("Einsum", [v[0], v[0]], equation="...ij,...kj->...ik")], axis=-1)
        return g.node("MatMul", [weights, v[0]])

    def looked_up(g, v, shape):
        return g.node("Add", [g.node("Gather", [v[0], g.constant([0] * shape[0])], axis=-2), v[0]])

    def clipped(g, v, shape):
        return g.node("Clip", [v[0], v[1], g.node("Add", [v[1], g.constant(0.7, FLOAT)])])
    one = {**{kind: both(kind) for kind in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum", "Pow")},
           "chosen": chosen, "attended": attended, "looked_up": looked_up}
    for shape in SHAPES:
        for name, build in one.items():
            yield Case(f"twice.{name}.{text(shape)}", lambda g, v, build=build, shape=shape: (build(g, v, shape), shape),
                       [(shape, POSITIVE)], ["sp"])
        for name, build, other in (("scaled", scaled, shape[-1:]), ("clipped", clipped, ())):
            yield Case(f"twice.{name}.{text(shape)}", lambda g, v, build=build, shape=shape: (build(g, v, shape), shape),
                       [(shape, ANY), (other, ANY)], ["sp", "p"])


def limits():
    """Bounds, and remainders."""
    for shape in SHAPES:
        yield Case(f"Clip.{text(shape)}", plain("Clip", shape), [(shape, ANY), ((), (-1.0, -0.2)), ((), (0.2, 1.0))], ["sp", "c", "c"])
        divisor = "spc" if math.prod(shape) > 1 else "sc"
        yield Case(f"Mod.{text(shape)}", plain("Mod", shape, fmod=1), [(shape, POSITIVE), (shape, (0.3, 0.9))], ["spc", divisor])


REDUCTIONS = {"ReduceSum": ANY, "ReduceMean": ANY, "ReduceMax": ANY, "ReduceMin": ANY, "ReduceProd": POSITIVE, "ReduceL1": ANY,
              "ReduceL2": ANY, "ReduceSumSquare": ANY, "ReduceLogSum": POSITIVE, "ReduceLogSumExp": ANY}


def reductions():
    for kind, domain in REDUCTIONS.items():
        for shape in SHAPES:
            for axes, keep in (([-1], 0), ([-2], 1), ([-2, -1], 1)):
                def build(g, v, kind=kind, axes=axes, keep=keep, shape=shape):
                    return g.node(kind, [v[0], g.constant(axes)], keepdims=keep), reduced(shape, axes, keep)
                yield Case(f"{kind}.{text(shape)}.{len(axes)}.{-axes[0]}", build, [(shape, domain)])
    for shape in SHAPES:
        for axis, exclusive, reverse in ((-1, 0, 0), (-2, 1, 1)):
            def sums(g, v, axis=axis, exclusive=exclusive, reverse=reverse, shape=shape):
                return g.node("CumSum", [v[0], g.constant(axis)], exclusive=exclusive, reverse=reverse), shape
            yield Case(f"CumSum.{text(shape)}.{-axis}", sums, [(shape, ANY)])
        for count in {1, min(2, shape[-1])}:
            def top(g, v, count=count, shape=shape):
                return g.node("TopK", [v[0], g.constant([count])], outputs=2, axis=-1)[0], (*shape[:-1], count)
            yield Case(f"TopK.{text(shape)}.{count}", top, [(shape, ANY)])


def norms():
    for shape in SHAPES:
        row = shape[-1:]
        for kind in ("Softmax", "LogSoftmax"):
            for axis in (-1, -2):
                yield Case(f"{kind}.{text(shape)}.{-axis}", plain(kind, shape, axis=axis), [(shape, ANY)])
        yield Case(f"LayerNormalization.{text(shape)}", plain("LayerNormalization", shape, axis=-1, epsilon=0.1),
                   [(shape, ANY), (row, ANY), (row, ANY)], ["sp", "pc", "pc"])
        yield Case(f"RMSNormalization.{text(shape)}", plain("RMSNormalization", shape, axis=-1, epsilon=0.1),
                   [(shape, ANY), (row, ANY)], ["sp", "pc"])
        yield Case(f"LpNormalization.{text(shape)}", plain("LpNormalization", shape, axis=-1, p=2), [(shape, POSITIVE)])
        channel = shape[:1]
        yield Case(f"InstanceNormalization.{text(shape)}", plain("InstanceNormalization", shape, epsilon=0.1),
                   [(shape, ANY), (channel, ANY), (channel, ANY)], ["s", "pc", "pc"])
        yield Case(f"GroupNormalization.{text(shape)}", plain("GroupNormalization", shape, epsilon=0.1, num_groups=1),
                   [(shape, ANY), (channel, ANY), (channel, ANY)], ["s", "pc", "pc"])
        yield Case(f"BatchNormalization.{text(shape)}", plain("BatchNormalization", shape, epsilon=0.1),
                   [(shape, ANY), (channel, ANY), (channel, ANY), (channel, ANY), (channel, POSITIVE)], ["s", "pc", "pc", "c", "c"])


def products():
    for a, b, c in ((3, 4, 2), (1, 4, 2), (3, 1, 2), (3, 4, 1), (1, 4, 1), (1, 1, 1)):
        yield Case(f"MatMul.{a}.{b}.{c}", plain("MatMul", (a, c)), [((a, b), ANY), ((b, c), ANY)])
        yield Case(f"Gemm.{a}.{b}.{c}", lambda g, v, b=b, c=c: (g.node("Gemm", v, transB=1), (c,)),
                   [((b,), ANY), ((c, b), ANY), ((c,), ANY)], ["s", "pc", "pc"])
        yield Case(f"Einsum.{a}.{b}.{c}", plain("Einsum", (c, a), equation="...ij,...jk->...ki"), [((a, b), ANY), ((b, c), ANY)],
                   one_rank=True)
        yield Case(f"Einsum.shared.{a}.{b}.{c}", plain("Einsum", (c, a), equation="...ij,jk->...ki"), [((a, b), ANY), ((b, c), ANY)],
                   ["s", "pc"])
    yield Case("MatMul.vector", plain("MatMul", (3,)), [((3, 4), ANY), ((4,), ANY)], ["sp", "pc"])


def windows():
    for channels, size, out, window in ((2, 5, 3, 2), (1, 5, 1, 2), (1, 3, 1, 3), (2, 1, 1, 1), (1, 1, 1, 1)):
        shape, rest = (channels, size), size - window + 1
        name = f"{channels}.{size}.{out}.{window}"
        yield Case(f"Conv.{name}", plain("Conv", (out, rest)),
                   [(shape, ANY), ((out, channels, window), ANY), ((out,), ANY)], ["s", "pc", "pc"])
        for kind in ("MaxPool", "AveragePool"):
            yield Case(f"{kind}.{name}", plain(kind, (channels, rest), kernel_shape=[window]), [(shape, ANY)], ["s"])
            yield Case(f"{kind}.whole.{name}", plain(kind, (channels, 1), kernel_shape=[size]), [(shape, ANY)], ["s"])
        yield Case(f"GlobalAveragePool.{name}", plain("GlobalAveragePool", (channels, 1)), [(shape, ANY)], ["s"])


def indexed():
    """Reads and sums at indices: of a table, of a sample's own elements, into slices."""
    for rows, columns, picks in ((5, 3, 2), (5, 3, 1), (5, 1, 1), (1, 3, 2), (1, 1, 1), (5, 1, 3)):
        name, table, ids = f"{rows}.{columns}.{picks}", ((rows, columns), ANY), ((picks,), range(rows))
        yield Case(f"Gather.rows.{name}", plain("Gather", (picks, columns), axis=0), [table, ids], ["pc", "xc"])
        yield Case(f"Gather.columns.{name}", plain("Gather", (columns, picks), axis=-1), [((columns, rows), ANY), ids], ["sp", "c"])
        yield Case(f"GatherElements.{name}", plain("GatherElements", (picks, columns), axis=-2),
                   [table, ((picks, columns), range(rows))], ["sp", "xc"], one_rank=True)
        yield Case(f"GatherElements.last.{name}", plain("GatherElements", (columns, picks), axis=-1),
                   [((columns, rows), ANY), ((columns, picks), range(rows))], ["sp", "xc"], one_rank=True)
        for reduction in ("none", "add"):
            # Without a sum no index may come twice, and all rows have one.
            if reduction == "none" and (picks > 1 or columns > 1):
                continue
            yield Case(f"ScatterElements.{reduction}.{name}", plain("ScatterElements", (columns, rows), axis=-1, reduction=reduction),
                       [((columns, rows), ANY), ((columns, picks), range(rows)), ((columns, picks), ANY)], ["s", "x", "s"])
            if reduction == "none" and rows == 1:
                continue  # nothing is left of a parameter whose only number is replaced
            yield Case(f"ScatterElements.{reduction}.own.{name}", plain("ScatterElements", (columns, rows), axis=-1, reduction=reduction),
                       [((columns, rows), ANY), ((columns, picks), range(rows)), ((columns, picks), ANY)],
                       ["p", "c", "p" if columns * picks > 1 else "c"])  # one number that is scattered may be no parameter

        def one_hot(g, v, rows=rows, columns=columns, picks=picks):
            hot = g.node("OneHot", [v[1], g.constant(rows), g.constant([0.0, 1.0], FLOAT)], axis=-1)
            return g.node("MatMul", [hot, v[0]]), (picks, columns)
        yield Case(f"OneHot.{name}", one_hot, [table, ids], ["p", "x"])

        def entropy(g, v, rows=rows, picks=picks):
            return g.node("SoftmaxCrossEntropyLoss", v, reduction="none"), (picks,)
        yield Case(f"SoftmaxCrossEntropyLoss.{name}", entropy, [((rows, picks), ANY), ids], ["s", "x"])

        def likelihood(g, v, rows=rows, picks=picks):
            return g.node("NegativeLogLikelihoodLoss", v, reduction="none"), (picks,)
        yield Case(f"NegativeLogLikelihoodLoss.{name}", likelihood, [((rows, picks), ANY), ids], ["s", "x"])


def layout():
    for shape in SHAPES:
        a, b = shape
        simple = {"Transpose": ((b, a), dict(perm=[0, 2, 1]), "s"), "Transpose.own": ((b, a), dict(perm=[1, 0]), "p"),
                  "Flatten": ((a * b,), dict(axis=1), "s"), "Concat": ((a, 2 * b), dict(axis=-1), "spc"),
                  "Concat.rows": ((2 * a, b), dict(axis=-2), "spc")}
        for name, (out, attributes, roles) in simple.items():
            count = 2 if name.startswith("Concat") else 1
            yield Case(f"{name}.{text(shape)}", plain(name.split(".")[0], out, **attributes), [(shape, ANY)] * count, [roles] * count,
                       one_rank=True)
        with_numbers = {"Reshape": ((a * b, 1), [[0, a * b, 1]], {}), "Unsqueeze": ((a, b, 1), [[-1]], {}),
                        "Expand": ((a, b), [[1, a, b]], {}), "Tile": ((2 * a, b), [[1, 2, 1]], {}),
                        "Slice": ((a, 1), [[0], [1], [-1]], {}), "Slice.back": ((a, b), [[-1], [-(2 ** 62)], [-1], [-1]], {}),
                        **{f"Pad{ending}": ((a + 1, b + 2), [[0, 1, 0, 0, 0, 2]], attributes) for ending, attributes in
                           (("", {}), (".edge", dict(mode="edge")), (".reflect", dict(mode="reflect")), (".wrap", dict(mode="wrap")))}}
        for name, (out, numbers, attributes) in with_numbers.items():
            def build(g, v, name=name, out=out, numbers=numbers, attributes=attributes):
                return g.node(name.split(".")[0], [v[0], *map(g.constant, numbers)], **attributes), out
            yield Case(f"{name}.{text(shape)}", build, [(shape, ANY)], ["s"])
        yield Case(f"Trilu.{text(shape)}", plain("Trilu", shape, upper=0), [(shape, ANY)], ["sp"])

        def halves(g, v, shape=shape):
            first, second = g.node("Split", [g.node("Concat", [v[0], v[1]], axis=-1)], outputs=2, axis=-1, num_outputs=2)
            return g.node("Mul", [first, second]), shape
        yield Case(f"Split.{text(shape)}", halves, [(shape, ANY)] * 2, ["sp", "sp"], one_rank=True)

        def squeeze(g, v, shape=shape):
            return g.node("Squeeze", [g.node("ReduceMax", [v[0], g.constant([-1])], keepdims=1), g.constant([-1])]), shape[:-1]
        yield Case(f"Squeeze.{text(shape)}", squeeze, [(shape, ANY)], ["sp"])
    yield Case("DepthToSpace", plain("DepthToSpace", (1, 2, 4), blocksize=2), [((4, 1, 2), ANY)], ["s"])
    yield Case("SpaceToDepth", plain("SpaceToDepth", (4, 1, 2), blocksize=2), [((1, 2, 4), ANY)], ["s"])


def beside(kind, extents):
    """A step of two operands: `extents` of (a, b) gives the second one's shape."""
    return extents, lambda g, x, other, shape: g.node(kind, [x, other])


def alone(kind, **attributes):
    return None, lambda g, x, _, shape: g.node(kind, [x], **attributes)


def over(kind, reduction, axis):
    """x and a statistic of its rows or columns."""
    def build(g, x, _, shape):
        return g.node(kind, [x, g.node(reduction, [x, g.constant([axis])], keepdims=1)])
    return None, build


def halves_of(g, x, other, shape):
    both = g.node("Concat", [g.node("Add", [x, other]), g.node("Sub", [x, other])], axis=-1)
    first, second = g.node("Split", [both], outputs=2, axis=-1, num_outputs=2)
    return g.node("Mul", [second, g.node("Tanh", [first])])


def chosen(g, x, other, shape):
    return g.node("Where", [g.node("Greater", [x, g.constant(0.1, FLOAT)]), x, other])


def turned(g, x, other, shape):
    return g.node("Gather", [x, g.constant([(i + 1) % shape[-1] for i in range(shape[-1])])], axis=-1)


def summed(g, x, other, shape):
    return g.node("CumSum", [x, g.constant(-1)])


def centred(g, x, other, shape):
    return g.node("LayerNormalization", [x, other], axis=-1, epsilon=0.1)


# What keeps a shape, so that any may follow any.
STEPS = {"tanh": alone("Tanh"), "sigmoid": alone("Sigmoid"), "neg": alone("Neg"), "abs": alone("Abs"), "softmax": alone("Softmax", axis=-1),
         "softmax_2": alone("Softmax", axis=-2), "add": beside("Add", lambda a, b: (a, b)), "add_one": beside("Add", lambda a, b: (1,)),
         "add_column": beside("Add", lambda a, b: (a, 1)), "mul": beside("Mul", lambda a, b: (a, b)),
         "mul_one": beside("Mul", lambda a, b: (1,)), "mul_row": beside("Mul", lambda a, b: (b,)),
         "mul_column": beside("Mul", lambda a, b: (a, 1)), "sub_rows": beside("Sub", lambda a, b: (1, b)),
         "max": beside("Max", lambda a, b: (a, b)), "min_row": beside("Min", lambda a, b: (b,)),
         "mean": over("Sub", "ReduceMean", -1), "sum": over("Mul", "ReduceSum", -2), "largest": over("Sub", "ReduceMax", -1),
         "matmul": beside("MatMul", lambda a, b: (b, b)), "split": (lambda a, b: (a, b), halves_of), "where": (lambda a, b: (1, b), chosen),
         "gather": (None, turned), "cumsum": (None, summed), "norm": (lambda a, b: (b,), centred)}


def pairs():
    """Two steps, one behind the other: every pair on every shape, with roles that are drawn."""
    draw = random.Random(3)
    for (first, (extents, one)), (second, (more, two)) in itertools.product(STEPS.items(), repeat=2):
        for shape in SHAPES:
            others = [step(*shape) if step else (1,) for step in (extents, more)]
            # What has a batch in front has all axes; nothing reads the constant of a step that is alone.
            allowed = ["c" if not step else "spc" if len(other) == 2 else "pc" for step, other in zip((extents, more), others)]
            roles = [draw.choice("sp"), *map(draw.choice, allowed)]

            def build(g, v, one=one, two=two, shape=shape):
                return two(g, one(g, v[0], v[1], shape), v[2], shape), shape
            yield Case(f"{first}.{second}.{text(shape)}", build, [(shape, ANY), *((other, ANY) for other in others)], roles)


FAMILIES = {"unary": unary, "binary": binary, "where": where, "gates": gates, "twice": twice, "limits": limits,
            "reductions": reductions, "norms": norms, "products": products, "windows": windows, "indexed": indexed, "layout": layout, "pairs": pairs}


def cases(family):
    return [(case, roles) for case in FAMILIES[family]() for roles in case.combinations()]
