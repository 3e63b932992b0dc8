# SPDX-License-Identifier: Apache-2.0
"""Sums over the batch and what is done with them: normalisers, regularisers, statistics, means in disguise."""
from graph import E, S, V

ACCEPT, REJECT = "accept", "reject"


def scaled_by_batch(g):
    return g.mean(g.Mul(g.rows(), g.Cast(g.batch(), to=1)))


def unbiased_mean(g):
    h = g.rows()
    return g.Div(g.sum(h), g.Cast(g.Sub(g.batch(), 1), to=1))


def decay(g):
    return g.Mul(g.ReduceSum(g.Mul("w", "w"), keepdims=0), 0.01)


def loss_and_decay(g):
    return g.Add(g.mean(g.rows()), decay(g))


def decay_in_concat(g):
    parts = [g.Unsqueeze(v, [0]) for v in (g.mean(g.rows()), decay(g))]
    return g.ReduceSum(g.Concat(*parts, axis=0), keepdims=0)


def decay_as_bias(g):
    h = g.rows()
    return g.ReduceSum(g.Gemm("x", h, g.parameter("bias", E, E), transA=1), keepdims=0)


def two_losses(g):
    h = g.rows()
    return g.Add(g.mean(h), g.Mul(g.ReduceMean(h, keepdims=0), 0.1))


def over_correct(g):
    scores, labels = g.logits()
    right = g.Cast(g.Equal(g.ArgMax(scores, axis=1, keepdims=0), labels), to=1)
    return g.Div(g.ReduceSum(g.per_sample(scores, labels), keepdims=0), g.ReduceSum(right, keepdims=0))


def over_counted(g):
    scores, labels = g.logits()
    counted = g.Cast(g.Greater(labels, 0), to=1)
    lost = g.ReduceSum(g.Mul(g.per_sample(scores, labels), counted), keepdims=0)
    return g.Div(lost, g.ReduceSum(counted, keepdims=0))


def learned_class_weights(g):
    scores, labels = g.logits()
    return g.SoftmaxCrossEntropyLoss(scores, labels, g.Exp(g.parameter("weight", V)))


def fixed_class_weights(g):
    scores, labels = g.logits()
    return g.SoftmaxCrossEntropyLoss(scores, labels, [1.0, 0.5, 2.0, 1.0, 0.25])


def integer_halved(g):
    scores, labels = g.logits()
    chosen = g.ReduceSum(g.ArgMax(scores, axis=1, keepdims=0), keepdims=0)
    return g.Add(g.ReduceSum(g.per_sample(scores, labels), keepdims=0), g.Cast(g.Div(chosen, 2), to=1))


def sum_cast_to_integer(g):
    h = g.rows()
    return g.Add(g.sum(h), g.Cast(g.Cast(g.ReduceSum(h, keepdims=0), to=7), to=1))


def centred_inputs(g):
    x = g.input("x", E)
    return g.mean(g.MatMul(g.Sub(x, g.ReduceMean(x, axes=[0], keepdims=1)), g.parameter("w", E, E)))


def standardised_inputs(g):
    x = g.input("x", E)
    centred = g.Sub(x, g.ReduceMean(x, axes=[0], keepdims=1))
    variance = g.ReduceMean(g.Mul(centred, centred), axes=[0], keepdims=1)
    return g.mean(g.MatMul(g.Div(centred, g.Sqrt(g.Add(variance, 1e-5))), g.parameter("w", E, E)))


def weighted_by_rarity(g):
    """Weights by class frequency, normalised by their sum: a total that needs the counts."""
    scores, labels = g.logits()
    hits = g.Cast(g.Equal(g.Unsqueeze(labels, [1]), [list(range(V))]), to=1)
    weights = g.Gather(g.Div(g.Cast(g.batch(), to=1), g.ReduceSum(hits, [0], keepdims=0)), labels, axis=0)
    lost = g.ReduceSum(g.Mul(g.per_sample(scores, labels), weights), keepdims=0)
    return g.Div(lost, g.ReduceSum(weights, keepdims=0))


def equal_pairs(g):
    h, labels = g.rows(), g.ids("labels")
    same = g.Cast(g.Equal(g.Unsqueeze(labels, [1]), g.Unsqueeze(labels, [0])), to=1)
    return g.mean(g.Mul(h, g.ReduceSum(same, [1], keepdims=1)))


def centred_activations(g):
    h = g.rows()
    return g.mean(g.Sub(h, g.ReduceMean(h, axes=[0], keepdims=1)))


def normalised(g, h, axes):
    centred = g.Sub(h, g.ReduceMean(h, axes=axes, keepdims=1))
    variance = g.ReduceMean(g.Mul(centred, centred), axes=axes, keepdims=1)
    return g.mean(g.Add(g.Div(centred, g.Sqrt(g.Add(variance, 1e-5))), 0.5))


