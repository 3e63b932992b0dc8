# SPDX-License-Identifier: Apache-2.0
"""oracle: --export-dtype rounds as struct does (f16) and as integers do (bf16), to nearest even.
export-dtype.py WHOLE F16 BF16"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tensors

whole, half, bf16 = (tensors.read(pathlib.Path(path)) for path in sys.argv[1:])
assert list(whole) == list(half) == list(bf16)


def to_bf16(bits):
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


inexact = 0
for name, (_, shape, data) in whole.items():
    count = len(data) // 4
    floats, bits = struct.unpack(f"<{count}f", data), struct.unpack(f"<{count}I", data)
    rounded = struct.pack(f"<{count}e", *floats)
    assert half[name] == ("F16", shape, bytearray(rounded)), name
    assert bf16[name] == ("BF16", shape, bytearray(struct.pack(f"<{count}H", *map(to_bf16, bits)))), name
    inexact += sum(a != b for a, b in zip(floats, struct.unpack(f"<{count}e", rounded)))
assert inexact > 1000
print("ok")
