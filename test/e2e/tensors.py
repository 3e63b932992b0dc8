# SPDX-License-Identifier: Apache-2.0
"""safetensors files for the end-to-end tests: read, blank parts out, write."""
import json
import struct

SIZES = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8, "I64": 8}


def read(path):
    """name -> (dtype, shape, bytearray)."""
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8:8 + size])
    body = data[8 + size:]
    return {name: (t["dtype"], t["shape"], bytearray(body[slice(*t["data_offsets"])]))
            for name, t in header.items() if name != "__metadata__"}


def write(path, tensors):
    header, at = {}, 0
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(values)]}
        at += len(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(bytes(v) for _, _, v in tensors.values()))


def rows(tensor):
    """The rows of a matrix of i64."""
    _, (count, width), values = tensor
    return [list(struct.unpack_from(f"<{width}q", values, i * width * 8)) for i in range(count)]


def from_rows(like, rows):
    dtype, shape, _ = like
    return dtype, [len(rows), *shape[1:]], b"".join(struct.pack(f"<{len(row)}q", *row) for row in rows)


def blank(path, output, ranges):
    """Copies a file with elements of the named tensors set to zero; `ranges`: name -> [begin, end, begin, end, ...]."""
    tensors = read(path)
    for name, bounds in ranges.items():
        if name not in tensors:
            continue
        dtype, _, values = tensors[name]
        size = SIZES[dtype]
        for begin, end in zip(bounds[::2], bounds[1::2]):
            values[begin * size:end * size] = bytes((end - begin) * size)
    write(output, tensors)
