# SPDX-License-Identifier: Apache-2.0
"""Inputs that no node reads: `one-tensor.py model CASE FILE.onnx` writes a language model as the dynamo exporter does, `data FILE.safetensors
NAME[=LABEL]...` arrays of tokens, whose last one is LABEL where it is given. Cases whose name begins with `twice` are what the exporter makes of
one tensor that is passed as `input_ids` and `labels`."""
import pathlib
import struct
import sys

import tensors

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
from onnx_graph import FLOAT, INT64, Graph

WORDS, SAMPLES, TOKENS = 8, 4, 5


def scores(g, tokens):
    return g.node("MatMul", [g.node("Gather", [g.parameter("wte.weight", [WORDS, 4]), tokens]), g.parameter("head.weight", [4, WORDS])])


def cut(g, value, begin, end):
    return g.node("Slice", [value, g.constant([begin]), g.constant([end]), g.constant([1])])


def flat_loss(g, logits, labels):
    return g.node("SoftmaxCrossEntropyLoss", [g.node("Reshape", [logits, g.constant([-1, WORDS])]), g.node("Reshape", [labels, g.constant([-1])])],
                  ignore_index=-100)


def mean(g, value):
    return g.node("ReduceMean", [value], keepdims=0)


def twice_straight(g, tokens):
    return flat_loss(g, scores(g, tokens), tokens)


def twice_shifted(g, tokens):
    return flat_loss(g, cut(g, scores(g, tokens), 0, TOKENS - 1), cut(g, tokens, 1, TOKENS))


def twice_cut(g, tokens):
    return flat_loss(g, scores(g, cut(g, tokens, 0, TOKENS - 1)), cut(g, tokens, 1, TOKENS))


def twice_gathered(g, tokens):
    picked = g.node("Unsqueeze", [g.node("Max", [tokens, g.constant(0)]), g.constant([2])])
    return mean(g, g.node("Neg", [g.node("GatherElements", [g.node("LogSoftmax", [scores(g, tokens)], axis=2), picked], axis=2)]))


def twice_one_hot(g, tokens):
    classes = g.constant(list(range(WORDS)))
    hot = g.node("Cast", [g.node("Equal", [g.node("Unsqueeze", [tokens, g.constant([2])]), classes])], to=FLOAT)
    smooth = g.node("Add", [g.node("Mul", [hot, g.constant(0.9, FLOAT)]), g.constant(0.0125, FLOAT)])
    return mean(g, g.node("Neg", [g.node("Mul", [smooth, g.node("LogSoftmax", [scores(g, tokens)], axis=2)])]))


def start_token(g, labels):
    """An encoder-decoder shifts its labels, with another token for those that are left out."""
    kept = g.node("Where", [g.node("Equal", [labels, g.constant(-100)]), g.constant(0), labels])
    start = g.node("Mul", [cut(g, kept, 0, 1), g.constant(0)])
    return flat_loss(g, scores(g, g.node("Concat", [start, cut(g, kept, 0, TOKENS - 1)], axis=1)), labels)


def scored(g, tokens):
    return scores(g, tokens)


CASES = {f.__name__.replace("_", "-"): f for f in (scored, twice_straight, twice_shifted, twice_cut, twice_gathered, twice_one_hot, start_token)}


def model(case, path):
    g = Graph(path.name + ".data")
    # `alone` has one input for both by its own will, and another one, before it or behind it, that it does not use.
    names = {"alone": ["input_ids"], "alone-then-mask": ["input_ids", "attention_mask"]}.get(case, ["input_ids", "labels"])
    for name in names:
        g.input(name, INT64, ["batch", TOKENS])
    loss = twice_shifted(g, "input_ids") if case.startswith("alone") else CASES[case](g, "labels")
    g.output(loss, "loss", FLOAT, ["batch", TOKENS, WORDS] if case == "scored" else [])
    path.write_bytes(g.model(case, 17))
    values = [((i * 7) % 11 - 5) / 8 for i in range(2 * WORDS * 4)]
    path.with_name(path.name + ".data").write_bytes(struct.pack(f"<{len(values)}f", *values))


def data(path, *columns):
    arrays = {}
    for column in columns:
        name, _, label = column.partition("=")
        tokens = [(i * 3) % WORDS for i in range(SAMPLES * TOKENS - 1)] + [int(label or 1)]
        arrays[name] = ("I64", [SAMPLES, TOKENS], struct.pack(f"<{len(tokens)}q", *tokens))
    tensors.write(pathlib.Path(path), arrays)


if __name__ == "__main__":
    if sys.argv[1] == "model":
        model(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        data(*sys.argv[2:])
