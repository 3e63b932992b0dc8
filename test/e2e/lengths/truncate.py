# SPDX-License-Identifier: Apache-2.0
"""Two data sets in FOLDER: texts of 3, 12, 8 and 5 tokens without padding, and the same cut after LONGEST."""
import itertools
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tensors


def integers(values):
    return "I64", [len(values)], struct.pack(f"<{len(values)}q", *values)


def write(path, rows):
    flat, offsets = [token for row in rows for token in row], list(itertools.accumulate(map(len, rows), initial=0))
    tensors.write(path, {f"{name}{suffix}": integers(values) for name in ("input_ids", "labels")
                         for suffix, values in (("", flat), (".offsets", offsets))})


folder, longest = pathlib.Path(sys.argv[1]), int(sys.argv[2])
texts = [[(7 * at + place) % 90 for place in range(length)] for at, length in enumerate((3, 12, 8, 5))]
write(folder / "long.safetensors", texts)
write(folder / "cut.safetensors", [text[:longest] for text in texts])
