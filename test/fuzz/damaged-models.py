# SPDX-License-Identifier: Apache-2.0
"""Compiles COUNT exports of test/models with a few fields of their graphs changed (operators, names, attributes, sizes,
constants): each is compiled, or refused in a sentence with a slug; no crash, no internal error, no hang. A model that is
neither is kept in FOLDER, and named. accumc's flags come behind --, in place of --plan-only."""
import argparse
import collections
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = """gpt2-dynamo gpt2-torchscript-train bert-mlm-torchscript bert-classification-torch26 llama-torch26 gemma-torchscript
falcon-torchscript bloom-torchscript clip-torchscript resnet-torchscript-frozen""".split()
OPERATORS = """Add Sub Mul Div Pow Mod Min Max And Or Equal Less Greater Where Neg Abs Sqrt Exp Log Tanh Erf Relu Sigmoid
Cast Identity Not IsNaN Reciprocal Softmax LogSoftmax MatMul Gemm Transpose Reshape Flatten Squeeze Unsqueeze Concat Split Slice
Gather GatherElements GatherND ScatterND ScatterElements Expand Tile Pad Range Shape Size ConstantOfShape Constant ReduceMean
ReduceSum ReduceMax ReduceProd ArgMax TopK CumSum Trilu OneHot Einsum LayerNormalization BatchNormalization Conv MaxPool AveragePool
GlobalAveragePool Dropout RandomNormalLike NonZero Loop If Scan Attention RotaryEmbedding SoftmaxCrossEntropyLoss""".split()
# Operators that can stand for each other: the graph stays whole, and later phases see it.
KIN = [set(line.split()) for line in """Add Sub Mul Div Pow Max Min
Neg Abs Sqrt Exp Log Tanh Erf Relu Sigmoid Reciprocal Identity Softplus Gelu Sin Cos Floor Sign Softmax LogSoftmax
ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL2 ReduceSumSquare ReduceLogSumExp
And Or Xor
Equal Less Greater LessOrEqual GreaterOrEqual""".splitlines()]
NUMBERS = [0, 1, 2, 3, -1, -2, 4, 5, 7, 8, 16, 64, 1 << 31, (1 << 31) - 1, (1 << 63) - 1, -(1 << 63), 1 << 40]

