#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes GPT-3 (Brown et al. 2020, table 2.1), or one of GPT-2's larger sizes, as ONNX without weights, in the node style of
the TorchScript exporter."""
import dataclasses
import math

from onnx_graph import BOOL, FLOAT, INT64, Graph, size_parser

# Layers, hidden size, heads; where heads do not divide the hidden size, heads of 128 as in the larger models. The sizes
# between 13B and 175B are not in that table: they have the shapes of well-known models of that size.
SIZES = {"125M": (12, 768, 12), "350M": (24, 1024, 16), "760M": (24, 1536, 16), "1.3B": (24, 2048, 16),
         "2.7B": (32, 2560, 32), "6.7B": (32, 4096, 32), "13B": (40, 5120, 40), "20B": (44, 6144, 64),
         "30B": (48, 7168, 56), "39B": (48, 8192, 64), "65B": (80, 8192, 64), "82B": (64, 10240, 80),
         "175B": (96, 12288, 96),
         "gpt2-350m": (24, 1024, 16), "gpt2-774m": (36, 1280, 20), "gpt2-1558m": (48, 1600, 25)}
VOCABULARY, POSITIONS, OPSET = 50257, 2048, 17


@dataclasses.dataclass
class Size:
    layers: int
    hidden: int
    heads: int
    sequence: object  # a number, or the name of a symbolic dimension


def extent(graph, value, axis):
    """The run-time extent of an axis as a one-element vector, in the three nodes that exporters write for it."""
    scalar = graph.node("Gather", [graph.node("Shape", [value]), graph.constant(axis)], axis=0)
    return graph.node("Unsqueeze", [scalar, graph.constant([0])])


def reshape(graph, value, source, *tail):
    """To [batch, sequence, *tail], both read from `source` at run time."""
    parts = [extent(graph, source, 0), extent(graph, source, 1)] + [graph.constant([n]) for n in tail]
    return graph.node("Reshape", [value, graph.node("Concat", parts, axis=0)])


def projection(graph, x, name, rows, columns):
    """GPT-2's Conv1D: flatten, Gemm, restore."""
    flat = graph.node("Reshape", [x, graph.constant([-1, rows])])
    weights = [graph.parameter(f"{name}.weight", [rows, columns]), graph.parameter(f"{name}.bias", [columns])]
    return reshape(graph, graph.node("Gemm", [flat] + weights, alpha=1.0, beta=1.0), x, columns)


def norm(graph, x, name, hidden):
    affine = [graph.parameter(f"{name}.weight", [hidden]), graph.parameter(f"{name}.bias", [hidden])]
    return graph.node("LayerNormalization", [x] + affine, axis=-1, epsilon=1e-5)


def attention(graph, x, mask, name, size):
    head = size.hidden // size.heads
    mixed = projection(graph, x, f"{name}.c_attn", size.hidden, 3 * size.hidden)
    parts = graph.node("Split", [mixed, graph.constant([size.hidden] * 3)], outputs=3, axis=2)
    heads = [reshape(graph, part, part, size.heads, head) for part in parts]
    query, value = (graph.node("Transpose", [heads[i]], perm=[0, 2, 1, 3]) for i in (0, 2))
    key = graph.node("Transpose", [heads[1]], perm=[0, 2, 3, 1])
    scores = graph.node("MatMul", [query, key])
    scores = graph.node("Mul", [scores, graph.constant(1 / math.sqrt(head), FLOAT)])
    weights = graph.node("Softmax", [graph.node("Add", [scores, mask])], axis=-1)
    joined = graph.node("Transpose", [graph.node("MatMul", [weights, value])], perm=[0, 2, 1, 3])
    joined = reshape(graph, joined, joined, size.hidden)
    return projection(graph, joined, f"{name}.c_proj", size.hidden, size.hidden)


def gelu(graph, x):
    """The tanh form, term by term."""
    cubed = graph.node("Pow", [x, graph.constant(3.0, FLOAT)])
    inner = graph.node("Add", [x, graph.node("Mul", [cubed, graph.constant(0.044715, FLOAT)])])
    inner = graph.node("Tanh", [graph.node("Mul", [inner, graph.constant(math.sqrt(2 / math.pi), FLOAT)])])
    outer = graph.node("Add", [inner, graph.constant(1.0, FLOAT)])
    return graph.node("Mul", [graph.node("Mul", [x, graph.constant(0.5, FLOAT)]), outer])


def layer(graph, x, mask, index, size):
    name = f"transformer.h.{index}"
    graph.scope = f"/transformer/h.{index}/attn"
    attended = attention(graph, norm(graph, x, f"{name}.ln_1", size.hidden), mask, f"{name}.attn", size)
    x = graph.node("Add", [attended, x])
    graph.scope = f"/transformer/h.{index}/mlp"
    inner = norm(graph, x, f"{name}.ln_2", size.hidden)
    inner = gelu(graph, projection(graph, inner, f"{name}.mlp.c_fc", size.hidden, 4 * size.hidden))
    return graph.node("Add", [x, projection(graph, inner, f"{name}.mlp.c_proj", 4 * size.hidden, size.hidden)])


def positions(graph, ids):
    length = graph.node("Gather", [graph.node("Shape", [ids]), graph.constant(1)], axis=0)
    return graph.node("Range", [graph.constant(0), length, graph.constant(1)])


def causal_mask(graph, order):
    rows = graph.node("Unsqueeze", [order, graph.constant([1])])
    columns = graph.node("Unsqueeze", [order, graph.constant([0])])
    seen = graph.node("Cast", [graph.node("LessOrEqual", [columns, rows])], to=BOOL)
    return graph.node("Where", [seen, graph.constant(0.0, FLOAT), graph.constant(-3.4028234663852886e38, FLOAT)])


def write(path, size):
    graph = Graph(path.name + ".data")
    ids = graph.input("input_ids", INT64, ["batch", size.sequence])
    graph.scope = "/transformer"
    table = graph.parameter("transformer.wte.weight", [VOCABULARY, size.hidden])
    order = positions(graph, ids)
    places = graph.node("Gather", [graph.parameter("transformer.wpe.weight", [POSITIONS, size.hidden]), order], axis=0)
    x = graph.node("Add", [graph.node("Gather", [table, ids], axis=0), places])
    mask = causal_mask(graph, order)
    for index in range(size.layers):
        x = layer(graph, x, mask, index, size)
    graph.scope = "/lm_head"
    x = norm(graph, x, "transformer.ln_f", size.hidden)
    logits = graph.node("MatMul", [x, graph.node("Transpose", [table], perm=[1, 0])])
    graph.output(logits, "logits", FLOAT, ["batch", size.sequence, VOCABULARY])
    graph.write(path, "gpt3", OPSET)


def main():
    parser = size_parser(__doc__, SIZES)
    parser.add_argument("--sequence", default="2048", help="a number, or a name for a symbolic dimension")
    parser.add_argument("--layers", type=int, help="fewer layers of the same width")
    options = parser.parse_args()
    layers, hidden, heads = SIZES[options.size]
    sequence = int(options.sequence) if options.sequence.isdigit() else options.sequence
    write(options.output, Size(options.layers or layers, hidden, heads, sequence))


if __name__ == "__main__":
    main()
