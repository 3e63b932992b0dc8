# SPDX-License-Identifier: Apache-2.0
"""Where the batch axis goes: reshapes, transposes, slices, concatenations, softmax and scans over axes."""
from graph import E, S, V

ACCEPT, REJECT = "accept", "reject"
BIG = 2**63 - 1


def positioned(g, value, *shape):
    """Multiplied by a parameter per position, so that it matters who stands where."""
    return g.mean(g.Mul(value, g.parameter("position", *shape)))


def sequence_first_merged(g):
    merged = g.Reshape(g.Transpose(g.tokens(), perm=[1, 0, 2]), [-1, E])
    return positioned(g, g.Reshape(merged, [-1, S, E]), S, E)


def two_inputs(g):
    return g.Concat(g.rows(), g.MatMul(g.input("y", E), "w"), axis=0)


def concat_to_pairs(g):
    return positioned(g, g.Reshape(two_inputs(g), [-1, 2, E]), 2, E)


def concat_to_blocks(g):
    return positioned(g, g.Reshape(two_inputs(g), [2, -1, E]), 2, 1, E)


def concat_split_compared(g):
    first, second = g.Split(g.Reshape(two_inputs(g), [2, -1, E]), outputs=2, axis=0)
    return g.mean(g.Sub(first, second))


def halves(g):
    return positioned(g, g.Reshape(g.rows(), [2, -1]), 2, 1)


def pairs_in_a_row(g):
    return positioned(g, g.Reshape(g.rows(), [-1, 2 * E]), 2 * E)


def tile_times_interleave(g):
    h = g.rows()
    doubled = g.Reshape(g.Expand(g.Unsqueeze(h, [1]), [1, 2, 1]), [-1, E])
    return g.mean(g.Mul(g.Tile(h, [2, 1]), doubled))


def table_repeated(g):
    """A table of parameters behind itself once for each sample, as some position scores are."""
    times = g.Concat(g.Unsqueeze(g.batch(), [0]), [1], axis=0)
    tokens = g.Reshape(g.tokens(), [-1, E])
    return g.mean(g.Mul(tokens, g.Tile(g.parameter("table", S, E), times)))


def table_rows_repeated(g):
    """Each row of the table as often as there are samples: row i stands at another sample's place."""
    shape = g.Concat([S], g.Unsqueeze(g.batch(), [0]), [E], axis=0)
    rows = g.Expand(g.Unsqueeze(g.parameter("table", S, E), [1]), shape)
    return g.mean(g.Mul(g.Reshape(g.tokens(), [-1, E]), g.Reshape(rows, [-1, E])))


def batch_second_by_reshape(g):
    return positioned(g, g.Reshape(g.tokens(), [S, -1, E]), S, 1, E)


def batch_second_by_transpose(g):
    return positioned(g, g.Transpose(g.tokens(), perm=[1, 0, 2]), S, 1, E)


def softmax(axis):
    def build(g):
        return g.mean(g.Softmax(g.Transpose(g.tokens(), perm=[1, 0, 2]), axis=axis))
    return build


def cumsum_of_merged(g):
    return g.mean(g.CumSum(g.Reshape(g.tokens(), [-1, E]), 0))


def cumsum_of_sequence_first(g):
    return g.mean(g.CumSum(g.Transpose(g.tokens(), perm=[1, 0, 2]), 0))


def shifted_across_samples(g):
    scores = g.Reshape(g.MatMul(g.input("x", S, E), g.parameter("w", E, V)), [-1, V])
    labels = g.Reshape(g.ids("labels", S), [-1])
    return g.SoftmaxCrossEntropyLoss(g.Slice(scores, [0], [-1], [0]), g.Slice(labels, [1], [BIG], [0]))


def sliced(start, end, step=1):
    def build(g):
        return g.mean(g.Slice(g.rows(), [start], [end], [0], [step]))
    return build


def half_of_the_batch(g):
    h = g.rows()
    return g.mean(g.Slice(h, g.Unsqueeze(g.Div(g.batch(), 2), [0]), [BIG], [0]))


def first_sample(g):
    h = g.rows()
    return g.mean(g.Add(h, g.Gather(h, 0, axis=0)))