def transposed_layer_norm(g):
    return normalised(g, g.Transpose(g.rows(), perm=[1, 0]), [-1])


def mean_with_axes_kept(g):
    """The count divides [1, 1], which becomes a scalar behind it."""
    return g.Squeeze(g.ReduceMean(g.rows(), axes=[0, 1], keepdims=1), [0, 1])


def layer_norm(g):
    return normalised(g, g.rows(), [-1])


def batch_norm_by_hand(g):
    return normalised(g, g.image(), [0, 2, 3])


def gated_mean(g):
    scores, labels = g.logits()
    gate = g.Sigmoid(g.ReduceMean(scores, axes=[1], keepdims=0))
    lost = g.ReduceSum(g.Mul(g.per_sample(scores, labels), gate), keepdims=0)
    return g.Div(lost, g.ReduceSum(gate, keepdims=0))


def of_the_mean(outer):
    """A function of the mean loss; the same function per sample is fine."""
    def build(g):
        scores, labels = g.logits()
        return outer(g, g.ReduceMean(g.per_sample(scores, labels), keepdims=0))
    return build


def focal(g, loss):
    return g.Mul(g.Sub(1.0, g.Exp(g.Neg(loss))), loss)


def focal_per_sample(g):
    scores, labels = g.logits()
    return g.ReduceMean(focal(g, g.per_sample(scores, labels)), keepdims=0)


def log_mean_exp(g):
    scores, labels = g.logits()
    return g.Log(g.ReduceMean(g.Exp(g.per_sample(scores, labels)), keepdims=0))


def gram(squared):
    def build(g):
        h = g.rows()
        product = g.MatMul(g.Transpose(h, perm=[1, 0]), h)
        read = g.Mul(product, product if squared else g.parameter("read", E, E))
        return g.ReduceSum(read, keepdims=0)
    return build


def hardest(g):
    scores, labels = g.logits()
    worst, _ = g.TopK(g.per_sample(scores, labels), [2], outputs=2, axis=0)
    return g.ReduceMean(worst, keepdims=0)


def over_batch(kind):
    def build(g):
        return g.mean(g.node(kind, [g.rows()], 1, {"axes": [0], "keepdims": 0}))
    return build


def sum_expanded(g):
    h = g.rows()
    total = g.ReduceSum(h, [0], keepdims=1)
    return g.mean(g.Mul(h, g.Expand(total, g.Shape(h))))


def no_batch_at_all(g):
    g.input("x", E)
    return g.ReduceSum(g.parameter("w", E, E), keepdims=0)


GRAPHS = [
    ("08-scaled-by-batch", ACCEPT, scaled_by_batch), ("08-unbiased-mean", ACCEPT, unbiased_mean),
    ("09-loss-and-decay", ACCEPT, loss_and_decay), ("09-decay-in-concat", ACCEPT, decay_in_concat),
    ("09-decay-as-bias", ACCEPT, decay_as_bias), ("09-two-losses", ACCEPT, two_losses),
    ("10-over-correct", REJECT, over_correct), ("10-over-counted", ACCEPT, over_counted),
    ("11-learned-class-weights", REJECT, learned_class_weights), ("11-fixed-class-weights", ACCEPT, fixed_class_weights),
    ("12-integer-halved", REJECT, integer_halved), ("12-sum-cast-to-integer", REJECT, sum_cast_to_integer),
    ("14-centred-inputs", ACCEPT, centred_inputs), ("14-standardised-inputs", ACCEPT, standardised_inputs),
    ("14-weighted-by-rarity", ACCEPT, weighted_by_rarity),
    ("14-equal-pairs", REJECT, equal_pairs), ("14-centred-activations", REJECT, centred_activations),
    ("15-transposed-layer-norm", REJECT, transposed_layer_norm), ("15-layer-norm", ACCEPT, layer_norm),
    ("15-axes-kept", ACCEPT, mean_with_axes_kept),
    ("15-batch-norm-by-hand", REJECT, batch_norm_by_hand), ("15-gated-mean", REJECT, gated_mean),
    ("15-focal-of-mean", REJECT, of_the_mean(focal)), ("15-focal-per-sample", ACCEPT, focal_per_sample),
    ("15-root-of-mean", REJECT, of_the_mean(lambda g, loss: g.Sqrt(loss))),
    ("15-perplexity", REJECT, of_the_mean(lambda g, loss: g.Exp(loss))), ("15-log-mean-exp", REJECT, log_mean_exp),
    ("19-gram-read-linearly", ACCEPT, gram(False)), ("19-gram-squared", REJECT, gram(True)),
    ("20-hardest", REJECT, hardest), ("20-maximum", REJECT, over_batch("ReduceMax")),
    ("20-norm", REJECT, over_batch("ReduceL2")), ("21-sum-expanded", REJECT, sum_expanded),
    ("24-no-batch-at-all", REJECT, no_batch_at_all),
]
