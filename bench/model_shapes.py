# SPDX-License-Identifier: Apache-2.0
"""Transformers of any size as ONNX files without weights: GPT, LLaMA (rotation, RMS norm, gates), BERT (both directions) and
ViT (patches of a picture, one class each)."""
import dataclasses
import math
import pathlib
import subprocess
import sys

MODELS = pathlib.Path(__file__).resolve().parent.parent / "test" / "models"
sys.path.insert(0, str(MODELS))
import importlib  # noqa: E402

from onnx_graph import FLOAT, INT64, Graph  # noqa: E402

gpt3 = importlib.import_module("make-gpt3")
OPSET, PATCH = 17, 16


@dataclasses.dataclass
class Shape:
    family: str  # gpt, llama, bert or vit
    layers: int
    hidden: int
    heads: int
    vocabulary: int  # vit: classes
    groups: int = 0  # of keys and values, llama; 0: as many as heads
    inner: int = 0  # of the feed-forward part; 0: four times the hidden size


class Writer:
    """One graph of a fixed sequence, so that positions are constants."""

    def __init__(self, shape, sequence, location):
        self.shape, self.sequence = shape, sequence
        self.head = shape.hidden // shape.heads
        self.inner = shape.inner or 4 * shape.hidden
        self.graph = Graph(location)
        self.node, self.constant, self.parameter = self.graph.node, self.graph.constant, self.graph.parameter

    def number(self, value):
        return self.constant(value, FLOAT)

    def linear(self, x, name, rows, columns, bias=True):
        product = self.node("MatMul", [x, self.parameter(f"{name}.weight", [rows, columns])])
        return self.node("Add", [product, self.parameter(f"{name}.bias", [columns])]) if bias else product

    def layer_norm(self, x, name):
        affine = [self.parameter(f"{name}.{part}", [self.shape.hidden]) for part in ("weight", "bias")]
        return self.node("LayerNormalization", [x] + affine, axis=-1, epsilon=1e-12)

    def rms_norm(self, x, name):
        mean = self.node("ReduceMean", [self.node("Pow", [x, self.number(2.0)])], axes=[-1], keepdims=1)
        root = self.node("Sqrt", [self.node("Add", [mean, self.number(1e-6)])])
        scaled = self.node("Mul", [x, self.node("Div", [self.number(1.0), root])])
        return self.node("Mul", [self.parameter(f"{name}.weight", [self.shape.hidden]), scaled])

    def split(self, x, heads):
        """[batch, heads, sequence, head]"""
        parts = self.node("Reshape", [x, self.constant([-1, self.sequence, heads, self.head])])
        return self.node("Transpose", [parts], perm=[0, 2, 1, 3])

    def repeated(self, x, groups):
        """Keys or values of a group for each of its heads."""
        if groups == self.shape.heads:
            return x
        each = self.shape.heads // groups
        wide = self.node("Expand", [self.node("Unsqueeze", [x, self.constant([2])]),
                                    self.constant([1, groups, each, self.sequence, self.head])])
        return self.node("Reshape", [wide, self.constant([-1, self.shape.heads, self.sequence, self.head])])

    def attend(self, query, key, value, mask):
        scores = self.node("MatMul", [query, self.node("Transpose", [key], perm=[0, 1, 3, 2])])
        scores = self.node("Mul", [scores, self.number(1 / math.sqrt(self.head))])
        if mask:
            scores = self.node("Add", [scores, mask])
        joined = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), value])
        joined = self.node("Transpose", [joined], perm=[0, 2, 1, 3])
        return self.node("Reshape", [joined, self.constant([-1, self.sequence, self.shape.hidden])])

    def order(self):
        return self.node("Range", [self.constant(0), self.constant(self.sequence), self.constant(1)])

    def write(self, path):
        if self.shape.family == "vit":
            self.graph.output(self.vit(), "logits", FLOAT, ["batch", self.shape.vocabulary])
            path.write_bytes(self.graph.model("vit", OPSET))
            return
        ids = self.graph.input("input_ids", INT64, ["batch", self.sequence])
        logits = self.llama(ids) if self.shape.family == "llama" else self.bert(ids)
        self.graph.output(logits, "logits", FLOAT, ["batch", self.sequence, self.shape.vocabulary])
        path.write_bytes(self.graph.model(self.shape.family, OPSET))

    # --- LLaMA ---

    def angles(self):
        """Cosines and sines, [sequence, head]."""
        rates = [10000.0 ** (-2 * i / self.head) for i in range(self.head // 2)]
        places = self.node("Unsqueeze", [self.node("Cast", [self.order()], to=FLOAT), self.constant([1])])
        half = self.node("Mul", [places, self.number(rates)])
        whole = self.node("Concat", [half, half], axis=-1)
        return self.node("Cos", [whole]), self.node("Sin", [whole])

    def rotated(self, x, angles):
        half = self.head // 2

        def part(begin, end):
            return self.node("Slice", [x, self.constant([begin]), self.constant([end]), self.constant([3])])
        turned = self.node("Concat", [self.node("Neg", [part(half, self.head)]), part(0, half)], axis=-1)
        return self.node("Add", [self.node("Mul", [x, angles[0]]), self.node("Mul", [turned, angles[1]])])

    def llama(self, ids):
        shape, groups = self.shape, self.shape.groups or self.shape.heads
        self.graph.scope = "/model"
        x = self.node("Gather", [self.parameter("model.embed_tokens.weight", [shape.vocabulary, shape.hidden]), ids], axis=0)
        mask, angles = gpt3.causal_mask(self.graph, self.order()), self.angles()
        for index in range(shape.layers):
            name = f"model.layers.{index}"
            self.graph.scope = f"/model/layers.{index}"
            normed = self.rms_norm(x, f"{name}.input_layernorm")

            def projected(which, count, normed=normed, name=name):
                flat = self.linear(normed, f"{name}.self_attn.{which}_proj", shape.hidden, count * self.head, bias=False)
                return self.split(flat, count)
            query, key = self.rotated(projected("q", shape.heads), angles), self.rotated(projected("k", groups), angles)
            key, value = self.repeated(key, groups), self.repeated(projected("v", groups), groups)
            attended = self.attend(query, key, value, mask)
            x = self.node("Add", [x, self.linear(attended, f"{name}.self_attn.o_proj", shape.hidden, shape.hidden, bias=False)])
            normed = self.rms_norm(x, f"{name}.post_attention_layernorm")
            gate = self.linear(normed, f"{name}.mlp.gate_proj", shape.hidden, self.inner, bias=False)
            gate = self.node("Mul", [gate, self.node("Sigmoid", [gate])])
            gate = self.node("Mul", [gate, self.linear(normed, f"{name}.mlp.up_proj", shape.hidden, self.inner, bias=False)])
            x = self.node("Add", [x, self.linear(gate, f"{name}.mlp.down_proj", self.inner, shape.hidden, bias=False)])
        return self.linear(self.rms_norm(x, "model.norm"), "lm_head", shape.hidden, shape.vocabulary, bias=False)

    # --- BERT ---

    def gelu(self, x):
        erf = self.node("Erf", [self.node("Div", [x, self.number(math.sqrt(2))])])
        return self.node("Mul", [self.node("Mul", [x, self.node("Add", [erf, self.number(1.0)])]), self.number(0.5)])

    def bert(self, ids):
        shape = self.shape
        self.graph.scope = "/bert/embeddings"
        table = self.parameter("bert.embeddings.word_embeddings.weight", [shape.vocabulary, shape.hidden])
        places = self.parameter("bert.embeddings.position_embeddings.weight", [self.sequence, shape.hidden])
        x = self.node("Add", [self.node("Gather", [table, ids], axis=0), places])
        x = self.layer_norm(x, "bert.embeddings.LayerNorm")
        for index in range(shape.layers):
            name = f"bert.encoder.layer.{index}"
            self.graph.scope = f"/bert/encoder/layer.{index}"
            query, key, value = (self.split(self.linear(x, f"{name}.attention.self.{which}", shape.hidden, shape.hidden),
                                            shape.heads) for which in ("query", "key", "value"))
            attended = self.linear(self.attend(query, key, value, None), f"{name}.attention.output.dense", shape.hidden, shape.hidden)
            x = self.layer_norm(self.node("Add", [attended, x]), f"{name}.attention.output.LayerNorm")
            inner = self.gelu(self.linear(x, f"{name}.intermediate.dense", shape.hidden, self.inner))
            inner = self.linear(inner, f"{name}.output.dense", self.inner, shape.hidden)
            x = self.layer_norm(self.node("Add", [inner, x]), f"{name}.output.LayerNorm")
        self.graph.scope = "/cls"
        x = self.layer_norm(self.gelu(self.linear(x, "cls.transform.dense", shape.hidden, shape.hidden)), "cls.transform.LayerNorm")
        logits = self.node("MatMul", [x, self.node("Transpose", [table], perm=[1, 0])])
        return self.node("Add", [logits, self.parameter("cls.bias", [shape.vocabulary])])

    # --- ViT ---

    def vit(self):
        shape, side = self.shape, math.isqrt(self.sequence)
        self.graph.scope = "/vit/embeddings"
        pixels = self.graph.input("pixel_values", FLOAT, ["batch", 3, side * PATCH, side * PATCH])
        kernel = [self.parameter("vit.patches.weight", [shape.hidden, 3, PATCH, PATCH]), self.parameter("vit.patches.bias", [shape.hidden])]
        x = self.node("Conv", [pixels] + kernel, kernel_shape=[PATCH, PATCH], strides=[PATCH, PATCH])
        x = self.node("Transpose", [self.node("Reshape", [x, self.constant([-1, shape.hidden, self.sequence])])], perm=[0, 2, 1])
        x = self.node("Add", [x, self.parameter("vit.position_embeddings", [self.sequence, shape.hidden])])
        for index in range(shape.layers):
            name = f"vit.encoder.layer.{index}"
            self.graph.scope = f"/vit/encoder/layer.{index}"
            normed = self.layer_norm(x, f"{name}.layernorm_before")
            query, key, value = (self.split(self.linear(normed, f"{name}.attention.{which}", shape.hidden, shape.hidden),
                                            shape.heads) for which in ("query", "key", "value"))
            attended = self.attend(query, key, value, None)
            x = self.node("Add", [x, self.linear(attended, f"{name}.attention.output", shape.hidden, shape.hidden)])
            inner = self.gelu(self.linear(self.layer_norm(x, f"{name}.layernorm_after"), f"{name}.intermediate", shape.hidden, self.inner))
            x = self.node("Add", [x, self.linear(inner, f"{name}.output", self.inner, shape.hidden)])
        self.graph.scope = "/classifier"
        pooled = self.node("ReduceMean", [self.layer_norm(x, "vit.layernorm")], axes=[1], keepdims=0)
        return self.linear(pooled, "classifier", shape.hidden, shape.vocabulary)


def write_model(path, shape, sequence):
    """`path` and its weights, from a seed."""
    if shape.family == "gpt":
        gpt3.VOCABULARY = shape.vocabulary
        gpt3.write(path, gpt3.Size(shape.layers, shape.hidden, shape.heads, sequence))
    else:
        Writer(shape, sequence, path.name + ".data").write(path)
    subprocess.run([MODELS / "fill-weights", path], check=True, stdout=subprocess.DEVNULL)
