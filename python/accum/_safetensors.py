# SPDX-License-Identifier: Apache-2.0
"""Arrays out of a safetensors file that the runtime wrote."""
from __future__ import annotations

import json
import os
from typing import Any

_TYPES = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1", "BOOL": "?"}


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Name to NumPy array; bf16 is widened to float32."""
    import numpy

    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        values = numpy.frombuffer(file.read(), dtype="u1")
    arrays = {}
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        bytes_ = values[begin:end]
        if entry["dtype"] == "BF16":
            array = (bytes_.view("<u2").astype("<u4") << 16).view("<f4")
        else:
            array = bytes_.view("<" + _TYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays
