# SPDX-License-Identifier: Apache-2.0
"""`without-value-info.py MODEL OUTPUT [NAME]` leaves out what a file says of its values, as tools that rewrite files do: of all, or of NAME."""
import pathlib
import sys

import wire

GRAPH, VALUE_INFO = 7, 13


def encoded(field, value):
    return wire.number(field, value) if isinstance(value, int) else wire.message(field, bytes(value))


def kept(graph, name):
    for field, value in wire.fields(graph):
        if field != VALUE_INFO or (name and bytes(dict(wire.fields(value))[1]).decode() != name):
            yield encoded(field, value)


model, output, *name = sys.argv[1:]
parts = [wire.message(GRAPH, b"".join(kept(value, *(name or [""])))) if field == GRAPH else encoded(field, value)
         for field, value in wire.fields(pathlib.Path(model).read_bytes())]
pathlib.Path(output).write_bytes(b"".join(parts))
