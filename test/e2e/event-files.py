# SPDX-License-Identifier: Apache-2.0
"""oracle: event files, read by a decoder of their own, hold what --log holds. event-files.py FOLDER LOG"""
import json
import pathlib
import struct
import sys


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def masked(data):
    value = crc32c(data)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283


def records(data):
    while data:
        size, check = struct.unpack_from("<QI", data)
        assert check == masked(data[:8])
        body, (check,) = data[12:12 + size], struct.unpack_from("<I", data, 12 + size)
        assert check == masked(body)
        yield body
        data = data[16 + size:]


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, varint()
            continue
        size = varint() if wire == 2 else {1: 8, 5: 4}[wire]
        yield tag >> 3, data[at:at + size]
        at += size


def scalars(path):
    """(step, tag) -> value, and the step from which the file replaces older ones."""
    found, start = {}, None
    for number, body in enumerate(records(path.read_bytes())):
        event = dict(fields(body))
        assert len(event[1]) == 8
        if number == 0:
            assert event[3] == b"brain.Event:2"
        if 7 in event:
            start = event[2]
        for _, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            found[event[2], value[1].decode()] = struct.unpack("<f", value[2])[0]
    return found, start


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


files = sorted(pathlib.Path(sys.argv[1]).iterdir(), key=lambda path: path.stat().st_mtime_ns)
assert all(path.name.startswith("events.out.tfevents.") for path in files)
found = {}
for path in files:
    part, start = scalars(path)
    if start is not None:
        found = {key: value for key, value in found.items() if key[0] < start}
    assert (start is None) == (path == files[0])
    found.update(part)
steps = 0
for line in map(json.loads, pathlib.Path(sys.argv[2]).read_text().splitlines()):
    if "eval_loss" in line:
        assert found[line["step"], "eval/loss"] == f32(line["eval_loss"])
        continue
    steps += 1
    for tag, key in {"train/loss": "loss", "train/gradient_norm": "gradient_norm", "train/learning_rate": "lr",
                     "speed/tokens_per_s": "tokens_per_s", "speed/ms": "ms"}.items():
        assert found[line["step"], tag] == f32(line[key]), (line["step"], tag)
    assert found[line["step"], "memory/peak_gib"] == f32(line["peak_bytes"] / 2**30)
assert len([key for key in found if key[1] == "train/loss"]) == steps
print(len(files), "files,", steps, "steps")
