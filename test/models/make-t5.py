#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes T5 3B or 11B (Raffel et al. 2020, section 3.7) with its loss as ONNX without weights, in the node style of the
TorchScript exporter."""
import dataclasses
import math

from onnx_graph import FLOAT, INT64, Graph, size_parser

# Hidden size and key size are one for all; layers of each of both stacks, feed-forward size, heads.
SIZES = {"3B": (24, 16384, 32), "11B": (24, 65536, 128)}
HIDDEN, HEAD, VOCABULARY, OPSET = 1024, 128, 32128, 17
BUCKETS, FARTHEST = 32, 128  # of relative positions
INPUTS, TARGETS = 512, 114   # tokens: spans of three, 15 % of the text (section 3.1.4)


@dataclasses.dataclass
class Stack:
    name: str
    length: int
    forward: int
    heads: int


def linear(graph, x, name, rows, columns):
    weight = graph.node("Transpose", [graph.parameter(f"{name}.weight", [columns, rows])], perm=[1, 0])
    return graph.node("MatMul", [x, weight])


def norm(graph, x, name):
    """Without a mean, term by term."""
    square = graph.node("Pow", [x, graph.constant(2.0, FLOAT)])
    mean = graph.node("Add", [graph.node("ReduceMean", [square], axes=[-1]), graph.constant(1e-6, FLOAT)])
    inverse = graph.node("Div", [graph.constant(1.0, FLOAT), graph.node("Sqrt", [mean])])
    return graph.node("Mul", [graph.parameter(f"{name}.weight", [HIDDEN]), graph.node("Mul", [x, inverse])])


def bucket(distance, both_ways):
    """Of a relative position: exact ones first, then by the logarithm."""
    buckets, first = (BUCKETS // 2, BUCKETS // 2 if distance > 0 else 0) if both_ways else (BUCKETS, 0)
    distance = abs(distance) if both_ways else max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    far = exact + int(math.log(distance / exact) / math.log(FARTHEST / exact) * (buckets - exact))
    return first + min(far, buckets - 1)


def position_bias(graph, stack, both_ways):
    places = [bucket(key - query, both_ways) for query in range(stack.length) for key in range(stack.length)]
    places = graph.node("Reshape", [graph.constant(places), graph.constant([stack.length, stack.length])])
    table = graph.parameter(f"{stack.name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", [BUCKETS, stack.heads])
    bias = graph.node("Transpose", [graph.node("Gather", [table, places], axis=0)], perm=[2, 0, 1])
    bias = graph.node("Unsqueeze", [bias, graph.constant([0])])
    if both_ways:
        return bias
    seen = [0.0 if key <= query else -3.4028234663852886e38 for query in range(stack.length) for key in range(stack.length)]
    mask = graph.node("Reshape", [graph.constant(seen, FLOAT), graph.constant([1, 1, stack.length, stack.length])])
    return graph.node("Add", [bias, mask])


def attention(graph, x, source, lengths, name, heads, bias):
    def split(value, part, length):
        value = linear(graph, value, f"{name}.{part}", HIDDEN, heads * HEAD)
        value = graph.node("Reshape", [value, graph.constant([-1, length, heads, HEAD])])
        return graph.node("Transpose", [value], perm=[0, 2, 1, 3])

    query, key, value = split(x, "q", lengths[0]), split(source, "k", lengths[1]), split(source, "v", lengths[1])
    scores = graph.node("MatMul", [query, graph.node("Transpose", [key], perm=[0, 1, 3, 2])])
    weights = graph.node("Softmax", [graph.node("Add", [scores, bias]) if bias else scores], axis=-1)
    joined = graph.node("Transpose", [graph.node("MatMul", [weights, value])], perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", [joined, graph.constant([-1, lengths[0], heads * HEAD])])
    return linear(graph, joined, f"{name}.o", heads * HEAD, HIDDEN)


def block(graph, x, memory, stack, index, bias):
    name = f"{stack.name}.block.{index}"
    graph.scope = f"/{stack.name}/block.{index}"
    inner = norm(graph, x, f"{name}.layer.0.layer_norm")
    lengths = (stack.length, stack.length)
    x = graph.node("Add", [x, attention(graph, inner, inner, lengths, f"{name}.layer.0.SelfAttention", stack.heads, bias)])
    if memory:
        inner = norm(graph, x, f"{name}.layer.1.layer_norm")
        lengths = (stack.length, INPUTS)
        x = graph.node("Add", [x, attention(graph, inner, memory, lengths, f"{name}.layer.1.EncDecAttention", stack.heads, None)])
    part = f"{name}.layer.{2 if memory else 1}"
    inner = linear(graph, norm(graph, x, f"{part}.layer_norm"), f"{part}.DenseReluDense.wi", HIDDEN, stack.forward)
    inner = graph.node("Relu", [inner])
    return graph.node("Add", [x, linear(graph, inner, f"{part}.DenseReluDense.wo", stack.forward, HIDDEN)])


def run(graph, table, ids, memory, stack, layers):
    graph.scope = f"/{stack.name}"
    bias = position_bias(graph, stack, both_ways=memory is None)
    x = graph.node("Gather", [table, ids], axis=0)
    for index in range(layers):
        x = block(graph, x, memory, stack, index, bias)
    graph.scope = f"/{stack.name}/final"
    return norm(graph, x, f"{stack.name}.final_layer_norm")


def write(path, layers, forward, heads):
    graph = Graph(path.name + ".data")
    ids = graph.input("input_ids", INT64, ["batch", INPUTS])
    previous = graph.input("decoder_input_ids", INT64, ["batch", TARGETS])
    labels = graph.input("labels", INT64, ["batch", TARGETS])
    table = graph.parameter("shared.weight", [VOCABULARY, HIDDEN])
    memory = run(graph, table, ids, None, Stack("encoder", INPUTS, forward, heads), layers)
    x = run(graph, table, previous, memory, Stack("decoder", TARGETS, forward, heads), layers)
    graph.scope = "/lm_head"
    x = graph.node("Mul", [x, graph.constant(HIDDEN ** -0.5, FLOAT)])
    logits = graph.node("MatMul", [x, graph.node("Transpose", [table], perm=[1, 0])])
    rows = graph.node("Reshape", [logits, graph.constant([-1, VOCABULARY])])
    loss = graph.node("SoftmaxCrossEntropyLoss", [rows, graph.node("Reshape", [labels, graph.constant([-1])])], ignore_index=-100,
                      reduction="mean")
    graph.output(loss, "loss", FLOAT, [])
    graph.write(path, "t5", OPSET)


def main():
    options = size_parser(__doc__, SIZES).parse_args()
    write(options.output, *SIZES[options.size])


if __name__ == "__main__":
    main()