def whole_slice(g):
    h = g.rows()
    return g.mean(g.Slice(h, [0], g.Unsqueeze(g.batch(), [0]), [0]))


def reversed_product(g):
    h = g.rows()
    return g.mean(g.Mul(h, g.Slice(h, [-1], [-BIG], [0], [-1])))


def attention_over_all(g):
    x = g.Reshape(g.tokens(), [1, -1, E])
    weights = g.Softmax(g.MatMul(x, g.Transpose(x, perm=[0, 2, 1])), axis=-1)
    return g.mean(g.MatMul(weights, x))


def rolled(g):
    h = g.rows()
    return g.mean(g.Mul(h, g.Concat(g.Slice(h, [-1], [BIG], [0]), g.Slice(h, [0], [-1], [0]), axis=0)))


def flattened(g):
    return positioned(g, g.Reshape(g.tokens(), [0, -1]), S * E)


def batch_last_by_reshape(g):
    h = g.tokens()
    return positioned(g, g.Reshape(h, g.Concat([-1], g.Unsqueeze(g.batch(), [0]), axis=0)), S * E, 1)


def packed(g):
    """All tokens of the batch in one row, as packed sequences are."""
    return g.Reshape(g.tokens(), [1, -1, E])


def packed_and_back(g):
    return positioned(g, g.Reshape(g.Tanh(packed(g)), [-1, S, E]), S, E)


def packed_softmax(g):
    return g.mean(g.Softmax(packed(g), axis=1))


def statistics_moved(g):
    """A softmax whose sums stand along another axis: every sample is divided by every sample's sum."""
    exponentials = g.Exp(g.Unsqueeze(g.rows(), [1]))
    return g.mean(g.Div(exponentials, g.Reshape(g.ReduceSum(exponentials, [2], keepdims=0), [1, -1, 1])))


def batch_as_channels(g):
    return g.mean(g.Conv(g.Unsqueeze(g.rows(), [0]), g.parameter("filter", 2, 6, 2)))


def padded(g):
    return g.mean(g.Add(g.Pad(g.rows(), [1, 0, 0, 0]), 1.0))


GRAPHS = [
    ("01-sequence-first-merged", REJECT, sequence_first_merged), ("01-concat-to-pairs", REJECT, concat_to_pairs),
    ("01-concat-to-blocks", ACCEPT, concat_to_blocks), ("01-concat-split-compared", ACCEPT, concat_split_compared),
    ("02-halves", REJECT, halves), ("02-pairs-in-a-row", REJECT, pairs_in_a_row),
    ("03-tile-times-interleave", REJECT, tile_times_interleave),
    ("03-table-repeated", ACCEPT, table_repeated), ("03-table-rows-repeated", REJECT, table_rows_repeated),
    ("04-batch-second-by-reshape", REJECT, batch_second_by_reshape),
    ("04-batch-second-by-transpose", ACCEPT, batch_second_by_transpose),
    ("05-softmax-over-sequence", ACCEPT, softmax(0)), ("05-softmax-over-batch", REJECT, softmax(1)),
    ("05-cumsum-of-merged", REJECT, cumsum_of_merged), ("05-cumsum-of-sequence-first", ACCEPT, cumsum_of_sequence_first),
    ("16-labels-shifted-across-samples", REJECT, shifted_across_samples),
    ("17-first-three", REJECT, sliced(0, 3)), ("17-all-but-last", REJECT, sliced(0, -1)),
    ("17-second-half", REJECT, half_of_the_batch), ("17-reversed", REJECT, reversed_product),
    ("17-first-sample", REJECT, first_sample), ("17-every-second", REJECT, sliced(0, BIG, 2)),
    ("17-whole", ACCEPT, whole_slice), ("17-whole-open-end", ACCEPT, sliced(0, BIG)), ("17-rolled", REJECT, rolled),
    ("17-padded", REJECT, padded), ("18-attention-over-all", REJECT, attention_over_all),
    ("18-packed-and-back", ACCEPT, packed_and_back), ("18-packed-softmax", REJECT, packed_softmax),
    ("18-statistics-moved", REJECT, statistics_moved), ("18-batch-as-channels", REJECT, batch_as_channels),
    ("23-flattened", ACCEPT, flattened), ("23-batch-last-by-reshape", REJECT, batch_last_by_reshape),
]
