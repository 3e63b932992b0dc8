# SPDX-License-Identifier: Apache-2.0
"""The protobuf wire format, as much of it as ONNX files need, with the standard library only."""
import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(field number, value) in file order; messages, strings and packed lists are memory views."""
    data, at = memoryview(data), 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
        elif kind in (FIXED64, FIXED32):
            size = 8 if kind == FIXED64 else 4
            value, at = data[at:at + size], at + size
        elif kind == BYTES:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind} at byte {at} is not protobuf")
        yield key >> 3, value


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3 | VARINT) + varint(value)


def single(field, value):
    return varint(field << 3 | FIXED32) + struct.pack("<f", value)


def message(field, value):
    """A string, bytes, or an encoded message."""
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | BYTES) + varint(len(data)) + data