# Messages on the way to what is changed, by message and field number: onnx.proto's.
CHILDREN = {
    "model": {7: "graph"},
    "graph": {1: "node", 5: "tensor", 11: "value", 12: "value", 13: "value"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph"},
    "value": {2: "type"},
    "type": {1: "tensor_type"},
    "tensor_type": {2: "shape"},
    "shape": {1: "dim"},
}
# What may be changed to a number: attributes (an integer, one of a list), and sizes and element types that are declared.
ATTRIBUTES = {"attribute": [3, 8]}
DECLARED = {"tensor": [1, 2], "tensor_type": [1], "dim": [1], "attribute": [20]}


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


class Message:
    """Fields in their order: [number, wire type, value], the value of a known message being a Message."""

    def __init__(self, data, kind):
        self.kind, self.fields, at = kind, [], 0
        while at < len(data):
            tag, at = read_varint(data, at)
            number, wire = tag >> 3, tag & 7
            if wire == 0:
                value, at = read_varint(data, at)
            else:
                size, at = read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
                value, at = data[at : at + size], at + size
            child = CHILDREN.get(kind, {}).get(number)
            self.fields.append([number, wire, Message(value, child) if child else value])

    def bytes(self):
        out = b""
        for number, wire, value in self.fields:
            value = value.bytes() if isinstance(value, Message) else value
            out += varint(number << 3 | wire) + (varint(value) if wire == 0 else (varint(len(value)) if wire == 2 else b"") + value)
        return out

    def field(self, number):
        return next((value for known, _, value in self.fields if known == number), None)

    def walk(self):
        yield self
        for _, _, value in self.fields:
            if isinstance(value, Message):
                yield from value.walk()


def change_constant(tensor, rand):
    """One element of a small int64 constant: a shape, an axis, an index."""
    for field in tensor.fields:
        if field[0] == 9 and 8 <= len(field[2]) <= 64 and len(field[2]) % 8 == 0:
            at = 8 * rand.randrange(len(field[2]) // 8)
            field[2] = field[2][:at] + (rand.choice(NUMBERS) & (1 << 64) - 1).to_bytes(8, "little") + field[2][at + 8 :]
            return True
    return False


def change_operator(messages, to_kin, rand):
    nodes = [m for m in messages if m.kind == "node"]
    for node in rand.sample(nodes, len(nodes)):
        operator = node.field(4).decode()
        choice = [other for kin in KIN if operator in kin for other in sorted(kin)] if to_kin else OPERATORS
        if choice:
            next(field for field in node.fields if field[0] == 4)[2] = rand.choice(choice).encode()
            return


def change_input(messages, rand):
    """A node reads something else that is there before it."""
    known, places = [m.field(8) for m in messages if m.kind == "tensor"], []
    for message in messages:
        if message.kind == "node":
            places += [(field, len(known)) for field in message.fields if field[0] == 1]
            known += [field[2] for field in message.fields if field[0] == 2]
    field, count = rand.choice(places)
    if count:
        field[2] = known[rand.randrange(max(0, count - rand.choice([3, 30, 3000])), count)] or field[2]


def change_number(messages, places, rand):
    fields = [f for m in messages for f in m.fields if f[0] in places.get(m.kind, []) and f[1] == 0]
    if fields:
        rand.choice(fields)[2] = rand.choice(fields)[2] if rand.random() < 0.3 else rand.choice(NUMBERS)


def change(model, rand):
    messages = list(model.walk())
    kind = rand.choice(["operator"] * 2 + ["kin"] * 6 + ["input"] * 4 + ["attribute"] * 3 + ["constant"] * 4 + ["declared", "drop"])
    if kind in ("operator", "kin"):
        change_operator(messages, kind == "kin", rand)
    elif kind == "input":
        change_input(messages, rand)
    elif kind == "constant":
        tensors = [m for m in messages if m.kind == "tensor"]
        any(change_constant(rand.choice(tensors), rand) for _ in range(50))
    elif kind == "drop":
        owner = rand.choice([m for m in messages if m.kind in ("node", "attribute", "shape") and m.fields])
        del owner.fields[rand.randrange(len(owner.fields))]
    else:
        change_number(messages, ATTRIBUTES if kind == "attribute" else DECLARED, rand)


def judge(run):
    """What is wrong with how it ended, or None."""
    if run.returncode == -signal.SIGXCPU:
        return "hangs"
    if run.returncode not in (0, 1, 2, 3):
        return f"exit {run.returncode}"
    if run.returncode and not re.search(r"error: .*\[[a-z0-9-]+\]", run.stderr):
        return "no error with a slug"
    return None


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (120, 130))


def compile_one(name, number, args, rand):
    """The slugs that it ended with, and whether that was right."""
    model = Message((ROOT / "test/models" / f"{name}.onnx").read_bytes(), "model")
    for _ in range(rand.choice([1, 1, 1, 2, 3])):
        change(model, rand)
    path = args.folder / f"{name}-{args.seed}-{number}.onnx"
    path.write_bytes(model.bytes())
    command = ["accumc", path, "--batch", "6", *args.flags]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", preexec_fn=limit)
    wrong = judge(run)
    if wrong:
        print(f"{path}: {wrong}\n{run.stderr[-1500:]}", flush=True)
    else:
        path.unlink()
    return re.findall(r"error: .*\[([a-z0-9-]+)\]", run.stderr)[:1] or [f"exit {run.returncode}"], not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1000000)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("count", type=int)
    parser.add_argument("flags", nargs="*", default=["--plan-only"])
    args = parser.parse_args()
    rand, ends, findings = random.Random(args.seed), collections.Counter(), 0
    args.folder.mkdir(parents=True, exist_ok=True)
    for number in range(args.count):
        slugs, is_right = compile_one(rand.choice(MODELS), number, args, rand)
        ends.update(slugs)
        findings += not is_right
    print(f"seed {args.seed}: {args.count} models, {findings} findings; {dict(ends.most_common())}")
    return 1 if findings or not ends["exit 0"] or len(ends) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
