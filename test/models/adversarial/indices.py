# SPDX-License-Identifier: Apache-2.0
"""Indices made from the batch: gathers that stay in their sample and those that do not, scatters, traced constants."""
from graph import E, S, V

ACCEPT, REJECT = "accept", "reject"


def flat_rows(g):
    """Activations [B*S, E], the sample number [B], and a position found in the data [B], in [0, S)."""
    flat = g.Reshape(g.tokens(), [-1, E])
    return flat, g.iota(), g.ArgMax(g.ids("ids", S), axis=1, keepdims=0)


def token_at(offset):
    def build(g):
        flat, i, found = flat_rows(g)
        index = g.Add(g.Mul(i, S), found)
        return g.mean(g.Gather(flat, g.Add(index, offset) if offset else index, axis=0))
    return build


def clamped(last):
    """A number that may leave the sample, between 0 and `last`."""
    def build(g):
        flat, i, found = flat_rows(g)
        place = g.Clip(g.Sub(g.Mul(found, 2), 1), 0, last)
        return g.mean(g.Gather(flat, g.Add(g.Mul(i, S), place), axis=0))
    return build


def stride_of_two(g):
    flat, i, _ = flat_rows(g)
    return g.mean(g.Gather(flat, g.Mul(i, 2), axis=0))


def beside(index):
    """Each sample times the one at an index made from its own number."""
    def build(g):
        h = g.rows()
        return g.mean(g.Mul(h, g.Gather(h, index(g, g.iota(), g.batch()), axis=0)))
    return build


def coordinates(swapped):
    def build(g):
        h = g.tokens()
        i, found = (g.Unsqueeze(v, [1]) for v in (g.iota(), g.ArgMax(g.ids("ids", S), axis=1, keepdims=0)))
        return g.mean(g.GatherND(h, g.Concat(*((found, i) if swapped else (i, found)), axis=1)))
    return build


def sample_number_cancels(g):
    h, table = g.tokens(), g.parameter("position", S, E)
    start = g.Unsqueeze(g.Mul(g.iota(), S), [1])
    index = g.Sub(g.Add(start, [[0, 1, 2]]), start)
    return g.mean(g.Mul(h, g.Gather(table, index, axis=0)))


def modulo_sequence(g):
    flat, table = g.Reshape(g.tokens(), [-1, E]), g.parameter("position", S, E)
    index = g.Mod(g.Range(0, g.Mul(g.batch(), S), 1), S)
    return g.mean(g.Mul(flat, g.Gather(table, index, axis=0)))


def number_embedded(g):
    h = g.rows()
    return g.mean(g.Add(h, g.Gather(g.parameter("table", 64, E), g.iota(), axis=0)))


def number_as_weight(g):
    h = g.rows()
    return g.mean(g.Mul(h, g.Unsqueeze(g.Cast(g.iota(), to=1), [1])))


def number_as_label(g):
    scores = g.MatMul(g.input("x", E), g.parameter("w", E, 64))
    return g.SoftmaxCrossEntropyLoss(scores, g.iota())


def number_compared(g):
    h, ids = g.rows(), g.ids("ids")
    return g.mean(g.Mul(h, g.Unsqueeze(g.Cast(g.Equal(ids, g.iota()), to=1), [1])))


def scattered(reduction):
    """Rows of a shared table, overwritten by or added to by the samples with that label."""
    def build(g):
        h, index = g.rows(), g.Unsqueeze(g.ids("labels"), [1])
        table = g.ScatterND(g.parameter("table", V, E), index, h, reduction=reduction)
        return g.ReduceSum(g.Mul(table, g.parameter("read", V, E)), keepdims=0)
    return build


def own_place_computed(g):
    """Each sample writes into its own row, at a place found in the data."""
    h, found = g.rows(), g.ArgMax(g.ids("ids", S), axis=1, keepdims=0)
    index = g.Concat(*(g.Unsqueeze(v, [1]) for v in (g.iota(), found)), axis=1)
    return g.mean(g.ScatterND(h, index, g.ReduceSum(h, [1], keepdims=0)))


def prototypes(g):
    h, labels = g.rows(), g.ids("labels")
    zeros = g.ConstantOfShape([V, E])
    table = g.ScatterND(zeros, g.Unsqueeze(labels, [1]), h, reduction="add")
    return g.mean(g.Sub(g.Gather(table, labels, axis=0), h))


def one_of_the_samples(g):
    """As many classes as samples: the row of the sample that a label numbers."""
    rows, labels = g.rows(), g.ids("labels")
    places = g.OneHot(labels, g.Unsqueeze(g.batch(), [0]), [0.0, 1.0], axis=-1)
    return g.mean(g.MatMul(places, rows))


def label_counts(g):
    scores, labels = g.logits()
    ones = g.Cast(g.Equal(labels, labels), to=1)
    counts = g.ScatterND(g.ConstantOfShape([V]), g.Unsqueeze(labels, [1]), ones, reduction="add")
    return g.ReduceSum(g.Div(g.per_sample(scores, labels), g.Gather(counts, labels, axis=0)), keepdims=0)


def traced_labels(g):
    return g.SoftmaxCrossEntropyLoss(g.MatMul(g.input("x", E), g.parameter("w", E, V)), [0, 1, 2])


def traced_mask(g):
    return g.mean(g.Mul(g.rows(), [[1.0] * E, [0.5] * E, [2.0] * E]))


def shared_mask(g):
    return g.mean(g.Mul(g.rows(), [[1.0, 0.5, 2.0, 0.0]]))


GRAPHS = [
    ("06-clamped", ACCEPT, clamped(S - 1)), ("06-clamped-beyond", REJECT, clamped(S)),
    ("06-own-token", ACCEPT, token_at(0)), ("06-token-after", REJECT, token_at(1)),
    ("06-token-before", REJECT, token_at(-1)), ("06-wrong-stride", REJECT, stride_of_two),
    ("06-backwards", REJECT, beside(lambda g, i, b: g.Sub(g.Sub(b, 1), i))),
    ("06-next-sample", REJECT, beside(lambda g, i, b: g.Mod(g.Add(i, 1), b))),
    ("06-half-as-far", REJECT, beside(lambda g, i, b: g.Div(i, 2))),
    ("06-one-of-the-samples", REJECT, one_of_the_samples),
    ("06-itself", ACCEPT, beside(lambda g, i, b: i)),
    ("06-coordinates", ACCEPT, coordinates(False)), ("06-coordinates-swapped", REJECT, coordinates(True)),
    ("06-sample-number-cancels", ACCEPT, sample_number_cancels), ("06-modulo-sequence", ACCEPT, modulo_sequence),
    ("07-number-embedded", REJECT, number_embedded), ("07-number-as-weight", REJECT, number_as_weight),
    ("07-number-as-label", REJECT, number_as_label), ("07-number-compared", REJECT, number_compared),
    ("13-table-overwritten", REJECT, scattered("none")), ("13-table-added-to", ACCEPT, scattered("add")),
    ("13-prototypes", REJECT, prototypes), ("13-label-counts", ACCEPT, label_counts),
    ("13-own-place-computed", ACCEPT, own_place_computed),
    ("22-traced-labels", REJECT, traced_labels), ("22-traced-mask", REJECT, traced_mask),
    ("22-shared-mask", ACCEPT, shared_mask),
]
