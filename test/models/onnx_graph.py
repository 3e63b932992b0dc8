# SPDX-License-Identifier: Apache-2.0
"""Writes an ONNX graph node by node, weights as references into a data file that need not exist."""
import argparse
import pathlib
import struct

import wire

FLOAT, INT64, BOOL = 1, 7, 9


def tensor(name, kind, shape, payload):
    dims = b"".join(wire.number(1, extent) for extent in shape)
    return dims + wire.number(2, kind) + (wire.message(8, name) if name else b"") + payload


def value_info(name, kind, shape):
    dims = b"".join(wire.message(1, wire.message(2, d) if isinstance(d, str) else wire.number(1, d)) for d in shape)
    return wire.message(1, name) + wire.message(2, wire.message(1, wire.number(1, kind) + wire.message(2, dims)))


def attribute(name, value):
    if isinstance(value, bytes):
        body = wire.message(5, value) + wire.number(20, 4)
    elif isinstance(value, str):
        body = wire.message(4, value) + wire.number(20, 3)
    elif isinstance(value, float):
        body = wire.single(2, value) + wire.number(20, 1)
    elif isinstance(value, int):
        body = wire.number(3, value) + wire.number(20, 2)
    else:
        body = b"".join(wire.number(8, item) for item in value) + wire.number(20, 7)
    return wire.message(1, name) + body


class Graph:
    def __init__(self, location):
        self.location, self.bytes, self.nodes = location, 0, 0
        self.parts, self.scope, self.used = [], "", {}

    def node(self, kind, inputs, outputs=1, **attributes):
        """Appends a node named after its scope, as TorchScript exports are; returns its output or outputs."""
        stem = f"{self.scope}/{kind}"
        count = self.used[stem] = self.used.get(stem, -1) + 1
        name = f"{stem}_{count}" if count else stem
        results = [f"{name}_output_{i}" for i in range(outputs)]
        body = [wire.message(1, i) for i in inputs] + [wire.message(2, o) for o in results]
        body += [wire.message(3, name), wire.message(4, kind)]
        body += [wire.message(5, attribute(key, value)) for key, value in attributes.items()]
        self.parts.append(wire.message(1, b"".join(body)))
        self.nodes += 1
        return results[0] if outputs == 1 else results

    def constant(self, values, kind=INT64):
        scalar = not isinstance(values, (list, tuple))
        items = [values] if scalar else list(values)
        raw = struct.pack(f"<{len(items)}{'f' if kind == FLOAT else 'q'}", *items)
        body = tensor("", kind, [] if scalar else [len(items)], wire.message(9, raw))
        return self.node("Constant", [], value=body)

    def parameter(self, name, shape):
        size = 4
        for extent in shape:
            size *= extent
        entries = {"location": self.location, "offset": str(self.bytes), "length": str(size)}
        body = b"".join(wire.message(13, wire.message(1, k) + wire.message(2, v)) for k, v in entries.items())
        self.parts.append(wire.message(5, tensor(name, FLOAT, shape, body + wire.number(14, 1))))
        self.bytes += size
        return name

    def input(self, name, kind, shape):
        self.parts.append(wire.message(11, value_info(name, kind, shape)))
        return name

    def output(self, value, name, kind, shape):
        self.scope = ""
        self.parts.append(wire.message(1, wire.message(1, value) + wire.message(2, name)
                                       + wire.message(3, "/Identity") + wire.message(4, "Identity")))
        self.nodes += 1
        self.parts.append(wire.message(12, value_info(name, kind, shape)))

    def model(self, name, opset):
        graph = b"".join(self.parts) + wire.message(2, name)
        return (wire.number(1, 8) + wire.message(2, f"make-{name}") + wire.message(7, graph)
                + wire.message(8, wire.message(1, "") + wire.number(2, opset)))

    def write(self, path, name, opset):
        path.write_bytes(self.model(name, opset))
        print(f"{path}: {self.nodes} nodes, {self.bytes // 4:,} parameters")


def size_parser(text, sizes):
    """The command line of what writes a model of one of several sizes."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("size", choices=sizes)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    return parser
