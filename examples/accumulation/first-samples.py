# SPDX-License-Identifier: Apache-2.0
"""The first samples of a safetensors file of inputs: first-samples.py FROM COUNT TO."""
import json
import struct
import sys

source, count, target = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open(source, "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    start, kept, data = file.tell(), {}, b""
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        file.seek(start + begin)
        part = file.read((end - begin) // entry["shape"][0] * count)
        kept[name] = {**entry, "shape": [count, *entry["shape"][1:]], "data_offsets": [len(data), len(data) + len(part)]}
        data += part
text = json.dumps(kept).encode()
with open(target, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
