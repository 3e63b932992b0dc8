# SPDX-License-Identifier: Apache-2.0
"""A model file in f16 or bf16 trains as the f32 file of the same values does, to the last bit.

Usage: short-files.py MODEL FOLDER f16|bf16. Rewrites an f32 export twice: with its weights rounded, and with everything that is f32
in it, weights, constants, casts and types, stored in 16 bits. Both are trained for two steps, in f32 and in bf16. In f32 also with the
weights spelled out one by one, as `int32_data` has them.
"""
import argparse
import math
import pathlib
import struct
import sys

import tensors
from program import MODELS, Model, run

sys.path.insert(0, str(MODELS))
import wire

FLOAT = 1
LARGEST, MAX = 65504.0, struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]  # of f16, of f32
NUMBER = {"f16": 10, "bf16": 16}
# Fields of onnx.proto that are messages on the way to a tensor, a type, or the attribute of a cast.
MODEL_GRAPH, GRAPH = 7, {1: "node", 5: "tensor", 11: "value", 12: "value", 13: "value"}


def short(kind, value):
    """The two bytes of a float: rounded to f16, within its ends, as f32's stand for those; cut to bf16."""
    if kind == "bf16":
        return struct.pack("<f", value)[2:]
    return struct.pack("<e", min(max(value, -LARGEST), LARGEST) if math.isfinite(value) else value)


def wide(kind, pair):
    if kind == "bf16":
        return b"\0\0" + pair
    value, = struct.unpack("<e", pair)
    return struct.pack("<f", value if abs(value) != LARGEST else math.copysign(MAX, value))


class Rewriter:
    """Rounds f32 numbers to `kind`; with `stored` they are also written so, with `spelled` as numbers of their own."""

    def __init__(self, kind, stored, spelled):
        self.kind, self.stored, self.spelled, self.tensors = kind, stored, spelled, 0

    def number_of(self, dtype):
        return NUMBER[self.kind] if self.stored and dtype == FLOAT else dtype

    def tensor(self, data):
        fields = list(wire.fields(data))
        if dict(fields).get(2) != FLOAT:
            return bytes(data)
        out = b""
        for field, value in fields:
            if field == 9:
                self.tensors += 1
                pairs = [short(self.kind, x) for x in struct.unpack(f"<{len(value) // 4}f", value)]
                value = b"".join(pair if self.stored else wide(self.kind, pair) for pair in pairs)
                if self.spelled:
                    field, value = 5, b"".join(wire.varint(int.from_bytes(pair, "little")) for pair in pairs)
            elif field == 4:
                raise SystemExit("numbers that are spelled out are not rewritten here")
            out += self.copy(field, self.number_of(FLOAT) if field == 2 else value)
        return out

    @staticmethod
    def copy(field, value):
        return wire.number(field, value) if isinstance(value, int) else wire.message(field, bytes(value))

    def value(self, data):
        """ValueInfoProto.type.tensor_type.elem_type"""
        def at(path, data):
            return b"".join(self.copy(f, self.number_of(v)) if f == path[0] and len(path) == 1 else
                            wire.message(f, at(path[1:], v)) if f == path[0] else self.copy(f, v)
                            for f, v in wire.fields(data))
        return at([2, 1, 1], data)

    def attribute(self, data, is_cast):
        out, fields = b"", list(wire.fields(data))
        is_target = is_cast and bytes(dict(fields)[1]) == b"to"
        for field, value in fields:
            if field == 5:
                out += wire.message(5, self.tensor(value))
            elif field == 2:  # a float of the attribute itself, which has no other type
                out += wire.single(2, struct.unpack("<f", value)[0])
            elif field == 7:
                out += b"".join(wire.single(7, x) for x in struct.unpack(f"<{len(value) // 4}f", value))
            else:
                out += self.copy(field, self.number_of(value) if field == 3 and is_target else value)
        return out

    def node(self, data):
        is_cast = any(f == 4 and bytes(v) == b"Cast" for f, v in wire.fields(data))
        return b"".join(wire.message(5, self.attribute(v, is_cast)) if f == 5 else self.copy(f, v)
                        for f, v in wire.fields(data))

    def graph(self, data):
        return b"".join(wire.message(f, getattr(self, GRAPH[f])(v)) if f in GRAPH else self.copy(f, v)
                        for f, v in wire.fields(data))

    def model(self, data):
        return b"".join(wire.message(f, self.graph(v)) if f == MODEL_GRAPH else self.copy(f, v) for f, v in wire.fields(data))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("kind", choices=NUMBER)
    options = parser.parse_args()
    model = Model(options.model, options.folder)
    original = model.path.read_bytes()
    for precision in ("f32", "bf16"):
        found = []
        forms = {"rounded": (False, False), "short": (True, False), "spelled": (True, True)}
        for form in list(forms)[:3 if precision == "f32" else 2]:
            rewriter = Rewriter(options.kind, *forms[form])
            model.path = options.folder / f"{form}.onnx"
            model.path.write_bytes(rewriter.model(original))
            artifact = model.compile("--precision", precision, "--micro-batch", 3)
            files = [options.folder / f"{name}.safetensors" for name in ("gradients", "weights")]
            log = model.train(artifact, 2, "--lr", 1e-3, gradients=files[0], weights=files[1])
            found.append(([line["loss"] for line in log], *map(tensors.read, files)))
        for form, got in zip(forms, found):
            if got != found[0]:
                raise SystemExit(f"{options.kind}, {precision}, {form}: losses {got[0]}, expected {found[0][0]}; or gradients or weights differ")
        dtypes = {dtype for file in found[-1][1:] for dtype, _, _ in file.values()}
        if dtypes != {"F32"}:
            raise SystemExit(f"saved as {dtypes}, expected F32")
        print(f"{precision}: {rewriter.tensors} tensors in {options.kind}, losses {found[0][0]}")
    checked = run("accumc", "check", model.path)
    print(checked.stderr)


if __name__ == "__main__":
    main()
