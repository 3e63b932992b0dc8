# SPDX-License-Identifier: Apache-2.0
"""Data that no program of several lengths takes, a file each in FOLDER: three texts of at most 8 tokens."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import tensors

ROWS = [[5, 6, 7, 8], [9, 10], [11, 12, 13]]


def integers(rows, width=None):
    flat = [value for row in rows for value in row] if width else rows
    return "I64", [len(rows), width] if width else [len(rows)], struct.pack(f"<{len(flat)}q", *flat)


def padded(masks):
    width = len(masks[0])
    ids = [[7 * bit for bit in mask] for mask in masks]
    labels = [[7 if bit else -100 for bit in mask] for mask in masks]
    return {"input_ids": integers(ids, width), "attention_mask": integers(masks, width), "labels": integers(labels, width)}


def ragged(offsets, label_offsets=None):
    flat = [token for row in ROWS for token in row]
    return {"input_ids": integers(flat), "input_ids.offsets": integers(offsets), "labels": integers(flat),
            "labels.offsets": integers(label_offsets or offsets)}


folder = pathlib.Path(sys.argv[1])
for name, arrays in {
    "holes": padded([[1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0]]),
    "left": padded([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 1, 1]]),
    "disagree": ragged([0, 4, 6, 9], [0, 4, 7, 9]),
    "widths": padded([[1, 1, 1, 0]] * 3) | {"labels": integers([[3, 4]] * 3, 2)},
    "falls": ragged([0, 6, 4, 9]),
    "past": ragged([0, 4, 6, 12]),
    "short": ragged([0, 4, 6, 8]),
    "late": ragged([1, 4, 6, 9]),
}.items():
    tensors.write(folder / f"{name}.safetensors", arrays)
